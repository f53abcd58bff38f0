"""`alma import --from alma-memory`."""

from pathlib import Path

import pytest

from old_memory import OLD_MEMORY

FROM = ("import", "--from", "alma-memory")


@pytest.fixture
def shop(alma):
    """A project of the name that the old database has, which embeds by hashing."""
    alma("init", "--embedder", "hash", "--project-id", "web-shop")
    return alma


def test_a_database_of_alma_memory_is_imported_and_its_rows_are_reported(shop) -> None:
    told = shop(*FROM, str(OLD_MEMORY), columns=100).out

    assert told.startswith("Imported 29 memories of 'web-shop' from ")
    assert [line.split() for line in told.splitlines() if line.startswith(" outcome")] == [["outcome", "25", "21", "0", "4"]]
    assert "outcome: metadata left out: it is no JSON object (row out_old3)" in told
    assert "Rules formed anew from the outcomes: 3 heuristic, 1 anti_pattern" in told
    assert "dashboards (1 row)" in told
    assert "Test each section on its own" in shop("retrieve", "Test a form", "--agent", "helena").out


def test_a_second_import_says_that_all_is_there_already(shop) -> None:
    shop(*FROM, str(OLD_MEMORY))

    again = shop(*FROM, str(OLD_MEMORY), "--json").json
    assert [kind["present"] for kind in again["kinds"]] == [21, 1, 1, 3, 3]
    assert [kind["stored"] for kind in again["kinds"]] == [0, 0, 0, 0, 0]


def test_a_dry_run_stores_nothing(shop) -> None:
    told = shop(*FROM, str(OLD_MEMORY), "--dry-run").out

    assert told.startswith("Would import 29 memories")
    assert shop("stats", "--json").json["total"] == 0


def test_a_project_is_chosen_and_renamed(shop) -> None:
    report = shop(*FROM, str(OLD_MEMORY), "--project", "blog", "--into", "my-blog", "--json").json

    assert (report["source_project"], report["project"]) == ("blog", "my-blog")
    assert shop("stats", "--json").json["total"] == 0


def test_a_person_can_vouch_for_who_judged(shop) -> None:
    shop(*FROM, str(OLD_MEMORY), "--verdict-source", "caller")

    outcomes = shop("list", "--kind", "outcome", "--json").json["memories"]
    assert {outcome["verdict_source"] for outcome in outcomes} == {"caller"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*FROM, "songs.db"), "is no SQLite database"),
        ((*FROM, str(OLD_MEMORY), "--project", "nowhere"), "'web-shop' (38 rows)"),
        ((*FROM, str(OLD_MEMORY), "--skip"), "no --skip"),
        ((*FROM, "-"), "no -"),
        (("import", str(OLD_MEMORY), "--dry-run"), "needs --from"),
        (("import", "--from", "songs", str(OLD_MEMORY)), "alma-memory"),
        (("import", str(OLD_MEMORY)), "--from alma-memory"),
    ],
)
def test_wrong_usage_says_what_is_wrong(shop, arguments: tuple[str, ...], told: str) -> None:
    Path("songs.db").write_text("la la", encoding="utf-8")

    assert told in shop(*arguments, code=2).err
