"""How likely something is to succeed, from what is known of like tasks."""

from dataclasses import dataclass

import numpy as np

from alma.evidence import Interval, Tally
from alma.learning.clusters import ALIKE, design_weights
from alma.learning.consulting import Consulted
from alma.learning.pooling import SAME_WAY
from alma.learning.records import RecordMaker, bounds, counted, counts_of, ranged, rate_lately, relative_only, verdict_of
from alma.learning.standings import Standings
from alma.memory import arguments as args
from alma.memory.argument_order import check_order
from alma.memory.recall.knowledge import advised, asking
from alma.memory.recall.strategies import shown_rows
from alma.memory.room import Room
from alma.memory.scopes import hint_of_agent, needed_by
from alma.text import matched_text
from alma.types.strategies import Assessment, Judgement, StrategyRecord

EVEN = 0.5
LEAST_TRIALS = 0.25
"""With less than this, nothing is known."""

PRIOR_TRIALS = 2.0

_ADVICE = {
    Judgement.WORKS: "use it",
    Judgement.SEEMS_TO_WORK: "use it, and watch",
    Judgement.UNDECIDED: "tried, but what came of it is too little or too mixed to say",
    Judgement.SEEMS_TO_FAIL: "look for another way",
    Judgement.FAILS: "avoid it",
    Judgement.UNKNOWN: "unknown: no verdict on anything like it",
}
_OUTLOOK = {
    **_ADVICE,
    Judgement.SEEMS_TO_WORK: "such tasks succeed more often than not",
    Judgement.SEEMS_TO_FAIL: "such tasks fail more often than not; look for another way",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known: the expected rate, where it lies, the evidence, and what it amounts to."""

    score: float
    interval: Interval
    counts: Tally
    judgement: Judgement
    others: float = 0.0
    """The trials that a strategy is compared with."""
    records: tuple[StrategyRecord, ...] = ()
    lately: float | None = None
    """The rate of now, where that has changed."""


def assess(
    room: Room, *, strategy: object, context: object, agent: object, task_type: object = None, user_id: object = None
) -> Assessment:
    """Returns how likely a strategy is to succeed in a context, or a task whatever is tried."""
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    redacted = room.store.redaction.value
    task = redacted(args.checked_text(context, "context"))
    way = redacted(args.optional_text(strategy, "strategy"))
    kind, user = redacted(args.optional_label(task_type, "task_type")), args.optional_name(user_id, "user_id")
    asked = asking(room, reader=reader, task=task, task_type=kind, user_id=user)
    also = [] if way is None else [(way, room.store.texts.query(matched_text(way), room.project))]
    with advised(room, asked, also=also) as consulted:
        known = _of_task(consulted) if way is None else _of_strategy(room, consulted, reader, way)
    advice = _OUTLOOK[known.judgement] if way is None else _advice(known)
    return Assessment(
        agent=reader,
        strategy=way,
        context=task,
        confidence_score=known.score,
        interval=ranged(known.interval),
        trials=known.counts.trials,
        successes=known.counts.successes,
        verdict=known.judgement,
        recommendation=advice,
        summary=_summary(known, advice),
        records=known.records,
        hint=hint_of_agent(room, reader, task, user) if known.judgement is Judgement.UNKNOWN else None,
    )


def _of_task(known: Consulted) -> _Known:
    """The rate of success on such tasks whatever is tried: that of the same task where it was tried, drawn to that of like ones."""
    counts = known.side.counts.rows[known.cells]
    is_own = known.near.is_own[known.side.places.rows[known.cells, 0]]
    weights = known.cell_weights * np.where(is_own, 1.0, design_weights(counts[:, 1], np.full(len(counts), ALIKE)))
    own, like = (
        Tally(float((weights * counts[:, 0])[part].sum()), float((weights * counts[:, 1])[part].sum()))
        for part in (is_own, ~is_own)
    )
    towards = _drawn(like, known.advice.base)
    if own.trials:
        return _whole_task(own, _drawn(own, towards))
    return _whole_task(like, towards)


def _whole_task(counts: Tally, score: float) -> _Known:
    if counts.trials < LEAST_TRIALS:
        return _Known(score, Interval(0.0, 1.0), counts, Judgement.UNKNOWN)
    around = counts.interval()
    judgement = Judgement.UNDECIDED
    if around.lower > EVEN:
        judgement = Judgement.SEEMS_TO_WORK
    elif around.upper < EVEN:
        judgement = Judgement.SEEMS_TO_FAIL
    return _Known(score, around, counts, judgement)


def _of_strategy(room: Room, known: Consulted, reader: str, strategy: str) -> _Known:
    row = known.texts.index(strategy)
    advice, standings = known.advice, Standings(known, needed_by(room, reader))
    counts = Tally(float(advice.successes[row]), float(advice.trials[row]))
    score = float(advice.expected[row])
    if counts.trials < LEAST_TRIALS:
        return _Known(score if known.side.held else EVEN, Interval(0.0, 1.0), counts, Judgement.UNKNOWN)
    counts = counts_of(known, row)  # those of its row in the table, so that the two agree
    _, works, fails = standings.of(row)
    lately = rate_lately(advice, row)
    judgement = verdict_of(works, fails, trials=counts.trials, lately=lately)
    maker = RecordMaker(known, standings, reader=reader)
    records = tuple(maker.record(shown) for shown in shown_rows(known) if known.same[row, shown] >= SAME_WAY)
    around = Interval(float(advice.lower[row]), float(advice.upper[row]))
    return _Known(score, around, counts, judgement, float(advice.others[row]), records, lately)


def _drawn(counts: Tally, towards: float) -> float:
    return (counts.successes + PRIOR_TRIALS * towards) / (counts.trials + PRIOR_TRIALS)


def _advice(known: _Known) -> str:
    """Returns what to do with a strategy."""
    return relative_only(known.judgement, known.counts.rate, others=known.others) or _ADVICE[known.judgement]


def _summary(known: _Known, advice: str) -> str:
    if known.judgement is Judgement.UNKNOWN:
        return advice
    counts = Tally(round(known.counts.successes, 1), round(known.counts.trials, 1))
    around = bounds(known.interval.lower, known.interval.upper, is_changed=known.lately is not None)
    return f"{known.judgement}: {counted(counts)} ({around}), expected {known.score:.0%}; {advice}"
