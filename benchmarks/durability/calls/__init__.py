"""Every kind of call that writes, and some that only read: each a function that makes one call with a hand, if there is anything to make it with."""

from collections.abc import Callable, Mapping

from benchmarks.durability.calls import attempts, reading, recording, upkeep
from benchmarks.durability.hands import Hand

CallMaker = Callable[[Hand], None]

EVERY: Mapping[CallMaker, int] = {**recording.CALLS, **attempts.CALLS, **upkeep.CALLS, **reading.CALLS}
"""The calls with how often each is chosen."""

LONG: Mapping[CallMaker, int] = {
    recording.learn: 2,
    recording.learn_many: 3,
    recording.add_many: 2,
    upkeep.compact: 2,
    upkeep.export_and_import: 4,
    upkeep.undo: 3,
    upkeep.purge: 2,
    upkeep.maintain: 2,
    upkeep.backup: 3,
}
"""Those that take long, so that a kill is likely to hit one of them."""

REINDEXING: Mapping[CallMaker, int] = {recording.learn: 3, upkeep.reindex: 2, reading.retrieve: 1}
"""For a hand that has the store re-embedded again and again."""
