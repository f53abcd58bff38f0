"""`alma history`, `undo`, `forget` and `compact`: they show before they do, and ask."""

from collections.abc import Callable

import pytest

from alma_cli import confirming


@pytest.fixture
def ids(project) -> list[str]:
    """The ids of three outcomes, in the order of the journal."""
    tasks = ("Deploy the shop", "Test the login form", "Write the invoice")
    agents = ("helena", "helena", "victor")
    return [
        project("learn", "-a", agent, "-t", task, "-o", "success", "-s", "by hand", "--json").json["id"]
        for agent, task in zip(agents, tasks, strict=True)
    ]


def total(project) -> int:
    return project("stats", "--json").json["total"]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[str]]:
    """Puts somebody at the terminal who gives this answer; what they were asked is listed."""

    def answer(answer: bool) -> list[str]:
        asked: list[str] = []
        monkeypatch.setattr(confirming, "has_terminal", lambda: True)
        monkeypatch.setattr(confirming.typer, "confirm", lambda question, err: asked.append(question) or answer)
        return asked

    return answer


def test_history_tells_every_call(project, ids: list[str]) -> None:
    project("forget", ids[1], "--yes")
    told = project("history", ids[1])
    assert [word in told.out for word in ("learn", "made", "'Test the login form'", "forget", "archived")] == [True] * 5

    entries = project("history", ids[1], "--json").json["entries"]
    assert [(entry["seq"], entry["what"]) for entry in entries] == [(2, "made"), (4, "archived")]
    assert "never had a memory 'nobody'" in project("history", "nobody", code=4).err


def test_history_without_an_id_lists_the_newest_records_for_undo(project, ids: list[str]) -> None:
    project("add", "user_preference", "-u", "ann", "category=style", "preference=Short answers")
    project("forget", ids[1], "--yes")
    listed = project("history").out
    places = [listed.index(words) for words in ("Short answers", "Write the invoice", "Test the login form", "Deploy the shop")]
    assert places == sorted(places)
    assert f"id {ids[0]}" in listed

    newest = project("history", "--limit", "2", "--json").json["records"]
    assert [(record["seq"], record["operation"]) for record in newest] == [(5, "forget"), (4, "add_user_preference")]
    assert [list(newest[0]["subjects"]), list(newest[1]["subjects"].values())] == [[ids[1]], ["style: Short answers"]]
    assert "alma history" in project("undo", code=2).err
    assert project("undo", "--to", str(newest[1]["seq"]), "--yes").code == 0
    assert total(project) == 4


def test_history_of_an_empty_memory_says_so(project) -> None:
    assert project("history").out == "Nothing was recorded yet.\n"


def test_history_of_purged_words_shows_none(project, ids: list[str]) -> None:
    project("forget", ids[0], "--purge", "--yes")
    listed = project("history").out
    assert "Deploy the shop" not in listed
    assert "purged" in listed


def test_undo_shows_asks_and_does_it(project, ids: list[str], answering) -> None:
    asked = answering(True)
    told = project("undo", "--to", "1").out

    assert asked == ["Take 2 calls back?"]
    assert "Undoing 2 calls after record 1:" in told
    assert f"goes: {ids[1]}" in told
    assert "Undone, as record 4; `alma undo --to 3` takes that back" in told
    assert total(project) == 1

    assert f"comes back: {ids[1]}" in project("undo", "--to", "3", "--yes").out
    assert total(project) == 3


def test_undo_takes_back_no_more_than_it_showed(project, ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirming, "has_terminal", lambda: True)
    learned = ("learn", "-a", "zoe", "-t", "Answer the phone", "-o", "success")
    monkeypatch.setattr(confirming.typer, "confirm", lambda question, err: project(*learned) is not None)

    refused = project("undo", "--to", "0", code=None)
    assert refused.code != 0
    assert "the newest journal record is 4, not 3; nothing was undone" in refused.err
    assert total(project) == 4


def test_one_is_no_plural(project, ids: list[str], answering) -> None:
    asked = answering(True)
    assert "To forget: 1 memory (1 outcome)" in project("forget", ids[0]).out
    assert "Undoing 1 call after record 3:" in project("undo", "--to", "3").out
    assert asked == ["Archive 1 memory?", "Take 1 call back?"]


def test_undo_can_be_refused_and_needs_somebody_to_ask(project, ids: list[str], answering) -> None:
    assert "no terminal to ask at" in project("undo", "--to", "0", code=4).err
    answering(False)
    refused = project("undo", "--to", "0", code=4)
    assert ("Undoing 3 calls" in refused.out, refused.err) == (True, "Nothing was done.\n")
    assert total(project) == 3


def test_undo_as_json_tells_without_yes_and_does_with_it(project, ids: list[str]) -> None:
    told = project("undo", "--to", "0", "--actor", "victor", "--json").json
    assert (told["dry_run"], told["seq"], told["removed"]) == (True, None, [ids[2]])
    assert total(project) == 3

    done = project("undo", "--to", "0", "--actor", "victor", "--json", "--yes").json
    assert (done["dry_run"], done["seq"], done["removed"]) == (False, 4, [ids[2]])
    assert total(project) == 2


def test_undo_with_nothing_to_do_says_so_and_does_not_ask(project, ids: list[str]) -> None:
    assert project("undo", "--to", "3").out == "Nothing to undo after record 3\n"
    assert project("undo", "--to", "0", "-a", "zoe").out == "Nothing to undo of 'zoe' after record 0\n"
    assert "the newest journal record is 3" in project("undo", "--to", "9", code=2).err


def test_forget_by_policy_and_by_id(project, ids: list[str], answering) -> None:
    assert project("forget", "--dry-run").out == "To forget: 0 memories\n"
    assert "To forget: 3 memories (3 outcome)" in project("forget", "--older-than-days", "0", "--dry-run").out
    assert total(project) == 3

    asked = answering(True)
    told = project("forget", "--older-than-days", "0", "--agent", "helena").out
    assert asked == ["Archive 2 memories?"]
    assert "Archived, as record 4; `alma undo --to 3` takes that back" in told
    assert total(project) == 1
    assert "No memory that can be forgotten: nobody" in project("forget", "nobody", code=4).out
    assert project("forget", ids[2], "--json").json["dry_run"] is True
    assert project("forget", ids[2], "nobody", "--json", "--yes").json["unknown"] == ["nobody"]
    assert total(project) == 0


def test_purge_tells_what_was_done_on_every_surface_and_compact_finishes(project, ids: list[str]) -> None:
    told = project("forget", ids[0], "--purge", "--yes").out
    for line in ("Purged, as record 4", "journal payloads", "vectors", "write-ahead log", "exports, backups"):
        assert line in told
    assert "it was purged" in project("history", ids[0], code=4).err
    assert "does not come back" in project("undo", "--to", "0", "--yes").out

    assert project("compact").out.startswith("Compacted: ")
    assert project("compact", "--json").json["is_whole"] is True
    assert project("verify", "--json").json["ok"] is True
