"""Finds what the journal has of purged memories in retired rows: those of former versions, which no table holds any more."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from alma.journal import RETIRED_COLUMN, RETIRED_TABLE, Change, entity
from alma.storage.relational.purging import REPORT, Log, Words, written

_CLASS_CHARS = 17
"""Characters that ids of retired rows on the same task have in common."""


def retired_with(log: Log, named: Collection[str], words: Words) -> set[str]:
    """Returns the retired rows that the journal has of purged memories: counts of their tasks, and learned rules that rest on these or quote them.
    They are in no table, so what they say of others is lost without harm."""
    linked = {row[RETIRED_COLUMN] for name in named for row in log.rows(name) if row.get(RETIRED_COLUMN)}
    linked |= {one["counts"] for one in _imported_counts(log) if one["id"] in named}
    starts = tuple(entity(RETIRED_TABLE, key[:_CLASS_CHARS]) for key in linked)
    counts = {key for key in log.keys(f"{RETIRED_TABLE}/") if key.startswith(starts)} if starts else set[str]()
    rows = [row for key in counts for row in log.rows(key)]
    for row in rows:
        words.note(row)
    rules = {rule for row in rows for column in ("heuristic", "anti_pattern") if (rule := row.get(column))}
    return counts | {rule for rule in _retired_rules(log) if rule in rules or _quotes(log, rule, words.all())}


def _upgrade_changes(log: Log) -> Iterator[Change]:
    """Yields the changes by which a former version was upgraded."""
    for seq in log.seqs(REPORT):
        yield from log.changes(seq)


def _retired_rules(log: Log) -> Iterator[str]:
    """Yields the ids of learned rules that were rows in former versions."""
    return (change.key for change in _upgrade_changes(log) if change.table == "memory" and change.after is None)


def _imported_counts(log: Log) -> Iterator[Mapping[str, Any]]:
    """Yields the reports of stated rules that counts without an outcome became."""
    reports = (
        change.after["body"] for change in _upgrade_changes(log) if entity(change.table, change.key) == REPORT and change.after
    )
    return (one for report in reports for one in report["imported"] if "counts" in one)


def _quotes(log: Log, rule: str, texts: Collection[str]) -> bool:
    rows = "\n".join(map(written, log.rows(rule)))
    return any(written(text)[1:-1] in rows for text in texts)
