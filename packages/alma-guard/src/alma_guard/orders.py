"""Text that reads like an instruction to a model: gives orders, has code fetched and run, steps around a check, or writes to a memory.

Words are read as a reader sees them, and letters of other scripts, escaped and encoded ones as what they say. Such a text is kept as data
all the same; a caller that shows it can say so. The signs are in `signs.toml`.
"""

import re
import tomllib
import unicodedata
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from importlib.resources import files
from itertools import permutations
from urllib.parse import unquote

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that are not shown: soft hyphens, spaces without width, marks of direction, tags."""

_TAGS = re.compile("[\U000e0020-\U000e007e]{8,}")
"""Letters that are not shown, more than a flag has."""

_ALIKE = str.maketrans("аеіїјорсухѕԁɡһӏвкмнтαειοκνρτυχωѵ", "aeiijopcyxsdghlbkmhtaeioknptuxwv")
_MIXED = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]")
_ESCAPED = re.compile(r"(?:%[0-9a-f]{2}[^\s%]*){3}")
_ENCODED = re.compile(r"(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/-])", re.ASCII)
_LEAST_ENCODED, _MOST_ENCODED = 24, 20
_TEXT = re.compile(r"(?:[\w'’,.!?:;()/@\"-]+\s+){2,}[\w'’,.!?:;()/@\"-]+\s*")


def as_read(text: str) -> str:
    """Returns the text in small letters as a reader sees it: without what is not shown, and with plain letters for wide and ornamental ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).lower()


def disguised(text: str, read: str) -> Iterator[str]:
    """Returns what else a text says, each as a text in small letters. `read` is the text as it is read."""
    if not text.isascii():
        yield from ("".join(chr(ord(tag) - 0xE0000) for tag in run).lower() for run in _TAGS.findall(text))
        if _MIXED.search(read):
            yield read.translate(_ALIKE)
    if "%" in read and _ESCAPED.search(read):
        yield unquote(read).lower()
    if "&#" in read:
        yield unescape(read).lower()
    is_long = max(map(len, text.split()), default=0) >= _LEAST_ENCODED  # a look that costs a tenth of the search
    for code in _ENCODED.findall(text)[:_MOST_ENCODED] if is_long else ():
        try:
            decoded = b64decode(code + "=" * (-len(code) % 4), altchars=b"-_" if {*"-_"} & {*code} else None).decode()
        except ValueError:
            continue
        if _TEXT.match(decoded):
            yield as_read(decoded)


DOUBTS = ("reads like an instruction", "runs code from the network", "steps around a check", "writes to a memory")
"""The reasons to doubt a text, in fixed words."""

INSTRUCTION, REMOTE_CODE, BYPASS, MEMORY = DOUBTS

_KINDS = {"instruction": INSTRUCTION, "remote_code": REMOTE_CODE, "bypass": BYPASS, "memory": MEMORY}
"""The names of the lists of signs in the file."""

_EDGE = 200
"""Characters of a text that are looked at together with another one."""

_REACH = 320
"""Characters before the first hint and behind the last in which a sign is looked for."""

_AROUND = 120
"""Characters around an order in which it may be quoted or described."""

_OPENED = re.compile(r"(?<!\w)[\"'`“‘«„](?:[^\"'`“”‘’«»„\n]|(?<=\w)['’](?=\w)){0,60}$")
_CLOSED = re.compile(r"(?:[^\"'`“”‘’«»„\n]|(?<=\w)['’](?=\w)){0,80}[\"'`”’»](?!\w)")
"""A quotation around an order. An apostrophe is no quotation mark."""

_OF_ATTACKS = re.compile(
    r"\b(?:attack|injection|jailbreak|phrase|block|reject|refus|filter|detect|benchmark|guardrail|protect|red.team)\w*"
)
_CARRIED_OUT = re.compile(
    r"\b(?:obey|comply|follow|do (?:it|so|this|that|as)|now|reply|respond|answer|execute|carry|proceed|apply|act)\b"
)
"""Around a quoted order, asks to do what it says."""

_DESCRIBED = re.compile(
    r"\b(?:attackers?|adversar(?:y|ies)|hackers?|users?|people|someone|they|it|that|which|who|to|by|of|could|can|may|might|would|trying|attempts?)"
    r"\s(?:\w+\s){0,2}?(?:tell|ask|told|instruct|trick|persuad|command|get|forc)\w*\s(?:an?|the|any|some|its|their)\s(?:\w+\s)?"
    r"(?:ai|llms?|models?|assistants?|agents?|chatbots?|bots?)\s(?:to|into)\s$"
    r"|\b(?:that|which)\s(?:ask|tell|try|attempt|instruct|order)\w*\s[^.\n]{0,60}\bto\s$"
)


@dataclass(frozen=True, eq=False)
class _Sign:
    """A shape of orders: the reason to doubt a text with it, and the hints one of which stands in any such text."""

    reason: str
    hints: tuple[str, ...]
    source: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first."""
        return re.compile(self.source, re.VERBOSE | re.MULTILINE)

    def places(self, text: str) -> Iterator[re.Match[str]]:
        """Returns where a text in small letters has the sign. A long text is read around the hints alone."""
        found = [hint for hint in self.hints if hint in text]
        if not found:
            return iter(())
        return self.pattern.finditer(text, max(min(map(text.find, found)) - _REACH, 0), max(map(text.rfind, found)) + _REACH)


@cache
def _signs() -> tuple[_Sign, ...]:
    """The signs of the file, in its order."""
    read = tomllib.loads(files("alma_guard").joinpath("signs.toml").read_text(encoding="utf-8"))
    parts = read.pop("parts")
    listed = [*(("instruction", hints, _aside(*rest)) for hints, *rest in read.pop("aside"))]
    listed += [(kind, sign["hints"], sign["sign"]) for kind, signs in read.items() for sign in signs]
    return tuple(_Sign(_KINDS[kind], tuple(hints.split("|")), _filled(source, parts)) for kind, hints, source in listed)


def _aside(verbs: str, whose: str, rules: str) -> str:
    """The sign of an order to set rules aside: a verb that is not negated, and near to it rules, with whose they are before or after them."""
    rules, whose = rf"(?:{rules})\w*", rf"(?:{whose})\w*"
    negated = r"(?<!\bno )(?<!\bn['’])(?<!\bnão )(?<!\bnon )(?<!\bikke )(?<!\binte )"
    return rf"\b{negated}(?:{verbs})\b<FEW>(?:{whose}\W+(?:\w+\W+){{0,2}}?{rules}|{rules}\W+(?:\w+\W+){{0,2}}?{whose})"


def _filled(source: str, parts: dict[str, str]) -> str:
    for name, part in parts.items():
        source = source.replace(f"<{name}>", part)
    return source


def reason_to_doubt(text: str) -> str | None:
    """Returns why a text is suspicious, one of `DOUBTS`, or `None`: it addresses the model, has code run, steps around a check or writes to a memory.

    Disguised words are read, too (`disguised`). An order that is only quoted or described in a text about attacks is none.
    A look at the words, no more: it warns of the plain cases, and is no wall against the clever ones.
    """
    read = as_read(text)
    return next(filter(None, map(_reason_in, (read, *disguised(text, read)))), None)


def _reason_in(text: str) -> str | None:
    found = (sign.reason for sign in _signs() if any(_is_order(text, place) for place in sign.places(text)))
    return next(found, None)


def _is_order(text: str, found: re.Match[str]) -> bool:
    """Returns False for what a text about attacks quotes, and for what it says that a model is asked to do."""
    before, after = text[max(found.start() - _AROUND, 0) : found.start()], text[found.end() : found.end() + _AROUND]
    if _DESCRIBED.search(before):
        return False
    opened, closed = _OPENED.search(before), _CLOSED.match(after)
    if not opened or not closed:
        return True
    around = f"{before[: opened.start()]} {after[closed.end() :]}"
    return _OF_ATTACKS.search(around) is None or _CARRIED_OUT.search(around) is not None


def doubted_together(texts: Sequence[str]) -> dict[int, str]:
    """Returns the reasons to doubt texts that are shown together: those of which the end of one and the beginning of another make an order, by place.

    What is suspicious by itself is not looked for. An order over three texts is not found.
    """
    read = list(map(as_read, texts))
    ends, beginnings = [text[-_EDGE:] for text in read], [text[:_EDGE] for text in read]
    joined = "\n".join((*ends, *beginnings))  # most hints are in no text, which one look shows
    stands = joined.__contains__
    hints = [(sign, hint) for sign in _signs() for hint in sign.hints if all(map(stands, hint.split()))]
    left = [_marks(hints, end, ends_with=True) for end in ends]
    right = [_marks(hints, beginning, ends_with=False) for beginning in beginnings]
    found: dict[int, str] = {}
    for first, second in permutations(range(len(read)), 2):
        signs = {*left[first][0], *right[second][0], *(sign for sign, _ in left[first][1] & right[second][1])}
        reason = _reason_across(f"… {ends[first]}", beginnings[second], signs) if signs else None
        if reason is not None:
            found |= {first: reason, second: reason}
    return found


def _marks(
    hints: Sequence[tuple[_Sign, str]], text: str, *, ends_with: bool
) -> tuple[frozenset[_Sign], frozenset[tuple[_Sign, str]]]:
    """The signs of which a hint stands in a text, and those with a hint, the words of which may begin in one text and end in the next."""
    whole, parted = set[_Sign](), set[tuple[_Sign, str]]()
    for sign, hint in hints:
        words = hint.split()
        if hint in text:
            whole.add(sign)
        for at in range(1, len(words)):
            if text.rstrip().endswith(" ".join(words[:at])) if ends_with else text.lstrip().startswith(" ".join(words[at:])):
                parted.add((sign, f"{hint} {at}"))
    return frozenset(whole), frozenset(parted)


def _reason_across(before: str, beginning: str, signs: Collection[_Sign]) -> str | None:
    """Why two texts are suspicious by what begins in the one and ends in the other. The first begins with an ellipsis, so that it begins no line."""
    text = f"{before} {beginning}"
    for sign in _signs():
        if sign in signs and any(one.start() < len(before) < one.end() - 1 for one in sign.pattern.finditer(text)):
            return sign.reason
    return None
