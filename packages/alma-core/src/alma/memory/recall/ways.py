"""Ways that were tried, as every surface shows them: one row of a table, one record, one set of counts."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from alma.memory.outcome_projection import View, task_key
from alma.memory.room import Room
from alma.memory.rules import Records, Rule
from alma.text import matched_text, spelt
from alma.types.identity import from_micros
from alma.types.strategies import Judgement, Range, StrategyRecord
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


def record_of(
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
        yield record_of(row, rule, reader=reader, doubt=records.doubt_of(row), is_of_steps=is_of_steps, similarity=asked)


def found_record(
    view: View, action: str, question: Question, *, reader: str, is_of_steps: bool = False
) -> tuple[StrategyRecord, Found, Rule | None] | None:
    """Returns the record of the way that an action belongs to, with its row as it was found; `None` where it was not tried."""
    found = view.tried.find(action, replace(question, of_steps=is_of_steps))
    if found is None:
        return None
    rule = Records(view).rule_of(found.row, is_of_steps=is_of_steps)
    rule = None if rule is None or rule.is_archived else rule
    record = record_of(
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


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Best first, at most `most`: by the expected rate, then by trials; or by its upper bound to explore. Ties by the hash of the strategy,
    with the seed if there is one, so that the order of two rows does not depend on which others are compared."""

    explore: bool = False
    seed: int | None = None
    most: int = sys.maxsize

    def key(self, row: StrategyRecord) -> tuple[float, int, bytes]:
        """Returns the key that records are sorted by."""
        return (*self._value(row), tie_of(row.strategy, self.seed))

    def ordered(self, rows: Sequence[StrategyRecord]) -> list[StrategyRecord]:
        """Returns the first ones of rows, the best one with the probability with which it was chosen among its equals."""
        found = sorted(rows, key=self.key)[: self.most]
        if not found:
            return []
        equals = sum(self._value(row) == self._value(found[0]) for row in rows)
        chance = 1.0 if self.seed is None else 1 / equals
        return [found[0].model_copy(update={"propensity": chance}), *found[1:]]

    def _value(self, row: StrategyRecord) -> tuple[float, int]:
        rate = row.interval.upper if self.explore else row.expected
        return -round(rate, 9), 0 if self.explore else -row.trials  # sums of floats in another order are equal


def tie_of(way: str, seed: int | None = None) -> bytes:
    """Returns the key by which equally good ways are sorted."""
    return sha256((way if seed is None else f"{seed} {way}").encode()).digest()


def best_first(row: Row) -> tuple[float, int, bytes]:
    """Returns the key of a row in the order of `RowOrder()`."""
    return -round(row.mean, 9), -row.trials, tie_of(row.way)
