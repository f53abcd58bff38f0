"""How likely something is to succeed, from what is known of like tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alma.evidence import Interval, Tally
from alma.learning.ledger import MOST_STRATEGIES
from alma.learning.matching import same_strategy
from alma.learning.records import counted, ranged, record_of, verdict_of
from alma.memory import arguments as args
from alma.memory.nearby import LEARNED_KINDS, NearClass, near, near_classes
from alma.memory.room import Room
from alma.memory.strategies import NEAR_ENOUGH, type_of, whole_of
from alma.protocols import StoredEvidence
from alma.text import matched_text, normalised
from alma.types.evidence import Evidence
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome
from alma.types.strategies import Assessment, Judgement, StrategyRecord

SHARPNESS = 6
"""What a like task is worth: its cosine to this power. One at 0.9 counts half, one at 0.7 an eighth."""

LEAST = 0.3
UNLIKE, SAME_CLASS = 0.2, 0.75
"""Below the one cosine a class of tasks counts nothing for another, from the other on it counts whole, between as the square of the way."""

LEAST_TRIALS = 0.25
"""With less than this, nothing is known."""

PRIOR_TRIALS = 2.0
"""So many trials of the wider group are added to those of the narrower one: of all tasks to like ones, of like ones to the same."""

_ADVICE = {
    Judgement.WORKS: "use it",
    Judgement.SEEMS_TO_WORK: "it has worked so far; use it, and watch",
    Judgement.UNDECIDED: "tried, but neither way is clear",
    Judgement.SEEMS_TO_FAIL: "it has failed so far; look for another way",
    Judgement.FAILS: "avoid it",
    Judgement.UNKNOWN: "unknown: nothing like it was tried",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known: of the thing itself, and the rate to which that is drawn."""

    counts: Tally
    drawn_to: float
    judgement: Judgement
    records: tuple[StrategyRecord, ...] = ()


def assess(room: Room, *, strategy: object, context: object, agent: object) -> Assessment:
    """How likely a strategy is to succeed in a context, or a task whatever is tried."""
    reader = args.checked_name(agent, "agent")
    task = args.checked_text(context, "context")
    way = args.optional_text(strategy, "strategy")
    base = room.project.learned.total(reader)
    known = _of_task(room, reader, task, base) if way is None else _of_strategy(room, reader, way, task, base)
    score = _drawn(known.counts, known.drawn_to)
    interval = known.counts.interval() if known.counts.trials else Interval(0.0, 1.0)
    return Assessment(
        agent=reader,
        strategy=way,
        context=task,
        confidence_score=score,
        interval=ranged(interval),
        trials=known.counts.trials,
        successes=known.counts.successes,
        verdict=known.judgement,
        recommendation=_ADVICE[known.judgement],
        told=_told(known, score, interval),
        records=known.records,
    )


def _of_task(room: Room, reader: str, task: str, base: Tally) -> _Known:
    found = near(room, reader=reader, text=task, kinds={MemoryType.OUTCOME.value}, least=LEAST)
    kept = room.project.memories([item.memory for item in found])
    same, like = Tally(), Tally()
    for item in found:
        outcome = kept.get(item.memory)
        if not isinstance(outcome, Outcome) or outcome.successes is None or "step" in outcome.metadata:
            continue
        if normalised(outcome.task_description) == normalised(task):
            same = same.plus(outcome.successes)
        else:
            like = like.plus(outcome.successes, weight=item.cosine**SHARPNESS)
    judgement = Judgement.UNDECIDED if same.trials + like.trials >= LEAST_TRIALS else Judgement.UNKNOWN
    if same.trials:
        return _Known(same, _drawn(like, _drawn(base, 0.5)), judgement)
    return _Known(like, _drawn(base, 0.5), judgement)


def _of_strategy(room: Room, reader: str, strategy: str, task: str, base: Tally) -> _Known:
    places = near_classes(room, near(room, reader=reader, text=task, kinds=LEARNED_KINDS, least=NEAR_ENOUGH))
    vector = room.store.texts.query(matched_text(strategy), room.project)
    counts, others, records, judged = Tally(), Tally(), list[StrategyRecord](), list[Judgement]()
    for place in places:
        stored = room.project.learned.of_class(place.agent, place.task_class, most=MOST_STRATEGIES)
        whole = whole_of(room, place, [one.evidence for one in stored])
        vectors = room.project.vectors([matched_text(one.evidence.strategy) for one in stored])
        found = _same(strategy, vector, stored, vectors)
        if whole is None:
            continue
        others = _sum([others, whole.lifetime.faded(_worth(place))])
        if found is not None:
            counts = _sum([counts, found.lifetime.faded(_worth(place))])
            judged.append(verdict_of(found))
            records.append(_record(found, whole, place, reader))
    judgement = judged[0] if counts.trials >= LEAST_TRIALS else Judgement.UNKNOWN
    return _Known(counts, _drawn(others, _drawn(base, 0.5)), judgement, tuple(records))


def _record(seen: Evidence, whole: Evidence, place: NearClass, reader: str) -> StrategyRecord:
    return record_of(seen, whole, task_type=type_of(place.task_class), reader=reader, similarity=place.cosine)


def _same(
    strategy: str, vector: NDArray[np.float32], stored: Sequence[StoredEvidence], vectors: Mapping[str, bytes]
) -> Evidence | None:
    """The evidence on the strategy that is the same, the nearest of them."""
    best: tuple[float, Evidence] | None = None
    for one in stored:
        if one.evidence.is_whole_class:
            continue
        known = vectors.get(matched_text(one.evidence.strategy))
        cosine = 0.0 if known is None else float(np.frombuffer(known, dtype="<f2").astype(np.float32) @ vector)
        if same_strategy(strategy, one.evidence.strategy, cosine) and (best is None or cosine > best[0]):
            best = cosine, one.evidence
    return None if best is None else best[1]


def _worth(place: NearClass) -> float:
    """What a class counts: the more, the nearer its nearest task."""
    return min(max((place.cosine - UNLIKE) / (SAME_CLASS - UNLIKE), 0.0), 1.0) ** 2


def _drawn(counts: Tally, towards: float) -> float:
    return (counts.successes + PRIOR_TRIALS * towards) / (counts.trials + PRIOR_TRIALS)


def _sum(counts: Sequence[Tally]) -> Tally:
    return Tally(sum(one.successes for one in counts), sum(one.trials for one in counts))


def _told(known: _Known, score: float, interval: Interval) -> str:
    if known.judgement is Judgement.UNKNOWN:
        return _ADVICE[known.judgement]
    counts = Tally(round(known.counts.successes, 1), round(known.counts.trials, 1))
    around = f"{interval.lower:.0%} to {interval.upper:.0%}"
    return f"{known.judgement}: {counted(counts)} ({around}), expected {score:.0%}; {_ADVICE[known.judgement]}"
