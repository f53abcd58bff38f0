"""Evidence that a former version stored, by class of tasks, is made anew from the outcomes when its store is opened."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from alma import ALMA, ConflictError
from alma.journal import Change
from alma.storage.relational.evidence import evidence_row
from alma.storage.relational.store_values import RELEARN, note_checksum
from alma.storage.sqlite.session import Connection
from alma.storage.sqlite.store import SQLStorage
from alma.types.evidence import NO_STRATEGY, Evidence, class_id, evidence_id, text_key
from alma.types.identity import to_micros
from facade import ManualClock, OpenStore, refused
from learned import anti_patterns, counts, evidence, heuristics

pytestmark = pytest.mark.not_on("file", "postgres", reason="begins with a file of an older version, which only SQLite has")

CLASS = "type:deploy"
WORKS, FAILS = "blue-green", "rolling update"
TRIED = (
    *(("Deploy the auth service", WORKS, "success"),) * 3,
    ("Deploy the mail service", WORKS, "success"),
    *(("Deploy the auth service", FAILS, "failure"),) * 2,
    ("Deploy the mail service", FAILS, "failure"),
    ("Deploy the tax service", WORKS, "success"),
    ("Deploy the tax service", "", "unverified"),
    ("Deploy the cart service", WORKS, "success"),
)


def known(alma: ALMA) -> dict[str, object]:
    """What is counted, by id; which rules rest on it is another matter."""
    return {
        one.id: (one.task, one.strategy, one.lifetime, one.operative, one.unverified, one.observed_at, one.reasons)
        for one in evidence(alma)
    }


def rules(alma: ALMA) -> list[tuple[str, str]]:
    return sorted((rule.id, rule.text) for rule in (*heuristics(alma), *anti_patterns(alma)))


def head(alma: ALMA) -> int:
    return alma.get_stats().journal_records


def learn_all(alma: ALMA, clock: ManualClock) -> None:
    for task, strategy, outcome in TRIED:
        alma.learn("dev", task, outcome, strategy or None, task_type="deploy", error_message="the disk is full")
        clock.advance(hours=1)


def _former(strategy: str, **rule: str | None) -> Evidence:
    """Evidence as it was stored: of all tasks of a type together. Its counts are wrong, so that they would be seen."""
    hashed = text_key(strategy) if strategy else NO_STRATEGY
    task = None if strategy else TRIED[0][0]
    return Evidence(evidence_id("dev", CLASS, hashed), "dev", CLASS, hashed, strategy, unverified=99, task=task, **rule)  # type: ignore[arg-type]


def make_former(alma: ALMA, folder: Path) -> None:
    """Gives the store the evidence of a former version: a row for the class as a whole, and one for each strategy. Closes it."""
    rows = {(stored.table, stored.key): stored.row for stored in alma._room.project.rows() if stored.row}
    now = {key: row for (table, key), row in rows.items() if table == "evidence"}
    (works,), (fails,) = heuristics(alma), anti_patterns(alma)
    status = {row[kind]: row[f"{kind}_status"] for row in now.values() for kind in ("heuristic", "anti_pattern") if row[kind]}
    former = [
        _former(""),
        _former(WORKS, heuristic=works.id, heuristic_status=status[works.id]),
        _former(FAILS, anti_pattern=fails.id, anti_pattern_status=status[fails.id]),
    ]
    changes = [Change("evidence", key, dict(row), None) for key, row in now.items()]
    changes += [Change("evidence", one.id, None, evidence_row(one)) for one in former]
    for (table, key), row in rows.items():
        if table == "memory" and row["evidence"]:
            strategy = {works.id: WORKS, fails.id: FAILS}.get(key, row["body"].get("strategy_used"))
            hashed = text_key(strategy) if strategy else NO_STRATEGY
            changes.append(Change("memory", key, {"evidence": row["evidence"]}, {"evidence": class_id("dev", CLASS) + hashed}))
    with alma._room.project.write(actor="dev", operation="learn", at=to_micros(alma._room.store.clock())) as write:
        write.apply(changes)
    alma.close()
    with closing(sqlite3.connect(folder / "store" / "alma.db", factory=Connection)) as connection, connection:
        connection.execute("INSERT INTO store (key, value) VALUES (?, ?)", (RELEARN, json.dumps(["shop"])))
        note_checksum(connection)


@pytest.fixture
def made(open_store: OpenStore, clock: ManualClock, tmp_path: Path) -> tuple[dict[str, object], list[tuple[str, str]], int]:
    """What was known before the store was given former evidence, its rules, and the number of its records."""
    alma = open_store()
    learn_all(alma, clock)
    before = known(alma), rules(alma), head(alma) + 1
    make_former(alma, tmp_path)
    return before


Made = tuple[dict[str, object], list[tuple[str, str]], int]


def test_it_is_counted_by_task_and_strategy_and_rules_keep_their_ids(open_store: OpenStore, made: Made) -> None:
    alma = open_store()
    counted, rules_before, records = made

    assert known(alma) == counted
    assert rules(alma) == rules_before
    assert head(alma) == records + 1
    assert alma.verify().problems == ()
    resting = {one.heuristic or one.anti_pattern for one in evidence(alma)} - {None}
    assert resting == {rule for rule, _ in rules_before}


def test_it_is_learned_on_and_shown_as_if_it_had_always_been_so(open_store: OpenStore, made: Made) -> None:
    alma = open_store()
    alma.learn("dev", "Deploy the cart service", "success", WORKS, task_type="deploy")

    shown = alma.retrieve("Deploy the shop", "dev", task_type="deploy")
    assert [(rule.strategy, rule.success_count) for rule in shown.heuristics] == [(WORKS, 7)]
    assert [(rule.pattern, rule.occurrence_count) for rule in shown.anti_patterns] == [(FAILS, 3)]
    assert rules(alma) == made[1]
    assert alma.verify().problems == ()


def test_undo_across_it_is_a_conflict_and_undo_after_it_is_not(open_store: OpenStore, made: Made) -> None:
    alma = open_store()
    relearned = head(alma)
    with refused(alma, ConflictError, f"undo to {relearned} or later"):
        alma.undo(relearned - 1)
    with refused(alma, ConflictError, "made the evidence of a former version anew"):
        alma.undo(0, actor="dev")
    before = alma.content_hash()
    alma.learn("dev", "Deploy the cart service", "failure", WORKS, task_type="deploy")
    alma.undo(relearned)
    assert alma.content_hash() == before
    assert known(alma) == made[0]
    assert alma.verify().problems == ()


def test_a_second_open_does_nothing(open_store: OpenStore, made: Made) -> None:
    first = open_store()
    records, content = head(first), first.content_hash()
    first.close()
    again = open_store()

    assert (head(again), again.content_hash()) == (records, content)
    assert again._store.storage.to_relearn() == []
    assert again.verify().ok


@pytest.mark.parametrize("where", ["note_relearned", "project"])
def test_a_crash_before_it_is_noted_does_no_harm(open_store: OpenStore, made: Made, mocker: MockerFixture, where: str) -> None:
    mocker.patch.object(SQLStorage, where, side_effect=RuntimeError("the power went"))
    with pytest.raises(RuntimeError, match="the power went"):
        open_store()
    mocker.stopall()
    alma = open_store()

    assert known(alma) == made[0]
    assert rules(alma) == made[1]
    assert head(alma) == made[2] + 1
    assert alma._store.storage.to_relearn() == []
    assert alma.verify().problems == ()


def test_a_store_whose_evidence_is_by_task_already_is_left_as_it_is(
    open_store: OpenStore, clock: ManualClock, tmp_path: Path
) -> None:
    alma = open_store()
    learn_all(alma, clock)
    records, content, counted = head(alma), alma.content_hash(), counts(alma)
    alma.close()
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", factory=Connection)) as connection, connection:
        connection.execute("INSERT INTO store (key, value) VALUES (?, ?)", (RELEARN, json.dumps(["shop"])))
        note_checksum(connection)
    alma = open_store()

    assert (head(alma), alma.content_hash(), counts(alma)) == (records, content, counted)
    assert alma.verify().ok


@pytest.mark.parametrize(
    "damage", ["UPDATE memory SET body = x'7b' WHERE row = 1", "UPDATE passage SET text = x'ff' WHERE memory = 1"]
)
def test_a_damaged_outcome_keeps_no_store_from_opening_and_it_is_tried_again_when_it_is_mended(
    open_store: OpenStore, made: Made, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "store" / "alma.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        table, column = damage.split()[1], damage.split()[3]
        where = damage.partition("WHERE")[2]
        (sound,) = connection.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
        connection.execute(damage)
    alma = open_store()
    assert not alma.verify().ok
    assert alma._store.storage.to_relearn() == ["shop"]  # type: ignore[attr-defined] # SQLite's
    alma.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (sound,))
    alma = open_store()
    assert (known(alma), rules(alma)) == made[:2]
    assert alma.verify().ok


def test_two_that_open_it_at_once_make_it_anew_once(open_store: OpenStore, made: Made, mocker: MockerFixture) -> None:
    """The other one makes it anew between what this one reads and what it writes."""
    from alma.memory.learn import ledger_migration

    read = ledger_migration._former
    others: list[ALMA] = []

    def meanwhile(room: object) -> object:
        found = read(room)  # type: ignore[arg-type] # as it is called
        if not others:
            others.append(None)  # type: ignore[arg-type] # so that the other one is not interrupted too
            others.append(open_store())
        return found

    mocker.patch.object(ledger_migration, "_former", meanwhile)
    alma = open_store()
    assert (known(alma), rules(alma)) == made[:2]
    assert [entry.operation for entry in alma._room.project.entries()].count("relearn") == 1
    assert alma.verify().ok
