"""How likely something is to succeed, from what is known of like tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alma.evidence import Interval, Tally
from alma.learning.matching import same_strategy
from alma.learning.records import counted, ranged, record_of, verdict_of
from alma.learning.standing import EVEN
from alma.memory import arguments as args
from alma.memory.deference import ENOUGH_TRIALS
from alma.memory.nearby import LEARNED_KINDS, Near, NearClass, near, near_classes, vectors_of
from alma.memory.room import Room
from alma.memory.strategies import NEAR_ENOUGH, class_of, type_of
from alma.memory.swaps import check_order
from alma.text import matched_text, normalised, spelt
from alma.types.evidence import BY_TASK, BY_TYPE, STEP, Evidence, text_key
from alma.types.memories import Outcome
from alma.types.strategies import Assessment, Judgement, StrategyRecord

SHARPNESS = 6
"""What a like task is worth: its cosine to this power. One at 0.9 counts half, one at 0.7 an eighth."""

LEAST = 0.3
UNLIKE, SAME_CLASS = 0.2, 0.75
"""Below the one cosine a class of tasks counts nothing for another, from the other on it counts whole, between as the square of the way."""

LEAST_TRIALS = 0.25
"""With less than this, nothing is known."""

OTHERS = 0.5
"""What a trial of another agent counts for who reads of it; nothing where it tried the strategy often enough itself."""

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
_OUTLOOK = {
    **_ADVICE,
    Judgement.SEEMS_TO_WORK: "such tasks succeed more often than not",
    Judgement.SEEMS_TO_FAIL: "such tasks fail more often than not; look for another way",
}
_BEST_OF_BAD = "better than the others, but it fails more often than not"
_WORST_OF_GOOD = "worse than the others, but it succeeds more often than not"


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known: of the thing itself, and the rate to which that is drawn."""

    counts: Tally
    drawn_to: float
    judgement: Judgement
    records: tuple[StrategyRecord, ...] = ()


def assess(room: Room, *, strategy: object, context: object, agent: object, task_type: object = None) -> Assessment:
    """How likely a strategy is to succeed in a context, or a task whatever is tried."""
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    task = args.checked_text(context, "context")
    way = args.optional_text(strategy, "strategy")
    kind = args.optional_label(task_type, "task_type")
    base = room.project.learned.total(reader)
    known = _of_task(room, reader, task, base) if way is None else _of_strategy(room, reader, way, task, kind, base)
    score = _drawn(known.counts, known.drawn_to)
    interval = known.counts.interval() if known.counts.trials else Interval(0.0, 1.0)
    advice = _OUTLOOK[known.judgement] if way is None else _advice(known)
    return Assessment(
        agent=reader,
        strategy=way,
        context=task,
        confidence_score=score,
        interval=ranged(interval),
        trials=known.counts.trials,
        successes=known.counts.successes,
        verdict=known.judgement,
        recommendation=advice,
        told=_told(known, score, interval, advice),
        records=known.records,
    )


def _of_task(room: Room, reader: str, task: str, base: Tally) -> _Known:
    found = near(room, reader=reader, text=task, kinds=LEARNED_KINDS, least=LEAST)
    parts = [*_outcomes(room, task, found), *_forgotten(room, reader, task, found)]
    same, like = (_sum([counts for is_same, counts in parts if is_same is wanted]) for wanted in (True, False))
    if same.trials:
        return _Known(same, _drawn(like, _drawn(base, 0.5)), _outlook(same))
    return _Known(like, _drawn(base, 0.5), _outlook(like))


def _outcomes(room: Room, task: str, found: list[Near]) -> Iterator[tuple[bool, Tally]]:
    """What became of the same task and, weighed by their cosines, of like ones."""
    kept = room.project.memories([item.memory for item in found])
    behind = room.project.learned.behind([item.memory for item in found])
    for item in found:
        outcome = kept.get(item.memory)
        if not isinstance(outcome, Outcome) or outcome.successes is None:
            continue
        if item.memory in behind and _is_step(behind[item.memory].evidence.task_class):
            continue
        is_same = normalised(outcome.task_description) == normalised(task)
        yield is_same, Tally().plus(outcome.successes, weight=1.0 if is_same else item.cosine**SHARPNESS)


def _forgotten(room: Room, reader: str, task: str, found: list[Near]) -> Iterator[tuple[bool, Tally]]:
    """The counts of like classes of which no outcome is left: only what was learned from them is."""
    kept = room.project.memories([item.memory for item in found])
    alive = near_classes(room, [item for item in found if isinstance(kept.get(item.memory), Outcome)])
    told = {(place.agent, place.task_class) for place in alive}
    named = NearClass(reader, f"{BY_TASK}{text_key(task)}", 1.0)
    for place in {(place.agent, place.task_class): place for place in [*near_classes(room, found), named]}.values():
        is_told = (place.agent, place.task_class) in told or _is_step(place.task_class)
        whole = None if is_told else class_of(room, place)[0]
        if whole is not None:
            is_same = place.task_class.startswith(BY_TASK) and normalised(whole.task or "") == normalised(task)
            yield is_same, whole.lifetime.faded(1.0 if is_same else place.cosine**SHARPNESS)


def _is_step(task_class: str) -> bool:
    return task_class.startswith(STEP)


def _outlook(counts: Tally) -> Judgement:
    """What a record says of a task, whatever is tried: something only where that is as good as sure."""
    if counts.trials < LEAST_TRIALS:
        return Judgement.UNKNOWN
    around = counts.interval()
    if around.lower > EVEN:
        return Judgement.SEEMS_TO_WORK
    return Judgement.SEEMS_TO_FAIL if around.upper < EVEN else Judgement.UNDECIDED


def _of_strategy(room: Room, reader: str, strategy: str, task: str, task_type: str | None, base: Tally) -> _Known:
    places = near_classes(room, near(room, reader=reader, text=task, kinds=LEARNED_KINDS, least=NEAR_ENOUGH))
    if task_type is not None:
        named = NearClass(reader, f"{BY_TYPE}{spelt(task_type)}", 1.0)
        places = [named, *(place for place in places if (place.agent, place.task_class) != (reader, named.task_class))]
    vector = room.store.texts.query(matched_text(strategy), room.project)
    parts = _heard([part for place in places if (part := _part(room, place, strategy, vector))], reader)
    counts, rest = _sum([part.counts for part in parts]), _sum([part.whole.lifetime.faded(part.weight) for part in parts])
    tried = sorted((part for part in parts if part.seen), key=lambda part: -part.counts.trials)
    judgement = verdict_of(tried[0].seen) if tried and tried[0].seen and counts.trials >= LEAST_TRIALS else Judgement.UNKNOWN
    records = tuple(_record(part.seen, part.whole, part.place, reader) for part in parts if part.seen)
    return _Known(counts, _drawn(rest, _drawn(base, 0.5)), judgement, records)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one class of tasks says of a strategy, and how much that weighs; `seen` is `None` where it was not tried."""

    place: NearClass
    whole: Evidence
    seen: Evidence | None
    weight: float

    @property
    def counts(self) -> Tally:
        """How often the strategy was tried there, weighed."""
        return self.seen.lifetime.faded(self.weight) if self.seen else Tally()


def _part(room: Room, place: NearClass, strategy: str, vector: NDArray[np.float32]) -> _Part | None:
    whole, tried = class_of(room, place)
    if whole is None:
        return None
    exact = room.project.learned.at(place.agent, place.task_class, text_key(strategy))
    seen = exact.evidence if exact else _same(room, strategy, vector, tried)
    return _Part(place, whole, seen, _worth(place))


def _heard(parts: Sequence[_Part], reader: str) -> list[_Part]:
    """The reader's own parts whole, and those of others by half; not at all where it tried the strategy often enough itself."""
    own = [part for part in parts if part.place.agent == reader]
    if _sum([part.counts for part in own]).trials >= ENOUGH_TRIALS:
        return own
    return [part if part.place.agent == reader else replace(part, weight=part.weight * OTHERS) for part in parts]


def _record(seen: Evidence, whole: Evidence, place: NearClass, reader: str) -> StrategyRecord:
    return record_of(seen, whole, task_type=type_of(place.task_class), reader=reader, similarity=place.cosine)


def _same(room: Room, strategy: str, vector: NDArray[np.float32], tried: Sequence[Evidence]) -> Evidence | None:
    """The evidence on the strategy that is the same, the nearest of them."""
    texts = [(matched_text(seen.strategy), seen) for seen in tried]
    vectors = vectors_of(room, [text for text, _ in texts])
    best: tuple[float, Evidence] | None = None
    for text, seen in texts:
        cosine = float(vectors[text] @ vector) if text in vectors else 0.0
        if same_strategy(matched_text(strategy), text, cosine) and (best is None or cosine > best[0]):
            best = cosine, seen
    return None if best is None else best[1]


def _worth(place: NearClass) -> float:
    """What a class counts: the more, the nearer its nearest task."""
    return min(max((place.cosine - UNLIKE) / (SAME_CLASS - UNLIKE), 0.0), 1.0) ** 2


def _drawn(counts: Tally, towards: float) -> float:
    return (counts.successes + PRIOR_TRIALS * towards) / (counts.trials + PRIOR_TRIALS)


def _sum(counts: Sequence[Tally]) -> Tally:
    return Tally(sum(one.successes for one in counts), sum(one.trials for one in counts))


def _advice(known: _Known) -> str:
    """What to do with a strategy: a rule compares it with the others, which need not be any good."""
    if known.judgement in (Judgement.WORKS, Judgement.SEEMS_TO_WORK) and known.counts.rate < EVEN:
        return _BEST_OF_BAD
    if known.judgement in (Judgement.FAILS, Judgement.SEEMS_TO_FAIL) and known.counts.rate > EVEN:
        return _WORST_OF_GOOD
    return _ADVICE[known.judgement]


def _told(known: _Known, score: float, interval: Interval, advice: str) -> str:
    if known.judgement is Judgement.UNKNOWN:
        return advice
    counts = Tally(round(known.counts.successes, 1), round(known.counts.trials, 1))
    around = f"{interval.lower:.0%} to {interval.upper:.0%}"
    return f"{known.judgement}: {counted(counts)} ({around}), expected {score:.0%}; {advice}"
