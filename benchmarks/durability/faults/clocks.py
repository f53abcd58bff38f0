"""Clocks that go back, jump, or stand still."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried, work
from benchmarks.durability.hands import new_hand
from benchmarks.durability.stores import Opens

CALLS = 40
START = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)

Clock = Callable[[], datetime]


def set_back(place: Place) -> list[Trial]:
    """Calls by clocks that are set: every one lands, in the order of its making."""
    return [tried(what, _by, place.sample().copy("harmed"), name) for name, what in TOLD.items()]


TOLD: Mapping[str, str] = {
    "ten years back": "the clock is set back by ten years",
    "back at every look": "the clock goes back at every look",
    "jumps": "the clock jumps by years, forth and back",
    "stands still": "the clock stands still",
    "long ago": "the clock is at the year 1",
    "far ahead": "the clock is at the year 9000",
}


def _clock(name: str) -> Clock:
    chance, looks = Random(name), count()
    return {
        "ten years back": lambda: START - timedelta(days=3650),
        "back at every look": lambda: START - timedelta(hours=next(looks)),
        "jumps": lambda: START + timedelta(days=chance.uniform(-5000, 5000)),
        "stands still": lambda: START,
        "long ago": lambda: datetime(1, 6, 1, tzinfo=UTC),
        "far ahead": lambda: datetime(9000, 6, 1, tzinfo=UTC),
    }[name]


def _by(what: str, sample: Sample, name: str) -> Trial:
    hand = new_hand("timeless", Opens(sample.store, clock=_clock(name)), sample.files, what)
    hand.is_timeless = True
    work(hand, CALLS)
    hand.opens.main.close()
    return compared(what, sample, is_harmed=False)
