"""How likely something is to succeed, from what is known of like tasks."""

from dataclasses import dataclass

from alma.evidence import bound_rate
from alma.memory import arguments as args
from alma.memory.argument_order import check_order
from alma.memory.recall.ways import found_record, question_of, records_in
from alma.memory.room import Room
from alma.memory.rules import Records
from alma.memory.scopes import hint_of_agent, readable
from alma.types.sentences import times
from alma.types.strategies import Assessment, Judgement, Range, StrategyRecord
from alma_learning import ALIKE, Table

EVEN = 0.5
PRIOR_TRIALS = 2.0

_ADVICE = {
    Judgement.WORKS: "use it",
    Judgement.SEEMS_TO_WORK: "use it, and watch",
    Judgement.UNDECIDED: "tried, but what came of it is too little or too mixed to say",
    Judgement.SEEMS_TO_FAIL: "look for another way",
    Judgement.FAILS: "avoid it",
    Judgement.UNKNOWN: "unknown: nothing like it was tried",
}
_OUTLOOK = {
    **_ADVICE,
    Judgement.SEEMS_TO_WORK: "such tasks succeed more often than not",
    Judgement.SEEMS_TO_FAIL: "such tasks fail more often than not; look for another way",
    Judgement.UNKNOWN: "unknown: nothing was tried on such tasks",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known: the expected rate, where it lies, whole counts, what they amount to, and in words."""

    score: float
    interval: Range
    trials: int
    successes: int
    judgement: Judgement
    said: str = ""
    records: tuple[StrategyRecord, ...] = ()


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
    question = question_of(room, task, kind)
    with room.projections.of(readable(room, agent=reader, user_id=user), reader=reader, user=user) as view:
        if way is None:
            table = view.tried.table(question)
            rows = tuple(records_in(table, Records(view), reader=reader))
            known = _of_task(table, rows)
        else:
            found = found_record(view, way, question, reader=reader)
            known = _of_strategy(None if found is None else found[0])
    advice = (_OUTLOOK if way is None else _ADVICE)[known.judgement]
    return Assessment(
        agent=reader,
        strategy=way,
        context=task,
        confidence_score=known.score,
        interval=known.interval,
        trials=known.trials,
        successes=known.successes,
        verdict=known.judgement,
        recommendation=advice,
        summary=f"{known.judgement}: {known.said}; {advice}" if known.said else advice,
        records=known.records,
        hint=hint_of_agent(room, reader, task, user) if known.judgement is Judgement.UNKNOWN else None,
    )


def _of_task(table: Table, rows: tuple[StrategyRecord, ...]) -> _Known:
    """The rate of success on such tasks whatever is tried. Of a task that was tried before its own runs weigh beside it, each whole."""
    if not table.trials:
        return _Known(EVEN, Range(lower=0.0, upper=1.0), 0, 0, Judgement.UNKNOWN)
    wholes, parts, runs = table.own
    own, worth = wholes + parts / 2, table.successes + table.partials / 2
    share = _independent_share(table)
    lower, upper = bound_rate(own + share * (worth - own), runs + share * (table.trials - runs))
    kind = (worth + PRIOR_TRIALS * table.base) / (table.trials + PRIOR_TRIALS)
    score = (own + PRIOR_TRIALS * kind) / (runs + PRIOR_TRIALS)
    judgement = Judgement.UNDECIDED
    if lower > EVEN:
        judgement = Judgement.SEEMS_TO_WORK
    elif upper < EVEN:
        judgement = Judgement.SEEMS_TO_FAIL
    in_part = f", {table.partials} in part" if table.partials else ""
    said = f"worked {table.successes} of {times(table.trials)} ({table.tasks} task{'' if table.tasks == 1 else 's'}{in_part})"
    if 0 < runs < table.trials:
        said += f", this very task {wholes} of {times(runs)}"
    interval = Range(lower=min(lower, score), upper=max(upper, score))
    return _Known(score, interval, table.trials, table.successes, judgement, said, rows)


def _independent_share(table: Table) -> float:
    """Returns how many independent trials one is worth: those of one task are alike (the design effect of clusters of equal size)."""
    retries = max(table.trials / max(table.tasks, 1), 1.0)
    return 1 / (1 + ALIKE * (retries - 1))


def _of_strategy(record: StrategyRecord | None) -> _Known:
    if record is None:
        return _Known(EVEN, Range(lower=0.0, upper=1.0), 0, 0, Judgement.UNKNOWN)
    said = f"{record.record(None)}"
    return _Known(record.expected, record.interval, record.trials, record.successes, record.verdict, said, (record,))
