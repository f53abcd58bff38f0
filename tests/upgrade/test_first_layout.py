"""A store that a former version wrote opens with all that it held, also after a kill in the middle of being brought up to date."""

import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from killed import kill_while_opening
from stores import rows

FIRST_LAYOUT = Path(__file__).parent / "data" / "first_layout.sql"
KEPT = "SELECT id, agent, body, seen_at, created_at, archived_at FROM memory WHERE confidence = 1 ORDER BY id"
OLD_JOURNAL = "SELECT seq, at, actor, operation, payload, hash FROM journal WHERE seq <= 8 ORDER BY seq"


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The folder of a store as the former version left it."""
    with closing(sqlite3.connect(tmp_path / "alma.db")) as connection:
        connection.executescript(FIRST_LAYOUT.read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode=WAL")
    return tmp_path


def opened(folder: Path) -> ALMA:
    return ALMA.open(folder, project_id="shop", clock=lambda: datetime(2026, 9, 2, tzinfo=UTC))


def counted(alma: ALMA) -> dict[str, tuple[float, float]]:
    return {row.strategy: (row.trials, row.successes) for row in alma.strategies(task_type="deploy", agent="ops")}


def held(path: Path) -> list[list[tuple[Any, ...]]]:
    """What the upgrade leaves as it was: memories that were not learned, and the journal."""
    return [rows(path, query) for query in (KEPT, OLD_JOURNAL)]


def test_a_store_of_the_first_layout_opens_with_all_that_it_held(former: Path) -> None:
    before = held(former / "alma.db")
    with opened(former) as alma:
        assert alma.verify().ok
        assert held(former / "alma.db") == before
        assert [len(found) for found in before] == [7, 8]
        assert counted(alma) == {"blue-green": (3, 3), "rolling": (2, 0)}
        assert [warning.anti_pattern.pattern for warning in alma.check("ops", "rolling").warnings] == ["rolling"]
        assert [rule.strategy for rule in alma.retrieve("Deploy auth", "ops", task_type="deploy").heuristics] == ["blue-green"]
        assert alma.retrieve("订单", "dba", arms=["text"]).total_items == 1


def test_its_learning_and_its_history_go_on(former: Path) -> None:
    with opened(former) as alma:
        head = alma.stats().journal_records
        learned = alma.learn("ops", "Deploy auth", "success", "blue-green", task_type="deploy")
        assert counted(alma)["blue-green"] == (4, 4)
        alma.undo(to=head)
        assert learned.id not in [memory.id for memory in alma.list_memories()]
        assert counted(alma)["blue-green"] == (3, 3)
        (archived,) = rows(former / "alma.db", "SELECT id FROM memory WHERE archived_at IS NOT NULL")
        assert [entry.operation for entry in alma.history(archived[0])] == ["add_domain_knowledge", "forget"]
        alma.export(former / "shop.jsonl")
        with ALMA.open(former / "again", project_id="shop", embedding_provider="hash", embedding_dim=16) as again:
            again.import_from(former / "shop.jsonl")
            assert (again.content_hash(), again.verify().ok) == (alma.content_hash(), True)


def test_damage_to_a_vector_stays_damage(former: Path) -> None:
    with closing(sqlite3.connect(former / "alma.db", isolation_level=None)) as connection:
        connection.execute("UPDATE vector SET vector = zeroblob(32) WHERE row = (SELECT max(row) FROM vector)")
    with opened(former) as alma:
        (problem,) = alma.verify().problems
    assert problem.what.startswith("was changed")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("statements", [20, 60, 100, 140, 170])
def test_an_upgrade_that_was_killed_is_done_by_the_next_opening(former: Path, statements: int) -> None:
    before = held(former / "alma.db")
    kill_while_opening(former, statements=statements)
    with opened(former) as alma:
        assert alma.verify().ok
        assert held(former / "alma.db") == before
        assert counted(alma) == {"blue-green": (3, 3), "rolling": (2, 0)}
