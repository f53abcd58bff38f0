"""Ways that were tried, as every surface shows them: one row of a table, one record, one set of counts; and the rules among them.

`rules_near` is the step of a retrieval that reads them: rows for the prompt, and the rules among these as memories.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from alma import scoring
from alma.memory.outcome_projection import View, task_key
from alma.memory.recall.query import Query
from alma.memory.room import Room
from alma.memory.rules import Records, Rule, as_memory
from alma.text import matched_text, normalised, spelt
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern, Heuristic
from alma.types.strategies import NO_USE, Judgement, Range, StrategyRecord
from alma_learning import Found, Question, Row, Side, Status, Table

_VERDICTS: Mapping[tuple[Side, bool], Judgement] = {
    (Side.WORKS, True): Judgement.WORKS,
    (Side.WORKS, False): Judgement.SEEMS_TO_WORK,
    (Side.FAILS, True): Judgement.FAILS,
    (Side.FAILS, False): Judgement.SEEMS_TO_FAIL,
}


def question_of(room: Room, task: str | None, task_type: str | None) -> Question:
    """Returns a question as the projection takes it. Without a task and a type it is about all that was tried."""
    if task is None:
        return Question(task_type=_label(task_type))
    vector = room.store.texts.query(matched_text(task), room.project)
    return Question(text=task, task=task_key(task), task_type=_label(task_type), vector=vector)


def verdict_of(row: Row) -> Judgement:
    """Returns what a row amounts to, in a word or two."""
    if not row.trials:
        return Judgement.UNDECIDED
    return _VERDICTS.get((row.side, row.status is Status.PROVEN), Judgement.UNDECIDED)


MOST_OUTCOMES = 100
"""Outcomes that a record names."""


def make_strategy_record(
    row: Row,
    rule: Rule | None,
    *,
    reader: str,
    doubt: str | None = None,
    is_of_steps: bool = False,
    is_elsewhere: bool = False,
    similarity: float | None = None,
) -> StrategyRecord:
    """Returns the row of a table as the record that is shown. `rule` is the rule that it is, `None` where it is none or was archived."""
    shared = row.agents[0] if reader not in row.agents else None
    side = row.side if rule is not None else Side.TRIED
    shown = tuple(one for one in row.outcomes if one not in row.hidden) if row.hidden else row.outcomes
    return StrategyRecord(
        id=(shown or row.outcomes)[0] if rule is None else rule.id,
        strategy=row.way,
        wordings=row.wordings,
        task=row.task_text or "",
        agent=row.agents[0],
        trials=row.trials,
        successes=row.successes,
        partials=row.partials,
        unverified=row.unverified,
        tasks=row.tasks,
        last_run=row.last_run,
        lately=row.lately,
        rate=(row.successes + row.partials / 2) / row.trials if row.trials else 0.5,
        expected=row.mean,
        interval=Range(lower=row.lower, upper=row.upper),
        recent_rate=row.recent,
        last_used=from_micros(row.last_at),
        rule=str(side),
        status=str(row.status) if rule is not None and row.status else None,
        verdict=verdict_of(row),
        heuristic_id=rule.id if rule is not None and side is Side.WORKS else None,
        anti_pattern_id=rule.id if rule is not None and side is Side.FAILS else None,
        why_bad=row.error,
        better_alternative=None if row.alternative is None or side is not Side.FAILS else row.alternative.way,
        shared_from=shared,
        similarity=similarity,
        is_of_steps=is_of_steps,
        elsewhere=is_elsewhere,
        flagged=doubt,
        outcome_ids=shown[:MOST_OUTCOMES],
    )


def rows_with_rules(table: Table, records: Records, *, is_of_steps: bool = False) -> Iterator[tuple[Row, Rule | None, float]]:
    """Yields the rows of a table in its order, each with its rule if it is one that no caller archived, and with its similarity."""
    for row, similarity in zip(table.rows, table.similarities, strict=True):
        rule = records.rule_of(row, is_of_steps=is_of_steps)
        yield row, None if rule is None or rule.is_archived else rule, similarity


def records_in(
    table: Table, records: Records, *, reader: str, is_of_steps: bool = False, similarity: bool = True
) -> Iterator[StrategyRecord]:
    """Yields the rows of a table in its order, each as a record."""
    for row, rule, near in rows_with_rules(table, records, is_of_steps=is_of_steps):
        asked = near if similarity else None
        yield make_strategy_record(
            row, rule, reader=reader, doubt=records.doubt_of(row), is_of_steps=is_of_steps, similarity=asked
        )


def found_record(
    view: View, action: str, question: Question, *, reader: str, is_of_steps: bool = False
) -> tuple[StrategyRecord, Found, Rule | None] | None:
    """Returns the record of the way that an action belongs to, with its row as it was found; `None` where it was not tried."""
    found = view.tried.find(action, replace(question, of_steps=is_of_steps))
    if found is None:
        return None
    rule = Records(view).rule_of(found.row, is_of_steps=is_of_steps)
    rule = None if rule is None or rule.is_archived else rule
    record = make_strategy_record(
        found.row,
        rule,
        reader=reader,
        doubt=view.doubt_of(found.row.outcomes),
        is_of_steps=is_of_steps,
        is_elsewhere=found.is_elsewhere,
        similarity=None if question.text is None else found.similarity,
    )
    return record, found, rule


def _label(text: str | None) -> str | None:
    return None if text is None else spelt(text)


MOST_WAYS, MOST_FAILING = 8, 3
"""Rows that a prompt shows, and of these the rows of ways that fail."""


@dataclass(frozen=True, slots=True)
class ShownRule:
    """A rule that is shown, as a memory, with its score and the factors behind it."""

    memory: Heuristic | AntiPattern
    score: float
    factors: Mapping[str, float]
    usefulness: float


@dataclass(frozen=True, slots=True)
class RulesNear:
    """The ways that a slice shows: rows in the order of a prompt, and the rules among them in the same order."""

    rows: tuple[StrategyRecord, ...] = ()
    rules: tuple[ShownRule, ...] = ()
    near: frozenset[str] = frozenset()
    """Ids of the given outcomes that are of tasks like the one asked about."""


_Tried = tuple[Row, Rule | None, float, bool]
"""A row, the rule that it is, its similarity, and True for a row of single steps."""


def rules_near(room: Room, query: Query, outcomes: Collection[str]) -> RulesNear:
    """Returns what was tried on tasks like the one asked about, the best first, what fails last; and which of the outcomes are of such tasks."""
    question = Question(text=query.task, task=task_key(query.task), task_type=_label(query.task_type), vector=query.vector)
    times, reader = query.times, query.reader
    if times is None:
        opened = room.projections.of(query.scope, reader=reader, user=query.user, is_shared=query.include_shared)
    else:
        opened = room.projections.among(
            query.scope, lambda one: times.includes(seen_at=one.seen_at, created_at=one.created_at), reader=reader
        )
    with opened as view:
        attempts, steps = view.tried.table(question), view.tried.table(replace(question, of_steps=True))
        records = Records(view)
        shown = _choose_rows(records, attempts, steps, query.top_k) if attempts.rows or steps.rows else []
        alone = attempts.unnamed
        if alone is not None and alone.trials > 1 and len(shown) < MOST_WAYS:
            is_told = any(alone.error == row.error for row, _, _, _ in shown)
            shown.append((replace(alone, error=None) if is_told else alone, None, attempts.nearness, False))
        rows = tuple([_make_record(records, one, reader, outcomes) for one in shown])
        near = frozenset([one for one in outcomes if attempts.holds(one) or (steps.tasks and steps.holds(one))])
    rules = tuple([_show_rule(room, query, rule, similarity) for _, rule, similarity, _ in shown if rule is not None])
    return RulesNear(rows, rules, near)


def _choose_rows(records: Records, attempts: Table, steps: Table, top_k: int) -> list[_Tried]:
    """Returns the rows of a prompt, the best first, what fails last. Of single steps these are rules only, without those whose words stand in an
    attempt that says as much: a rule of the same side, or beside a failing step an attempt that mostly worked, for where a call works at once no
    step is kept."""
    tried: list[_Tried] = [(row, rule, near, False) for row, rule, near in rows_with_rules(attempts, records) if row.trials]
    phrases = [(side, f" {normalised(row.way)} ") for row, rule, _, _ in tried for side in _sides_said(row, rule)]
    for row, rule, near in rows_with_rules(steps, records, is_of_steps=True):
        if rule is not None and not _is_said(row, phrases):
            tried.append((row, rule, near, True))
    tried.sort(key=lambda one: (-round(one[0].mean, 9), -one[0].trials, tie_of(one[0].way)))
    failing = [place for place, one in enumerate(tried) if one[1] is not None and one[0].side is Side.FAILS]
    worst = sorted(failing, key=lambda place: -tried[place][0].failures)[: min(MOST_FAILING, top_k)]
    left, others = top_k, list[_Tried]()
    for place, one in enumerate(tried):
        works = one[1] is not None and one[0].side is Side.WORKS
        if place not in failing and (left or not works) and len(others) < MOST_WAYS - len(worst):
            others.append(one)
            left -= works
    return [*others, *(tried[place] for place in sorted(worst))]


def _sides_said(row: Row, rule: Rule | None) -> set[Side]:
    """Returns the sides of single steps that an attempt speaks for."""
    sides = {row.side} if rule is not None else set()
    return sides | {Side.FAILS} if 2 * row.successes > row.trials else sides


def _is_said(step: Row, phrases: Collection[tuple[Side, str]]) -> bool:
    words = f" {normalised(step.way)} "
    return bool(words.strip()) and any(side is step.side and words in said for side, said in phrases)


def tie_of(way: str, seed: int | None = None) -> bytes:
    """Returns the key by which equally good ways are sorted, the same whichever others are compared."""
    return sha256((way if seed is None else f"{seed} {way}").encode()).digest()


def _make_record(records: Records, one: _Tried, reader: str, outcomes: Collection[str]) -> StrategyRecord:
    """Returns the record of a row. Among the outcomes that it names are all of those given that it counts."""
    row, rule, similarity, is_of_steps = one
    doubt = records.doubt_of(row)
    made = make_strategy_record(row, rule, reader=reader, doubt=doubt, is_of_steps=is_of_steps, similarity=similarity)
    if len(row.outcomes) <= len(made.outcome_ids):
        return made
    counted = set(row.outcomes).intersection(outcomes).difference(made.outcome_ids)
    ids = (*made.outcome_ids, *(one for one in row.outcomes if one in counted))
    return made.model_copy(update={"outcome_ids": ids}) if counted else made


def _show_rule(room: Room, query: Query, rule: Rule, similarity: float) -> ShownRule:
    row, use, profile = rule.row, rule.record.use, query.profile
    works = row.side is Side.WORKS
    factors = {
        "similarity": similarity,
        "recency": scoring.recency(row.last_at, query.now, profile.half_life_days),
        "success": row.mean if works else 1 - row.mean,
        "confidence": 1 - (row.upper - row.lower),
    }
    useful = scoring.usefulness(*(use[name] for name in NO_USE)) if profile.counts_usefulness and any(use.values()) else 1.0
    kind = MemoryType.HEURISTIC if works else MemoryType.ANTI_PATTERN
    score = useful * profile.score(factors, kind.value)
    return ShownRule(as_memory(room, rule, reader=query.reader), score, factors, useful)
