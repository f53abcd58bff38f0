"""Check of a text against its sources: no number, name, path, negation or condition is lost or invented.

A language model that writes facts, merged texts, summaries or lessons is held to this. The guard reads words alone: it does not know whether a
text is true, and it refuses some that are. LoCoMo's facts (`benchmarks.guard`, 29 November 2026): .83 pass, and of those changed in one place .02.
Known misses: roles exchanged ("Bob owns it", "Bob is owned by it"), and a denial where a source denies something else.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from alma.text import sentences_of
from alma_learning.denials import Denial, contradicts, denials, denies, telling
from alma_learning.numbers import numbers_apart, words_and_numbers
from alma_learning.stems import stem
from alma_learning.word_lists import read_lists

CONDITIONS = frozenset({"after", "before", "except", "if", "only", "unless", "until", "when", "without"})
"""English words that begin a condition."""
CLAUSE = 5
"""Words of a condition that are looked at."""
_JOINING = {"only": {"exclusively", "solely", "just"}, "if": {"when", "whenever", "once"}, "when": {"if", "whenever", "once"}}
"""Words that say the same condition."""
SPEAKERS = frozenset({"agent", "assistant", "people", "person", "team", "user", "users"})
"""Speakers who may begin a text about a conversation that does not name them."""

_TOKEN = re.compile(r"(?<![#@~/.\\$-])[#@~/.\\$-]*\w+(?:[./\\:@_#'’+-]+\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_PARTS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class _Read:
    """A text as the guard reads it."""

    text: str

    @cached_property
    def tokens(self) -> list[tuple[str, bool]]:
        """The tokens in order, and whether each begins a sentence."""
        found = []
        for match in _TOKEN.finditer(self.text):
            before = self.text[: match.start()].rstrip(" \t\"'`“”‘’([*_-")
            found.append((_POSSESSIVE.sub("", match[0].strip(".")), not before or before[-1] in ".!?:;\n"))
        return found

    @cached_property
    def words(self) -> list[str]:
        return words_and_numbers(self.text)[0]

    @cached_property
    def numbers(self) -> list[str]:
        return words_and_numbers(self.text)[1]

    @cached_property
    def names(self) -> dict[str, str]:
        """The names, paths, commands and ids by their folded form; a capital at the beginning of a sentence is one, too."""
        found = {}
        for token, _ in self.tokens:
            is_written = bool(_PARTS.search(token.strip("-'’"))) or any(letter.isupper() for letter in token[1:])
            is_mixed = any(map(str.isdigit, token)) and any(map(str.isalpha, token))
            if is_written or is_mixed or token[:1].isupper():
                found[token.casefold()] = token
        return found

    @cached_property
    def sure_names(self) -> dict[str, str]:
        """The names without capitals that only begin a sentence."""
        begin = {token.casefold() for token, begins in self.tokens if begins and token[1:].islower() and token.isalpha()}
        elsewhere = {token.casefold() for token, begins in self.tokens if not begins}
        return {folded: name for folded, name in self.names.items() if folded not in begin or folded in elsewhere}

    @cached_property
    def vocabulary(self) -> set[str]:
        """All words and their stems, the parts of names among them."""
        words = {token.casefold() for token, _ in self.tokens}
        words |= {part for word in words for part in _PARTS.split(word) if part}
        return words | set(map(stem, words))

    @cached_property
    def denied(self) -> tuple[Denial, ...]:
        return denials(self.words)

    @cached_property
    def said(self) -> tuple[str, ...]:
        return telling(self.words)

    @cached_property
    def conditions(self) -> set[str]:
        return set(self.words) & CONDITIONS


def find_invented(text: str, sources: Sequence[str], *, given: Collection[str] = ()) -> tuple[str, ...]:
    """Returns what a text says that none of its sources does, or says the contrary of, in words; nothing if it may be trusted.

    A condition of the sources that the text leaves out is among it: without it the text says more than they do. `given` are words of conditions
    that need no source.
    """
    mine, theirs = _Read(text), _Read("\n".join(sources))
    found = [f"the number {number} is in no source" for number in numbers_apart(mine.numbers, theirs.numbers)[0]]
    found += [f"{name!r} is in no source" for name in _unknown(mine.names, theirs)]
    if any(map(denies, mine.words)) and not any(map(denies, theirs.words)):
        found.append("it denies something, and no source does")
    elif contradicts(mine.denied, mine.said, theirs.denied, theirs.said):
        found.append("it denies what a source says, or says what a source denies")
    unmet = {*_unmet(mine.conditions, theirs.conditions), *_strange(mine, theirs)}.difference(given)
    found += [f"the condition {word!r} is in no source" for word in sorted(unmet)]
    meant = set[str]().union(*(one.conditions for one in map(_Read, sentences_of(theirs.text)) if _is_about(mine, one)))
    return (*found, *(f"the condition {word!r} of a source is lost" for word in _unmet(meant, mine.conditions)))


def find_lost(text: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Returns the numbers and names of the sources that a text leaves out, in words."""
    mine, theirs = _Read(text), _Read("\n".join(sources))
    found = [f"the number {number} is lost" for number in numbers_apart(mine.numbers, theirs.numbers)[1]]
    return (*found, *(f"{name!r} is lost" for name in _unknown(theirs.sure_names, mine)))


def _unknown(names: dict[str, str], known: _Read) -> list[str]:
    return [name for folded, name in names.items() if not _is_known(folded, known.vocabulary)]


def _is_known(folded: str, vocabulary: set[str]) -> bool:
    if folded in vocabulary or stem(folded) in vocabulary:
        return True
    if folded in SPEAKERS or folded in read_lists("words")["stop"]:
        return True
    parts = [part for part in _PARTS.split(folded) if part]
    return len(parts) > 1 and "-" in folded and all(part in vocabulary or stem(part) in vocabulary for part in parts)


def _is_about(text: _Read, sentence: _Read) -> bool:
    """Returns True if a sentence speaks of half of what a text speaks of."""
    said = set(text.said)
    return 2 * len(said & set(sentence.said)) >= len(said)


def _strange(text: _Read, sources: _Read) -> list[str]:
    """Returns the conditions of a text of whose words the sources hold none."""
    following = ((word, telling(text.words[place + 1 : place + 1 + CLAUSE])) for place, word in enumerate(text.words))
    return [word for word, clause in following if word in CONDITIONS and clause and sources.vocabulary.isdisjoint(clause)]


def _unmet(conditions: set[str], others: set[str]) -> list[str]:
    return sorted(word for word in conditions if word not in others and not _JOINING.get(word, set()) & others)
