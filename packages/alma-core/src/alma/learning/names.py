"""Names in tasks: what one task is about and another of the same kind is not, such as "deploy *billing*", "deploy *the search service*".

They are found without a dictionary. Where tasks are equal but for some words in one place, those words fill a frame; what fills several frames is a
name. Verbs fill frames, too, but mostly at the beginning.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from alma.text import STOPWORDS, words

LONGEST = 6
"""The most words of a name: "order 99317 of Mr Lehmann" is one, too."""

READ_WORDS = 24
"""The words of a task that are read for frames: its beginning says what is wanted."""

READ_TASKS = 400
"""The tasks that are read for frames, the newest. Names recur, so few are missed."""

LEAST_FILLINGS = 2
"""A frame counts from this number of different fillings on."""

LEAST_FRAMES = 2
"""What fills this number of frames is a name."""

MOST_FIRST = 0.8
"""What stands first in more than this share of its frames is no name: verbs stand there."""

Phrase = tuple[str, ...]
Frame = tuple[Phrase, Phrase]


@dataclass(frozen=True, slots=True)
class Names:
    """Known names, each with its number, counted from 0; `firsts` are the words that they begin with."""

    numbers: Mapping[Phrase, int]
    firsts: frozenset[str]

    def within(self, text: str) -> list[int]:
        """The numbers of the names that a text contains, sorted. The longest match counts, from left to right."""
        tokens = tuple(words(text))
        found, end = set[int](), 0
        for place, word in enumerate(tokens):
            if place >= end and word in self.firsts:
                sizes = range(LONGEST, 0, -1)
                size = next((size for size in sizes if tokens[place : place + size] in self.numbers), 0)
                if size:
                    found.add(self.numbers[tokens[place : place + size]])
                    end = place + size
        return sorted(found)


def names_in(tasks: Sequence[str]) -> Names:
    """The names in tasks, in the order in which they are first found. Deterministic."""
    fillings: dict[Frame, dict[Phrase, None]] = {}
    for text in dict.fromkeys(tuple(words(task)[:READ_WORDS]) for task in tasks[-READ_TASKS:]):
        for frame, filling in _frames(text):
            fillings.setdefault(frame, {})[filling] = None
    filled, first = Counter[Phrase](), Counter[Phrase]()
    for (left, _), found in fillings.items():
        if len(found) >= LEAST_FILLINGS:
            filled.update(found.keys())
            if STOPWORDS.issuperset(left):
                first.update(found.keys())
    names = (name for name, frames in filled.items() if frames >= LEAST_FRAMES and first[name] <= MOST_FIRST * frames)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(map(_bare, names)))}
    return Names(numbers, frozenset(name[0] for name in numbers))


def _frames(text: Phrase) -> Iterator[tuple[Frame, Phrase]]:
    """Each way to read a text as a frame, which says something, around a filling, which does not end with a stop word."""
    for start in range(len(text)):
        for end in range(start + 1, min(start + LONGEST, len(text)) + 1):
            left, right = text[:start], text[end:]
            if text[end - 1] not in STOPWORDS and not STOPWORDS.issuperset(left + right):
                yield (left, right), text[start:end]


def _bare(phrase: Phrase) -> Phrase:
    """A phrase without the stop words that it begins with: "the board" is "board"."""
    start = next(place for place, word in enumerate(phrase) if word not in STOPWORDS)
    return phrase[start:]
