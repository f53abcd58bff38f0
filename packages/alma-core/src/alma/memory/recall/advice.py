"""The table of ways tried, as a person or an agent asks for it, and how likely a way or a task is to succeed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.outcome_projection import View
from alma.memory.recall.ways import found_record, make_strategy_record, question_of, records_in, tie_of
from alma.memory.room import Room
from alma.memory.rules import Records
from alma.types.identity import from_micros
from alma.types.sentences import times
from alma.types.strategies import Assessment, Judgement, Range, StrategyRecord, StrategyTable
from alma_learning import ALIKE, Question, Table, interval

MOST_AMONG = 100
LARGEST_SEED = 2**64 - 1

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


def strategies(
    room: Room,
    task: str | None = None,
    agent: str | None = None,
    *,
    task_type: str | None = None,
    user_id: str | None = None,
    among: Sequence[str] | None = None,
    explore: bool = False,
    seed: int | None = None,
    include_steps: bool = False,
    limit: int = 20,
) -> StrategyTable:
    """Returns the record of the strategies tried for tasks like this one, of a type, or at all: the highest `expected` rate of
    success first.

    `among` names the strategies to compare, tried or not. `explore` orders by the upper bound of the rate instead. Ties are broken at
    random by `seed` (0 to 2⁶⁴ − 1), else always alike. Attempts of agents that share with this one count half; rows that rest only on these have
    `shared_from`. `include_steps` adds what single steps of episodes tried. The newest 16,384 outcomes that may be read count, and
    of their tasks the newest 4,096.
    """
    reader = args.checked_name(agent, "agent")
    redacted = room.store.redaction.value
    text = None if task is None else redacted(args.checked_text(task, "task"))
    kind = redacted(args.optional_label(task_type, "task_type"))
    most = args.checked_count(limit, "limit")
    given = redacted(_checked_among(among))
    drawn = None if seed is None else args.checked_count(seed, "seed", least=0, largest=LARGEST_SEED)
    user = args.optional_name(user_id, "user_id")
    question = question_of(room, text, kind)
    with room.projections.of(room.scopes.readable(agent=reader, user_id=user), reader=reader, user=user) as view:
        unnamed = None
        if given:
            rows = [_record_of_named(view, way, question, reader) for way in given]
        else:
            records, asked = Records(view), text is not None
            tables = [
                (sort, view.tried.table(replace(question, of_steps=sort))) for sort in (False, True)[: 1 + bool(include_steps)]
            ]
            rows = [
                row
                for sort, table in tables
                for row in records_in(table, records, reader=reader, is_of_steps=sort, similarity=asked)
            ]
            if (alone := tables[0][1].unnamed) is not None:
                unnamed = make_strategy_record(alone, None, reader=reader, doubt=records.doubt_of(alone)).line(None)
    ordered = _order_rows(rows, most, explore=bool(explore), seed=drawn)
    hint = None
    if not any(row.trials or row.unverified for row in ordered):
        hint = unnamed or room.scopes.hint(reader, text or "", user)
    return StrategyTable(agent=reader, task=text, rows=tuple(ordered), hint=hint)


def _checked_among(among: object) -> list[str]:
    if among is None:
        return []
    if isinstance(among, str):
        raise ValidationError("among must be a list of strategies, not one text")
    given = [args.checked_text(way, "among") for way in args.checked_items(among, "among")]
    if len(given) > MOST_AMONG:
        raise ValidationError(f"among holds {len(given)} strategies; at most {MOST_AMONG} can be compared at once")
    return list(dict.fromkeys(given))


def _record_of_named(view: View, way: str, question: Question, reader: str) -> StrategyRecord:
    """Returns the record of a way, under the name that it was asked by. One that was never tried on such tasks has no trials: it may do as the
    agent usually does."""
    found = found_record(view, way, question, reader=reader)
    if found is not None and not found[0].elsewhere:
        return found[0].model_copy(update={"strategy": way})
    return StrategyRecord(
        strategy=way,
        agent=reader,
        trials=0,
        successes=0,
        rate=0.5,
        expected=view.tried.table(question).base,
        interval=Range(lower=0.0, upper=1.0),
        last_used=from_micros(0),
        verdict=Judgement.UNKNOWN,
    )


def _order_rows(rows: Sequence[StrategyRecord], most: int, *, explore: bool, seed: int | None) -> list[StrategyRecord]:
    """Returns the first rows, best first: by the expected rate, then by trials; or by its upper bound to explore. Ties are broken by the hash of
    the strategy, with the seed if there is one. The best row has the probability with which it was chosen among its equals."""

    def value(row: StrategyRecord) -> tuple[float, int]:
        rate = row.interval.upper if explore else row.expected
        return -round(rate, 9), 0 if explore else -row.trials  # sums of floats in another order are equal

    found = sorted(rows, key=lambda row: (value(row), tie_of(row.strategy, seed)))[:most]
    if not found:
        return []
    chance = 1.0 if seed is None else 1 / sum(value(row) == value(found[0]) for row in rows)
    return [found[0].model_copy(update={"propensity": chance}), *found[1:]]


def assess(
    room: Room,
    strategy: str | None = None,
    context: str = "",
    agent: str = "",
    *,
    task_type: str | None = None,
    user_id: str | None = None,
) -> Assessment:
    """Returns how likely a strategy is to succeed in a context, from the record of like tasks and of those of the same `task_type`;
    without a strategy, how likely the task is to succeed whatever is tried. Where nothing is known the verdict is "unknown"."""
    reader = args.checked_name(agent, "agent")
    redacted = room.store.redaction.value
    task = redacted(args.checked_text(context, "context"))
    way = redacted(args.optional_text(strategy, "strategy"))
    kind, user = redacted(args.optional_label(task_type, "task_type")), args.optional_name(user_id, "user_id")
    question = question_of(room, task, kind)
    with room.projections.of(room.scopes.readable(agent=reader, user_id=user), reader=reader, user=user) as view:
        if way is None:
            table = view.tried.table(question)
            rows = tuple(records_in(table, Records(view), reader=reader))
            known, said = _assess_task(table, rows) if table.trials else (_UNKNOWN, "")
        else:
            found = found_record(view, way, question, reader=reader)
            known, said = (_UNKNOWN, "") if found is None else _assess_strategy(found[0])
    verdict = known["verdict"]
    advice = (_OUTLOOK if way is None else _ADVICE)[verdict]
    return Assessment(
        agent=reader,
        strategy=way,
        context=task,
        recommendation=advice,
        summary=f"{verdict}: {said}; {advice}" if said else advice,
        hint=room.scopes.hint(reader, task, user) if verdict is Judgement.UNKNOWN else None,
        **known,
    )


_UNKNOWN: dict[str, Any] = {
    "confidence_score": EVEN,
    "interval": Range(lower=0.0, upper=1.0),
    "trials": 0,
    "successes": 0,
    "verdict": Judgement.UNKNOWN,
    "records": (),
}


def _assess_task(table: Table, rows: tuple[StrategyRecord, ...]) -> tuple[dict[str, Any], str]:
    """Returns the rate of success on such tasks whatever is tried, and says it. Of a task that was tried before its own runs weigh beside it,
    each whole; a trial of another counts by how independent it is (the design effect of clusters of equal size)."""
    wholes, parts, runs = table.own
    own, worth = wholes + parts / 2, table.successes + table.partials / 2
    retries = max(table.trials / max(table.tasks, 1), 1.0)
    share = 1 / (1 + ALIKE * (retries - 1))
    lower, upper = interval(own + share * (worth - own), runs + share * (table.trials - runs))
    kind = (worth + PRIOR_TRIALS * table.base) / (table.trials + PRIOR_TRIALS)
    score = (own + PRIOR_TRIALS * kind) / (runs + PRIOR_TRIALS)
    verdict = Judgement.UNDECIDED
    if lower > EVEN:
        verdict = Judgement.SEEMS_TO_WORK
    elif upper < EVEN:
        verdict = Judgement.SEEMS_TO_FAIL
    in_part = f", {table.partials} in part" if table.partials else ""
    said = f"worked {table.successes} of {times(table.trials)} ({table.tasks} task{'' if table.tasks == 1 else 's'}{in_part})"
    if 0 < runs < table.trials:
        said += f", this very task {wholes} of {times(runs)}"
    return {
        "confidence_score": score,
        "interval": Range(lower=min(lower, score), upper=max(upper, score)),
        "trials": table.trials,
        "successes": table.successes,
        "verdict": verdict,
        "records": rows,
    }, said


def _assess_strategy(record: StrategyRecord) -> tuple[dict[str, Any], str]:
    return {
        "confidence_score": record.expected,
        "interval": record.interval,
        "trials": record.trials,
        "successes": record.successes,
        "verdict": record.verdict,
        "records": (record,),
    }, record.record(None)
