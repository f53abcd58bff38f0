"""Replacing what was found: secrets, and personal data if that is wanted."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from alma_guard.finders import (
    ASSIGNED_LEAST,
    HEADINGS,
    LEAST_BARE,
    bare,
    is_secret,
    kind_of,
    long_words,
    named,
    placed,
    tabled,
    tokens,
)
from alma_guard.personal import personal
from alma_guard.values import is_placeholder, is_random

MOST_ROUNDS = 4
LEAST_REPEATED = 8
"""A shorter secret is replaced where it was found, a longer one wherever else it stands in the same text as a whole token."""

_REPLACED = re.compile(r"\[(?:secret|personal):[a-z0-9_]{1,40}:[0-9a-f]{6}\]")
_PERSONAL = frozenset({"mail", "phone", "card", "iban", "national_number"})


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secrets in texts by placeholders such as `[secret:github_token:4f2a91]`: the kind, and a digest keyed by `key`.

    Equal secrets have equal placeholders under one key, which say nothing under another. Applied twice it changes nothing more.
    """

    key: bytes
    with_personal: bool = False

    def __call__(self, text: str) -> str:
        """Returns the text without the secrets that are found in it."""
        for _ in range(MOST_ROUNDS):
            changed = self._once(text)
            if changed == text:
                break
            text = changed
        return text

    def named(self, name: str, value: str) -> str:
        """Returns a value that stands under a name, as in a mapping, without the secrets in it."""
        kind = kind_of(name)
        if kind is not None and value and not _REPLACED.search(value) and is_secret(value, kind, ASSIGNED_LEAST[kind]):
            changed = self(value)
            return self._placeholder("key" if kind == "bare" else kind, value) if changed == value else changed
        return self(value)

    def secrets_in(self, name: str) -> list[str]:
        """The kinds of the secrets in what names something: of those that are known by their shape or place, without personal data."""
        found = _chosen(name, chain(tokens(name, long_words(name)), placed(name), named(name)))
        return sorted({kind for _, _, kind in found})

    def _once(self, text: str) -> str:
        spans = _chosen(text, self._found(text))
        if not spans:
            return text
        parts, end = [], 0
        repeated = {}
        for start, stop, kind in spans:
            secret = text[start:stop]
            repeated[secret] = self._placeholder(kind, secret)
            parts += [text[end:start], repeated[secret]]
            end = stop
        changed = "".join([*parts, text[end:]])
        for secret in sorted((one for one in repeated if len(one) >= LEAST_REPEATED), key=len, reverse=True):
            if secret in changed:
                changed = _whole(secret).sub(repeated[secret], changed)
        return changed

    def _found(self, text: str) -> Iterable[tuple[int, int, str]]:
        words = long_words(text)
        found = [tokens(text, words), placed(text), named(text)]
        if max(map(len, words), default=0) >= LEAST_BARE:
            found.append(bare(text))
        if "\n" in text and any(map(text.lower().__contains__, HEADINGS)):
            found.append(tabled(text))
        if self.with_personal:
            found.append(personal(text))
        return chain.from_iterable(found)

    def _placeholder(self, kind: str, secret: str) -> str:
        digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self.key, digest_size=3).hexdigest()
        return f"[{'personal' if kind in _PERSONAL else 'secret'}:{kind}:{digest}]"


def _whole(secret: str) -> re.Pattern[str]:
    """Finds a secret where it is a whole token: not inside other words. One that was drawn by chance may touch `-` and `_`."""
    inner = "A-Za-z0-9À-ɏ" + ("" if is_random(secret, LEAST_REPEATED) else "_-")
    return re.compile(rf"(?:(?<![{inner}])|(?<=\\[nrt])){re.escape(secret)}(?![{inner}])")


def placeholders_in(text: str) -> set[str]:
    """The distinct placeholders in a text."""
    return set(_REPLACED.findall(text))


def kind_of_placeholder(placeholder: str) -> str:
    """The kind of secret that a placeholder stands for."""
    return placeholder.split(":")[1]


def _chosen(text: str, found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Returns the spans that are no placeholders and touch nothing that was replaced, in order, none over another.

    Of spans that overlap, the span that begins first is kept; of spans that begin together, the first.
    """
    spans = [
        span for span in found if not is_placeholder(text[span[0] : span[1]]) or span[2] in _PERSONAL or span[2] == "private_key"
    ]
    if not spans:
        return []
    replaced = [match.span() for match in _REPLACED.finditer(text)]
    ends = [end for _, end in replaced]
    chosen: list[tuple[int, int, str]] = []
    for start, stop, kind in sorted(spans, key=lambda span: span[0]):
        is_free = not chosen or start >= chosen[-1][1]
        next_replaced = bisect_right(ends, start)
        touches = next_replaced < len(replaced) and replaced[next_replaced][0] < stop
        if is_free and stop > start and not touches:
            chosen.append((start, stop, kind))
    return chosen
