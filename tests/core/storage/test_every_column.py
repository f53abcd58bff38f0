"""`verify` names damage in every column that any call reads. The columns come from the tables themselves, so that none can be forgotten."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Column, Table

from alma.errors import AlmaError
from alma.storage.relational import tables
from alma.storage.relational.text_index import stems
from alma.storage.sqlite.store import SQLStorage
from alma.types import VerifyReport
from damages import BESIDE, Damage, Whole, damages_of, damages_of_rows, open_whole
from facade import ManualClock
from stores import NOW, execute, rows

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


NEEDS_A_BACKUP = {
    *(f"store.{name}" for name in ("key", "value")),
    "migration.name",
    *(f"project.{name}" for name in ("row", "name")),
    *(f"journal.{column.name}" for column in tables.metadata.tables["journal"].columns),
}
"""The columns that are truth: what is damaged there is named, and stays as it is."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole.made_in(tmp_path_factory.mktemp("whole"))


def copied(whole: Whole, folder: Path) -> Path:
    return Path(shutil.copy(whole.path, folder / "alma.db"))


@contextmanager
def damaged(whole: Whole, folder: Path, damage: Damage) -> Iterator[VerifyReport | None]:
    """What `verify` finds in a store that was open when the damage was done; `None` if the tables' own constraints forbid it."""
    path = copied(whole, folder)
    with closing(SQLStorage(path, at=NOW)) as storage:
        yield storage.verify() if damage.done_to(path) else None


def names(report: VerifyReport, damage: Damage) -> bool:
    told = "\n".join(map(str, report.problems))
    return any(word in told for word in CALLED.get(damage.table, (damage.table,)))


def test_the_store_is_sound_before(whole: Whole) -> None:
    with closing(SQLStorage(whole.path, at=NOW)) as storage:
        assert storage.verify().problems == ()


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_damage_in_a_column_is_found_and_its_table_named(whole: Whole, tmp_path: Path, table: Table, column: Column) -> None:
    name = f"{table.name}.{column.name}"
    missed, done = [], 0
    for damage in damages_of(whole.path, table, column, choice=Random(name)):
        with damaged(whole, tmp_path, damage) as report:
            if report is not None:
                done += 1
                missed += [] if not report.ok and names(report, damage) else [(damage.does, report.problems)]

    assert done
    assert (not missed) is (name not in UNREAD), missed


def harmless(damage: Damage) -> bool:
    return any(damage.table == name.split()[0] and name.partition(" ")[2] in damage.does for name in HARMLESS)


def is_of_strategy(whole: Whole, damage: Damage) -> bool:
    """Returns True for a deleted vector of a text that no passage has: it is made again when its strategy is asked for."""
    if damage.table != "vector" or not damage.does.endswith("deleted"):
        return False
    kept = rows(whole.path, "SELECT v.row FROM vector v JOIN passage p ON p.text_hash = v.text_hash")
    return not {row for (row,) in kept}.intersection(damage.values.values())


@pytest.mark.parametrize("table", OURS, ids=[table.name for table in OURS])
def test_a_row_that_is_gone_or_there_twice_is_found(whole: Whole, tmp_path: Path, table: Table) -> None:
    missed, done = [], 0
    damages = [damage for damage in damages_of_rows(whole.path, table) if not (harmless(damage) or is_of_strategy(whole, damage))]
    for damage in Random(table.name).sample(damages, min(12, len(damages))):
        with damaged(whole, tmp_path, damage) as report:
            if report is not None:
                done += 1
                missed += [] if not report.ok and names(report, damage) else [(damage.does, report.problems)]

    assert done
    assert not missed


def chosen(whole: Whole, folder: Path, table: Table, column: Column, *, count: int) -> Iterator[tuple[Path, Damage]]:
    """A few damages to a column, each done to a store of its own."""
    done = 0
    for damage in damages_of(whole.path, table, column, choice=Random(f"{table.name}.{column.name}")):
        path = copied(whole, folder)
        if damage.done_to(path):
            yield path, damage
            done += 1
        if done == count:
            return


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_after_damage_every_call_answers_or_raises_an_error_of_alma(
    whole: Whole, tmp_path: Path, table: Table, column: Column
) -> None:
    for _, damage in chosen(whole, tmp_path, table, column, count=2):
        with suppress(AlmaError), open_whole(tmp_path, ManualClock(whole.now)) as shop:
            for name, call in whole.calls(shop).items():
                try:
                    call()
                except AlmaError:
                    continue
                except Exception as error:
                    raise AssertionError(f"{name} after {damage.does}") from error


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_rebuild_restores_what_follows_from_the_journal_and_names_the_rest(
    whole: Whole, tmp_path: Path, table: Table, column: Column
) -> None:
    name = f"{table.name}.{column.name}"
    for path, damage in chosen(whole, tmp_path, table, column, count=3):
        if name == "migration.name":  # such a store cannot be opened
            continue
        try:
            shop = open_whole(tmp_path, ManualClock(whole.now))
        except AlmaError:
            assert name in NEEDS_A_BACKUP
            continue
        with shop:
            found = shop.verify()
            report = shop.verify(rebuild=True)
            assert report.ok is not (name in NEEDS_A_BACKUP), damage.does
            assert report.ok or set(report.problems) <= set(found.problems), damage.does
            assert not report.ok or bool(report.rebuilt) is not found.ok, damage.does
            assert not report.ok or whole.is_same(shop), damage.does
        assert path.exists()


SQLITES = [pytest.param(table, column, id=f"{table.name}.{column.name}") for table in BESIDE for column in table.columns]


@pytest.mark.parametrize(("table", "column"), SQLITES)
def test_damage_in_a_table_of_sqlites_own_is_found_or_changes_no_answer(
    whole: Whole, tmp_path: Path, table: Table, column: Column
) -> None:
    """The full text has bytes that no search of ours reads: where a segment of one page begins."""
    found = 0
    for path, damage in chosen(whole, tmp_path, table, column, count=6):
        with open_whole(tmp_path, ManualClock(whole.now)) as shop:
            is_ok = shop.verify().ok
            found += not is_ok
            assert not is_ok or whole.is_same(shop), damage.does
            assert not is_ok or words(path) == words(whole.path), damage.does
    assert found or table.name == "text_1_idx"


def words(path: Path) -> list[tuple[str, str]]:
    """Every stem that the passages of the first project hold, with the documents that a search finds it in."""
    texts = " ".join(str(text) for (text,) in rows(path, "SELECT CAST(text AS TEXT) FROM passage WHERE project = 1"))
    query = "SELECT group_concat(rowid) FROM (SELECT rowid FROM text_1 WHERE text_1 MATCH '\"{}\"' ORDER BY rowid)"
    return [(word, rows(path, query.format(word))[0][0]) for word in sorted(set(stems(texts)))]


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("table", ["memory", "passage", "partition"])
def test_row_numbers_that_could_be_given_out_again_or_are_too_large_are_found(whole: Whole, tmp_path: Path, table: str) -> None:
    for statement in (
        "UPDATE sqlite_sequence SET seq = (SELECT max(row) FROM {0}) - 1 WHERE name = '{0}'",
        "UPDATE sqlite_sequence SET seq = 0 WHERE name = '{0}'",
        "UPDATE sqlite_sequence SET seq = 1 << 62 WHERE name = '{0}'",
        "DELETE FROM sqlite_sequence WHERE name = '{0}'",
    ):
        path = copied(whole, tmp_path)
        execute(path, statement.format(table))
        with open_whole(tmp_path, ManualClock(whole.now)) as shop:
            assert f"sqlite_sequence of {table}" in " ".join(map(str, shop.verify().problems))
            assert shop.verify(rebuild=True).ok
            assert whole.is_same(shop)
