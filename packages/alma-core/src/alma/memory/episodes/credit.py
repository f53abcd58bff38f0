"""Credits the outcome of an attempt to the memories that were used in it, a share to each."""

from collections.abc import Collection, Mapping
from typing import Any

from alma.memory.episodes import usage
from alma.protocols import Lookups
from alma.types.episodes import EpisodeRecord, EpisodeStatus
from alma.types.kinds import Verdict
from alma.types.reports import UsageReport

MOST_AN_EPISODE = 3
"""Sum of all shares of one attempt: many memories used at once do not make one attempt count for many."""

_PARTS = 1024
"""Shares are multiples of 1/1024, which binary fractions represent exactly, so that reversing one leaves no remainder, in any order."""

_WORTH: Mapping[Verdict, float] = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}

Counts = dict[str, float]


def share(used: int) -> float:
    """Returns the share of an attempt that each of `used` memories is credited with: `min(1, 3 / used)`, rounded down to a 1024th."""
    return 1.0 if used <= MOST_AN_EPISODE else (_PARTS * MOST_AN_EPISODE // used) / _PARTS


def counts(
    stored: Lookups,
    before: EpisodeRecord | None,
    after: EpisodeRecord,
    use: UsageReport | None,
    rules: Collection[str] = (),
) -> Mapping[str, Counts]:
    """Returns what ending or settling an episode adds to the counts of each memory: its use, if it is counted now, and the credit for the
    outcome.

    Credit for an earlier outcome of the episode is reversed. `rules` are ids of learned rules. Memories that are gone are left out.
    """
    uses = () if use is None else usage.counted(use)
    added: dict[str, Counts] = {memory_id: {name: 1} for memory_id, name in uses}
    earlier, later = _credit(before), _credit(after)
    changes = {memory_id: _difference(earlier.get(memory_id, {}), later.get(memory_id, {})) for memory_id in {**earlier, **later}}
    there = {
        **added,
        **dict.fromkeys(rules),
        **stored.find(memory_id for memory_id, change in changes.items() if change and memory_id not in added),
    }
    for memory_id, change in changes.items():
        if change and memory_id in there:
            added.setdefault(memory_id, {}).update(change)
    return added


def _credit(record: EpisodeRecord | None) -> Mapping[str, Counts]:
    """Returns the credit of an episode's outcome for each memory used in it. An unjudged episode gives none."""
    worth = None if record is None or record.outcome is None else _WORTH.get(record.outcome)
    if record is None or worth is None:
        return {}
    each = share(len(record.credited))
    return {memory_id: {"credited_successes": worth * each, "credited_trials": each} for memory_id in record.credited}


def counts_of(opening: Mapping[str, Any], ending: Mapping[str, Any]) -> Mapping[str, Counts]:
    """Returns what an episode added to the counts of each memory, given its beginning and its ending as they are stored."""
    if ending.get("status") != EpisodeStatus.ENDED or ending.get("used") is None:
        return {}
    credited, used = ending["credited"], {*ending["used"]}
    ignored = [memory_id for memory_id, *_ in opening["shown"] if memory_id not in used]
    worth = _WORTH.get(Verdict(ending["outcome"]))
    each = {} if worth is None else {"credited_successes": worth * share(len(credited)), "credited_trials": share(len(credited))}
    return {**{memory_id: {"ignored": 1} for memory_id in ignored}, **{memory_id: {"used": 1, **each} for memory_id in credited}}


def _difference(earlier: Counts, later: Counts) -> Counts:
    changes = {name: later.get(name, 0.0) - earlier.get(name, 0.0) for name in {**earlier, **later}}
    return {name: change for name, change in changes.items() if change}
