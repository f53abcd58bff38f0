"""What was tried, and how it went: the table that a person, or an agent, asks for."""

from collections.abc import Sequence
from dataclasses import replace

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.outcome_projection import View
from alma.memory.recall.ways import RowOrder, found_record, question_of, records_in
from alma.memory.room import Room
from alma.memory.rules import Records
from alma.memory.scopes import hint_of_agent, readable
from alma.types.identity import from_micros
from alma.types.strategies import Judgement, Range, StrategyRecord, StrategyTable
from alma_learning import Question, Table

MOST_AMONG = 100
LARGEST_SEED = 2**64 - 1


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
    `shared_from`. `include_steps` adds what single steps of episodes tried. The 4,096 cells of task and strategy of each agent that
    were used last are considered, and 128 strategies.
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
    scope = readable(room, agent=reader, user_id=user)
    with room.projections.of(scope, reader=reader, user=user) as view:
        named = [_named(view, way, question, reader) for way in given]
        rows = named or _rows(view, question, reader, include_steps=bool(include_steps))
    ordered = RowOrder(explore=bool(explore), seed=drawn, most=most).ordered(rows)
    hint = None if any(row.trials or row.unverified for row in ordered) else hint_of_agent(room, reader, text or "", user)
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


def _rows(view: View, question: Question, reader: str, *, include_steps: bool) -> list[StrategyRecord]:
    records, rows = Records(view), list[StrategyRecord]()
    for is_of_steps in (False, True) if include_steps else (False,):
        table = view.tried.table(replace(question, of_steps=is_of_steps))
        asked = question.text is not None
        found = records_in(table, records, reader=reader, is_of_steps=is_of_steps, similarity=asked)
        rows += found
    return rows


def _named(view: View, way: str, question: Question, reader: str) -> StrategyRecord:
    """The record of a way that was asked about, under the name that it was asked by; one without trials where it was never tried."""
    found = found_record(view, way, question, reader=reader)
    if found is not None and not found[0].elsewhere:
        return found[0].model_copy(update={"strategy": way})
    return untried(way, view.tried.table(question), reader)


def untried(way: str, table: Table, reader: str) -> StrategyRecord:
    """Returns the record of a way that was never tried on such tasks: it may do as the agent usually does."""
    return StrategyRecord(
        strategy=way,
        agent=reader,
        trials=0,
        successes=0,
        rate=0.5,
        expected=table.base,
        interval=Range(lower=0.0, upper=1.0),
        last_used=from_micros(0),
        verdict=Judgement.UNKNOWN,
    )
