"""Runs that are shown memories in two places, wait for somebody, or end where nobody can judge."""

import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma.integration import Integration, Options, RunView, tag_beside, tool_use
from facade import StoredIn

TASK = "Deploy the auth service"


@pytest.fixture
def store(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as alma:
        yield alma


def integration_of(store: ALMA, **options: Any) -> Integration:
    return Integration(store, agent="dev", options=Options(**options))


def test_an_adapted_integration_has_the_same_background_and_errors(store: ALMA) -> None:
    first = integration_of(store)
    other = first.adapted(agent="ops", options=Options(evaluator=lambda run: True))
    other.run(TASK).end_soon("done")
    assert first.flush()
    assert [(record.agent, record.outcome) for record in store.recent_episodes()] == [("ops", "success")]
    assert first.last_run is other.last_run is not None
    with other.guard("it failed"):
        raise LookupError
    assert [type(error) for error in first.errors] == [LookupError]


def test_what_is_shown_beside_the_notes_can_be_cited_and_is_not_in_the_notes(store: ALMA) -> None:
    rule = store.add_heuristic("dev", TASK, "blue-green")
    other = store.add_heuristic("dev", TASK, "ask the team first")
    found = store.retrieve(TASK, "dev")
    beside = found.model_copy(update={"recalled": tuple(item for item in found.recalled if item.memory.id == rule.id)})
    run = integration_of(store).run(TASK)
    run.show_beside(beside.tagged("r"))
    notes = run.recall()
    assert "ask the team first" in notes
    assert "blue-green" not in notes
    run.model_said("see [rH1]")
    run.end("done")
    [record] = store.recent_episodes()
    assert {exposure.memory_id: exposure.used for exposure in record.shown} == {rule.id: True, other.id: False}


def test_a_run_that_goes_on_after_its_suspension_keeps_what_was_shown_and_done(store: ALMA) -> None:
    store.add_heuristic("dev", TASK, "blue-green")
    integration = integration_of(store, evaluator=lambda run: True)
    run = integration.run(TASK)
    notes = run.recall()
    run.tool_returned(tool_use("check", {}), "fine")
    run.suspend_soon()
    assert integration.flush()
    run.take_up()
    run.tool_returned(tool_use("deploy", {}), "live")
    assert run.recall() == notes
    run.end("done")
    [record] = store.recent_episodes()
    assert (record.outcome, record.strategy, [step.action for step in record.steps]) == (
        "success",
        "check, then deploy",
        ["check", "deploy"],
    )


def test_a_run_that_is_taken_up_by_its_episode_is_shown_what_it_was_shown_with_the_same_tags(store: ALMA) -> None:
    rule = store.add_heuristic("dev", TASK, "blue-green")
    integration = integration_of(store)
    run = integration.run(TASK)
    run.recall()
    run.tool_returned(tool_use("check", {}), "fine")
    run.suspend()
    store.add_heuristic("dev", TASK, "something newer")
    again = integration.resumed(str(run.episode_id), TASK)
    notes = again.recall()
    assert "[H1] Deploy the auth service: blue-green" in notes
    assert "something newer" not in notes
    again.model_said("see [H1]")
    again.end("done")
    assert [record.used for record in store.recent_episodes()] == [(rule.id,)]


def test_a_run_without_an_answer_is_not_judged(store: ALMA) -> None:
    judged: list[RunView] = []
    run = integration_of(store, evaluator=judged.append).run(TASK)
    run.tool_returned(tool_use("check", {}), "fine")
    run.end("", is_judged=False)
    assert judged == []
    assert [record.outcome for record in store.recent_episodes()] == ["unverified"]


@pytest.mark.not_on("file", "postgres", reason="locks SQLite's file")
def test_notes_that_are_known_do_not_wait_for_a_locked_store(store: ALMA, tmp_path: Path) -> None:
    store.add_heuristic("dev", TASK, "blue-green")
    integration = integration_of(store, lock_timeout=2)
    run = integration.run(TASK)
    notes = run.recall()
    holder = sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        run.tool_returned(tool_use("check", {}), "fine")
        run.settle_soon()
        started = time.monotonic()
        assert run.recall() == notes
        took = time.monotonic() - started
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert integration.flush()
    assert took < 1


def test_an_evaluator_that_leaves_by_system_exit_leaves_the_run_unverified(store: ALMA) -> None:
    integration = integration_of(store, evaluator=lambda run: sys.exit())
    run = integration.run(TASK)
    run.tool_returned(tool_use("check", {}), "fine")
    run.end_soon("done")
    assert integration.flush()
    assert [record.outcome for record in store.recent_episodes()] == ["unverified"]
    assert ["SystemExit" in str(error) for error in integration.errors] == [True]


def test_the_run_of_an_evaluator_that_is_a_coroutine_is_not_judged_in_its_turn(store: ALMA) -> None:
    judged: list[str] = []

    async def judge(run: RunView) -> bool:
        judged.append(run.agent)
        integration.run("Is it done?", agent="judge").end("yes")
        return True

    integration = integration_of(store, evaluator=judge)
    integration.run(TASK).end_soon("done")
    assert integration.flush()
    assert judged == ["dev"]


def test_what_cannot_be_redacted_is_not_stored(store: ALMA) -> None:
    def redact(text: str) -> str:
        if "ann" in text:
            raise LookupError("no words")
        return text

    run = integration_of(store, redact=redact).run(TASK)
    run.tool_returned(tool_use("login", {"user": "ann"}), "ann is in")
    run.end("done")
    [record] = store.recent_episodes()
    assert [(step.action, step.output) for step in record.steps] == [("login", None)]


def test_a_run_is_not_suspended_when_it_goes_on_first(store: ALMA) -> None:
    integration = integration_of(store)
    run = integration.run(TASK)
    run.tool_returned(tool_use("check", {}), "fine")
    run.settle()
    may_go_on = threading.Event()
    integration._live[str(run.episode_id)].in_background(lambda: may_go_on.wait(10))
    run.in_background(lambda: may_go_on.wait(10))  # both writers are busy
    run.suspend_soon()
    run.take_up()
    may_go_on.set()
    assert integration.flush()
    run.tool_returned(tool_use("deploy", {}), "live")
    run.end("done")
    assert [len(record.steps) for record in store.recent_episodes()] == [2]


def test_what_another_agent_was_shown_beside_the_notes_is_not_counted_and_keeps_no_run_from_being_recorded(store: ALMA) -> None:
    store.add_heuristic("librarian", TASK, "blue-green")
    run = integration_of(store).run(TASK)
    run.show_beside(store.retrieve(TASK, "librarian"))
    run.model_said("see [H1]")
    run.end("done")
    [record] = store.recent_episodes()
    assert (record.agent, record.shown) == ("dev", ())


def test_what_is_shown_after_the_first_step_can_be_cited_and_its_use_is_stored_with_the_next_step(store: ALMA) -> None:
    early, late = (store.add_domain_knowledge("dev", "ports", f"The {name} service has port 80") for name in ("auth", "mail"))
    found = store.retrieve("Which port?", "dev")
    parts = [
        found.model_copy(update={"recalled": tuple(item for item in found.recalled if item.memory.id == one.id)})
        for one in (early, late)
    ]
    run = integration_of(store).run(TASK)
    run.show_beside(parts[0])
    run.tool_returned(tool_use("look", {}), "found")
    run.settle()
    tagged, new = tag_beside(parts[1].tagged(""), run.memories)
    run.show_beside(new)
    tag = tagged.recalled[0].tag
    assert tag not in {item.tag for item in parts[0].recalled}
    run.tool_returned(tool_use("deploy", {"why": f"as [{tag}] says"}), "live")
    run.settle()
    [record] = store.recent_episodes()
    assert record.steps[-1].used == (late.id,)
    report = run.end("done")
    assert report is not None
    assert (report.retrieved, report.cited) == (2, (tag,))
    [record] = store.recent_episodes()
    assert record.used == (late.id,)
    assert [shown.used for shown in record.shown] == [False]


def test_each_reason_why_work_was_sent_back_is_a_lesson_of_its_own(store: ALMA) -> None:
    integration = integration_of(store)
    for reason in ("state the VAT", "write Norwegian", "state the VAT", "state the VAT", "write Norwegian"):
        run = integration.run(TASK)
        run.corrected(reason)
        run.end("done")
    assert {(rule.pattern, rule.why_bad, rule.occurrence_count) for rule in store.list_memories(kind="anti_pattern")} == {
        ("work that was sent back: state the VAT", "state the VAT", 3),
        ("work that was sent back: write Norwegian", "write Norwegian", 2),
    }
    notes = integration.run(TASK).recall()
    assert {line.partition("] ")[2].partition(" (")[0] for line in notes.splitlines() if line.startswith("[A")} == {
        "work that was sent back: state the VAT: failed 3 of 3 times as a step",
        "work that was sent back: write Norwegian: failed 2 of 2 times as a step",
    }


def test_work_that_is_sent_back_without_a_reason_begins_no_episode(store: ALMA) -> None:
    run = integration_of(store).run(TASK)
    run.corrected(" ")
    run.settle()
    assert not run.parts["dev"].has_begun


def test_a_run_that_another_process_takes_up_is_judged_and_credited_as_a_whole(store: ALMA) -> None:
    seen: list[RunView] = []
    run = integration_of(store).run(TASK)
    run.tool_returned(tool_use("check", {}), "fine")
    run.tool_refused(tool_use("delete", {}), "no")
    run.tool_failed(tool_use("deploy", {"way": "rolling"}), "502")
    run.corrected("state the VAT")
    run.suspend()
    elsewhere = integration_of(store, evaluator=lambda view: seen.append(view) or True)
    again = elsewhere.resumed(run.episode_id, TASK)
    again.corrected("state the VAT")
    again.tool_refused(tool_use("deploy", {"way": "rolling"}), "502", may_be_known=True)
    again.tool_failed(tool_use("delete", {}), "no", may_be_known=True)
    again.tool_returned(tool_use("deploy", {"way": "blue-green"}), "live")
    again.suspend()
    again.take_up()
    again.end("done")
    assert [(step.action, step.ok) for step in seen[0].steps] == [
        ("check", True),
        ("delete", None),
        ('deploy(way="rolling")', False),
        ('deploy(way="blue-green")', True),
    ]
    [record] = store.recent_episodes()
    assert record.strategy == 'check, then deploy(way="blue-green")'
    assert len(record.steps) == 5


def test_the_notes_of_another_memory_are_no_part_of_the_task(store: ALMA) -> None:
    store.add_heuristic("dev", TASK, "blue-green")
    notes = integration_of(store).run(TASK).recall()
    for asked in (f"{TASK}\n\n{notes}", f"{notes}\n\n{TASK}", f"{TASK}\n\n{notes}\n\n{notes}"):
        assert integration_of(store).run(asked).task == TASK
    assert integration_of(store).run(notes).task == notes
    run = integration_of(store).run(TASK)
    run.hand_over("ops", f"Check it\n{notes}")
    run.model_said("done")
    run.end("done")
    assert [run.parts[name].task for name in run.parts] == [TASK, "Check it"]


def test_runs_of_which_nothing_but_the_task_is_known_take_only_places_that_others_leave(store: ALMA) -> None:
    integration = integration_of(
        store, evaluator=lambda view: (True, None) if view.answer == "good" else (False, "rude"), top_k=2
    )
    for name in "abcdefgh":
        integration.run(f"{TASK} {name}").end("good")
    assert [line[:4] for line in integration.run(TASK).recall().splitlines() if "Succeeded" in line] == ["[O1]", "[O2]"]
    integration.run(TASK).end("bad")
    notes = integration.run(TASK).recall().splitlines()
    assert [line.partition(", ")[0] for line in notes if line.startswith("[O")] == ["[O1] Succeeded", "[O2] Failed"]
    integration.adapted(agent="dev", options=Options(strategy=lambda view: "blue-green")).run(TASK).end("done", verdict="success")
    notes = integration.run(TASK).recall().splitlines()
    assert [line.partition(" (")[0] for line in notes if line.startswith(("[S", "[O"))] == [
        "[S1] blue-green: worked 1 of 1",
        "[S2] no strategy named: worked 8 of 9 times",
        f"[O2] Failed, just now: {TASK} | Feedback: rude",
    ]
