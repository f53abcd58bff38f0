"""`alma maintain`: what the rules have go, as a table and as JSON."""

from pathlib import Path

import pytest


@pytest.fixture
def window_of_two(project, folder: Path):
    """A project that keeps two outcomes of each agent, and holds three of one."""
    config = folder / ".alma" / "config.yaml"
    config.write_text(config.read_text() + "  forgetting: {outcome: {window: 2}, kinds: {nots: {max_count: 3}}}\n")
    for task in ("Deploy the shop", "Test the login form", "Write the invoice"):
        project("learn", "-a", "helena", "-t", task, "-o", "success")
    return project


def test_a_dry_run_shows_what_would_go_and_leaves_it(window_of_two) -> None:
    told = window_of_two("maintain", "--dry-run").out
    assert [word in told for word in ("outcome", "window", "helena", "To archive: 1 memory")] == [True] * 4
    assert window_of_two("stats", "--json").json["total"] == 3


def test_it_archives_and_says_how_to_take_it_back(window_of_two) -> None:
    told = window_of_two("maintain").out
    assert "Archived 1 memory, as record 4; `alma undo --to 3` takes that back" in told
    assert "There is a rule for 'nots', but no memory and no definition of that kind" in told
    assert window_of_two("stats", "--json").json["total"] == 2
    assert "Nothing is due to be archived" in window_of_two("maintain").out
    window_of_two("undo", "--to", "3", "--yes")
    assert window_of_two("stats", "--json").json["total"] == 3


def test_json_has_the_rules_with_counts_and_ids(window_of_two) -> None:
    report = window_of_two("maintain", "--json").json
    assert (report["total"], report["seqs"], report["unknown_kinds"]) == (1, [4], ["nots"])
    (rule,) = report["rules"]
    assert (rule["kind"], rule["rule"], rule["limit"], rule["by_owner"]) == ("outcome", "window", 2, {"helena": 1})
    assert len(rule["memory_ids"]) == 1


def test_with_due_it_does_nothing_soon_after_a_run(window_of_two) -> None:
    assert window_of_two("maintain", "--due", "--json").json["ran"] is True
    assert window_of_two("maintain", "--due", "--json").json["ran"] is False
    assert "Nothing was done: maintenance ran " in window_of_two("maintain", "--due").out
