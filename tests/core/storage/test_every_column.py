"""`verify` names damage in every column that any call reads. The columns come from the tables themselves, so that none can be forgotten."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Column, Table

from alma.storage import tables
from alma.storage.store import SQLStorage
from alma.types import VerifyReport
from damages import Damage, damages_of, damages_of_rows, fill_whole
from facade import ManualClock
from stores import NOW

OURS = list(tables.metadata.tables.values())
COLUMNS = [pytest.param(table, column, id=f"{table.name}.{column.name}") for table in OURS for column in table.columns]

UNREAD = {
    "migration.applied_at": "it is for people who look into the file",
    "vector.row": "it is only a mark of how far a walk through the table has come",
}
"""The columns whose content no call reads."""

HARMLESS = {
    "partition doubled": "after a purge nobody can say whose the purged memories were, so a partition without memories may be theirs",
    "vector doubled with another project": "it is the right vector of its text there as well; undoing leaves such rows too",
    "touched doubled": "the record that a memory's own row names may be listed or not",
}
"""Rows more than there were that change no answer."""

CALLED = {
    "touched": ("history of",),
    "removed": ("removed", "row numbers were given out"),
    "project": ("project", "journal record", "full text"),
    "partition": ("partition", "in owner", "in kind", "in is_user"),
    "journal": ("journal record", "journal: has"),
    "passage": ("passage", "full text"),
    "memory": ("memory", "full text"),
}
"""What problems call a table, where that is not its name."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_whole(tmp_path_factory.mktemp("whole"), ManualClock())


@contextmanager
def damaged(whole: Path, folder: Path, damage: Damage) -> Iterator[VerifyReport | None]:
    """What `verify` finds in a store that was open when the damage was done; `None` if the tables' own constraints forbid it."""
    path = Path(shutil.copy(whole, folder / "alma.db"))
    with closing(SQLStorage(path, at=NOW)) as storage:
        yield storage.verify() if damage.done_to(path) else None


def names(report: VerifyReport, damage: Damage) -> bool:
    told = "\n".join(map(str, report.problems))
    return any(word in told for word in CALLED.get(damage.table, (damage.table,)))


def test_the_store_is_sound_before(whole: Path) -> None:
    with closing(SQLStorage(whole, at=NOW)) as storage:
        assert storage.verify().problems == ()


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_damage_in_a_column_is_found_and_its_table_named(whole: Path, tmp_path: Path, table: Table, column: Column) -> None:
    name = f"{table.name}.{column.name}"
    missed, done = [], 0
    for damage in damages_of(whole, table, column, choice=Random(name)):
        with damaged(whole, tmp_path, damage) as report:
            if report is not None:
                done += 1
                missed += [] if not report.ok and names(report, damage) else [(damage.does, report.problems)]

    assert done
    assert (not missed) is (name not in UNREAD), missed


def harmless(damage: Damage) -> bool:
    return any(damage.table == name.split()[0] and name.partition(" ")[2] in damage.does for name in HARMLESS)


@pytest.mark.parametrize("table", OURS, ids=[table.name for table in OURS])
def test_a_row_that_is_gone_or_there_twice_is_found(whole: Path, tmp_path: Path, table: Table) -> None:
    missed, done = [], 0
    damages = [damage for damage in damages_of_rows(whole, table) if not harmless(damage)]
    for damage in Random(table.name).sample(damages, min(12, len(damages))):
        with damaged(whole, tmp_path, damage) as report:
            if report is not None:
                done += 1
                missed += [] if not report.ok and names(report, damage) else [(damage.does, report.problems)]

    assert done
    assert not missed
