"""Counts of successes and trials, and how they are found in words: "worked 3 of 4", "failed 2 of 2", "3/4", "worked 3, failed 1"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

NEAR = 0.011  # counts are printed with at most two decimals

_OF = re.compile(
    r"(?:\b(?P<before>worked|works|succeeded|successes?|failed|fails|failures?|ok)\b:?\s*)?"
    r"(?<![\d.])(?P<part>\d+(?:\.\d+)?)\s*(?:of|out of|/)\s*(?P<whole>\d+(?:\.\d+)?)(?![\d/])"
    r"(?:\s*(?:times|tries|trials|attempts))?(?:\s*(?P<after>worked|succeeded|failed)\b)?",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?:worked|succeeded)\s+(?P<good>\d+)(?:\s*(?:times?|x|×))?\s*(?:,|;|and|/)*\s*failed\s+(?P<bad>\d+)"
    r"|(?P<good_first>\d+)\s*(?:×|x)?\s*(?:successes|success|worked|succeeded)\s*(?:,|;|and|/)*\s*"
    r"(?P<bad_after>\d+)\s*(?:×|x)?\s*(?:failures?|failed)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Counts:
    """Successes of trials."""

    successes: float = 0
    trials: float = 0

    @property
    def failures(self) -> float:
        return self.trials - self.successes

    @property
    def share(self) -> float:
        """The share of successes; 0 where nothing was tried."""
        return self.successes / self.trials if self.trials else 0.0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.successes + other.successes, self.trials + other.trials)

    def equals(self, other: "Counts") -> bool:
        """Whether both are the same but for rounding."""
        return abs(self.successes - other.successes) <= NEAR and abs(self.trials - other.trials) <= NEAR

    def exceeds(self, other: "Counts") -> bool:
        """Whether these state more successes or more failures than the other."""
        return self.successes > other.successes + NEAR or self.failures > other.failures + NEAR

    def __str__(self) -> str:
        return f"{self.successes:g}/{self.trials:g}"


@dataclass(frozen=True, slots=True)
class CountsInText:
    """Counts, and where they stand."""

    start: int
    end: int
    counts: Counts


def find_counts(text: str) -> list[CountsInText]:
    """Finds all counts, by place."""
    pairs = [CountsInText(*match.span(), _read_pair(match)) for match in _PAIR.finditer(text)]
    others = [CountsInText(*match.span(), _read_of(match)) for match in _OF.finditer(text)]
    alone = [each for each in others if all(each.end <= pair.start or each.start >= pair.end for pair in pairs)]
    return sorted([*pairs, *alone], key=lambda each: each.start)


def blank_counts(text: str, found: Iterator[CountsInText]) -> str:
    """Puts spaces where counts stand, so that their words ("failed 2 of 3") are no advice."""
    for each in found:
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


def _read_pair(match: re.Match[str]) -> Counts:
    good = float(match["good"] or match["good_first"])
    return Counts(good, good + float(match["bad"] or match["bad_after"]))


def _read_of(match: re.Match[str]) -> Counts:
    part, whole = float(match["part"]), float(match["whole"])
    word = (match["before"] or match["after"] or "").casefold()
    return Counts(whole - part if word.startswith("fail") else part, whole)
