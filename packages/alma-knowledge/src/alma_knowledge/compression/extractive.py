"""Extractive summaries: whole sentences of a text, chosen by what they add. Nothing is reworded, so nothing is said that the text does not say."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from alma.text import estimate_tokens
from alma_learning.denials import denies, telling
from alma_learning.numbers import words_and_numbers

BINDING = frozenset({"must", "never", "only", "unless", "except", "always", "cannot"})
"""English words that bind: a sentence with one is kept first, as one with a denial, a measured number or a path."""

LENGTH = 0.25
"""Power of a sentence's tokens by which what it adds is divided."""

NAMES = 2.5
"""Factor by which a name or number counts more than another word. Of both, sessions of LoCoMo's development part at a third, 29 November 2026:
of the answers that stand in their turns .79 are kept where the rarity in all sessions counts, .72 by the session alone; with powers of .75 or names
as other words .73 and .69."""

_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][\w-]+")
_ENDS = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|\n+")
_MEASURED = re.compile(r"(?<![\w.])[$€£]?\d[\d.,:]{0,40}\s?(?:%|°|[A-Za-z]{1,12}\b)|[$€£]\d[\d.,]*")
_PATH = re.compile(  # parts are bounded, so that a text of one endless word takes linear time
    r"(?<![\w/])(?:[\w.-]{1,80})?(?:/[\w.-]+)+|\b[\w-]{1,80}\.(?:py|md|js|ts|json|ya?ml|toml|sql|sh|txt|cfg|ini|html?|css|go|rs|java)\b"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its place, its words, the stems that say what it is about, those of names and numbers among them, what must be kept of
    it, and its tokens."""

    place: int
    text: str
    stems: frozenset[str]
    names: frozenset[str]
    kept_first: tuple[str, ...]
    tokens: float


def read_sentences(text: str) -> list[Sentence]:
    """Returns the sentences and lines of a text in order."""
    parts = [part.strip() for part in _ENDS.split(text) if part and part.strip()]
    return [_read(place, part) for place, part in enumerate(parts)]


def find_kept_first(text: str) -> tuple[str, ...]:
    """Returns what of a text must not be lost: measured numbers, paths, denials and words that bind."""
    words = words_and_numbers(text)[0]
    found = [match[0].strip() for pattern in (_MEASURED, _PATH) for match in pattern.finditer(text)]
    return (*found, *(word for word in words if word in BINDING or denies(word)))


def extract(text: str, most: int, usual: "Usual | None" = None) -> str:
    """Returns sentences of a text of at most `most` tokens in all, in their order; the text itself where it is no longer.

    First those with something that must be kept, the most of it for their length; then those whose words add most to what is covered, each word
    by its rarity, `usual` in other texts too. That is the greedy algorithm for a submodular function under a budget (Lin and Bilmes 2010,
    "Multi-document summarization via budgeted maximization of submodular functions"). The same text gives the same summary. Values are
    computed anew only where they may be the best (Minoux 1978, "Accelerated greedy algorithms for maximizing submodular set functions").
    """
    if estimate_tokens(text) <= most:
        return text
    return "\n".join(sentence.text for sentence in choose(read_sentences(text), most, usual))


@dataclass(frozen=True, slots=True)
class Usual:
    """Number of sentences, among `size` of other texts, that have each stem: a stem that is usual there says little here."""

    counts: Counter[str]
    size: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Usual":
        """Returns the counts of some texts."""
        sentences = [sentence for text in texts for sentence in read_sentences(text)]
        return cls(Counter(stem for each in sentences for stem in each.stems), len(sentences))


def choose(sentences: Sequence[Sentence], most: int, usual: Usual | None = None) -> list[Sentence]:
    """Returns the sentences of a summary, in their order; see `extract`."""
    counts, size = Counter(stem for each in sentences for stem in each.stems), len(sentences)
    if usual is not None:
        counts, size = counts + usual.counts, size + usual.size
    weight = {stem: math.log(1 + size / count) for stem, count in counts.items()}
    covered, said, chosen, spent = set[str](), set[str](), list[Sentence](), 0.0

    def rank(each: Sentence) -> tuple[float, float, int, Sentence]:
        new = sorted(each.stems - covered)
        gain = sum(weight[stem] * (NAMES if stem in each.names else 1.0) for stem in new) / each.tokens**LENGTH
        return -len(set(each.kept_first) - said) / each.tokens, -gain, each.place, each

    heap = [rank(each) for each in sentences if each.tokens <= most]
    heapify(heap)
    while heap:
        *_, best = heappop(heap)
        current = rank(best)
        if heap and current > heap[0]:  # what a sentence adds only falls, so the best that is still up to date is the best of all
            heappush(heap, current)
        elif spent + best.tokens <= most:
            chosen.append(best)
            spent += best.tokens
            covered |= best.stems
            said.update(best.kept_first)
    return sorted(chosen, key=lambda each: each.place)


def _read(place: int, text: str) -> Sentence:
    words, numbers = words_and_numbers(text)
    named = telling(words_and_numbers(" ".join(_NAME.findall(text)))[0])
    ascii_count = len(text.encode("ascii", "ignore"))
    tokens = (ascii_count + 1) / 4 + len(text) - ascii_count
    return Sentence(
        place, text, frozenset((*telling(words), *numbers)), frozenset((*named, *numbers)), find_kept_first(text), tokens
    )
