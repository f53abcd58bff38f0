"""What happened and what is true: the record of a log, and how the ways of a situation stand."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.played.counts import Counts
from benchmarks.played.worlds import Attempt, Situation, World

MUCH_WORSE = 0.2
TINY = 1e-9


class Record:
    """Counts of the attempts: of a way in a situation, of a way everywhere, and of a wording in a situation."""

    def __init__(self, log: Iterable[Attempt]) -> None:
        self.in_situation: dict[tuple[str, str], Counts] = defaultdict(Counts)
        self.everywhere: dict[str, Counts] = defaultdict(Counts)
        self.in_wording: dict[tuple[str, str], Counts] = defaultdict(Counts)
        for attempt in log:
            one = Counts(attempt.is_success, 1)
            self.in_situation[attempt.situation, attempt.way] += one
            self.everywhere[attempt.way] += one
            self.in_wording[attempt.situation, attempt.wording] += one

    @property
    def has_early_lesson(self) -> bool:
        """Whether a way has three successes or more in at most four trials of a situation."""
        return any(each.successes >= 3 and each.trials <= 4 for each in self.in_situation.values())

    def has_mixed(self, way: str | None, stated: Counts) -> bool:
        """Whether counts overflow the whole record of their way, and that of another way added would explain them."""
        own = self.everywhere.get(way or "", Counts())
        others = [each for name, each in self.everywhere.items() if name != way]
        return stated.exceeds(own) and any(not stated.exceeds(own + other) for other in others)


@dataclass(frozen=True, slots=True)
class Standing:
    """How the ways of one situation stand: their counts in the log, and their true rates now."""

    situation: str
    counts: Mapping[str, Counts]
    rates: Mapping[str, float]

    @property
    def best_known(self) -> set[str]:
        """The ways with the highest (successes + 1) / (trials + 2); ties all count."""
        known = {way: (each.successes + 1) / (each.trials + 2) for way, each in self.counts.items() if each.trials}
        return {way for way, mean in known.items() if mean > max(known.values()) - TINY}

    def is_bad(self, way: str) -> bool:
        """Whether the true rate is much below that of the best; a way of other situations succeeds never here."""
        return self.rates.get(way, 0.0) < max(self.rates.values()) - MUCH_WORSE - TINY


def stand(situation: Situation, record: Record) -> Standing:
    """Returns how the ways of a situation stand."""
    counts = {way: record.in_situation.get((situation.name, way), Counts()) for way in situation.rates}
    return Standing(situation.name, counts, situation.rates_now)


def is_lesson_true(world: World, record: Record, way: str, situation: str | None, *, is_advised: bool) -> bool:
    """Whether advice for or against a way is right in the situation that it names, or in some situation of the way where it names none."""
    names = [situation] if situation else [each.name for each in world.situations.values() if way in each.rates]
    return any(stand(world.situations[name], record).is_bad(way) is not is_advised for name in names)
