"""Tokens that say by their shape what they are. The shapes are in `tokens.toml`."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from alma_guard.values import is_drawn

SHORTEST = 15
"""No token is shorter."""

_PEM_HINT = "PRIVATE KEY"


@dataclass(frozen=True)
class _Shape:
    """A kind of token: texts one of which stands in every such token, without which nothing is searched for, and what it looks like.

    A loose one names of things may have, too, unless what follows its beginning was drawn by chance.
    """

    kind: str
    hints: list[str]
    source: str
    is_loose: bool

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first."""
        return re.compile(rf"(?<![A-Za-z0-9]){self.source}", re.VERBOSE)


@cache
def _shapes() -> tuple[_Shape, ...]:
    """The shapes of the file, in its order."""
    read = tomllib.loads(files("alma_guard").joinpath("tokens.toml").read_text(encoding="utf-8"))
    return tuple(_Shape(kind, hints.split("|"), source, bool(loose)) for kind, hints, source, *loose in read["tokens"])


def long_words(text: str) -> list[str]:
    """Returns the words of a text that are long enough for a token."""
    return [word for word in text.split() if len(word) >= SHORTEST]


def tokens(text: str, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Returns where such tokens begin and end in a text with these long words, and their kinds."""
    searched = "\n".join(words)
    if _PEM_HINT in text:
        searched += _PEM_HINT
    if not searched:
        return
    for shape in _shapes():
        if any(map(searched.__contains__, shape.hints)):
            for found in shape.pattern.finditer(text):
                if not shape.is_loose or is_drawn(found[0]):
                    yield found.start(), found.end(), shape.kind
