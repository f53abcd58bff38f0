"""The first outcome of a task is all there is to know of it: nothing is stored beside it, and nothing is lost of it when others come."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_mock import MockerFixture

from alma import ALMA, ConflictError, CorruptStoreError, Draft, Outcome, Passage, ValidationError
from alma.storage.relational.evidence import EvidenceReader
from alma.text import matched_text
from alma.types import Verdict
from alma.types.evidence import evidence_id, task_place, text_key
from facade import ManualClock, OpenStore, refused
from learned import counts, evidence, heuristics
from lines import lines_of, write_lines
from purged import SECRET, traces
from stores import execute


def stored(alma: ALMA) -> int:
    """The pieces of evidence that are rows of their own."""
    return sum(row.table == "evidence" for row in alma._room.project.rows())


@pytest.mark.parametrize("task_type", [None, "deploying"])
def test_nothing_is_counted_before_there_is_a_second_outcome(alma: ALMA, task_type: str | None) -> None:
    alma.learn("dev", "Deploy", "success", "by hand", task_type=task_type)
    assert stored(alma) == 0
    assert counts(alma) == {"by hand": (1, 1)}
    (row,) = alma.strategies("Deploy", "dev")
    assert (row.strategy, row.successes, row.trials) == ("by hand", 1, 1)

    alma.learn("dev", "deploy!", "failure", "by guessing", task_type=task_type)
    assert stored(alma) == 2
    assert counts(alma) == {"by hand": (1, 1), "by guessing": (0, 1)}


def test_the_first_outcome_counts_with_all_that_it_says(alma: ALMA, clock: ManualClock) -> None:
    happened = clock.now
    clock.advance(days=3)
    alma.learn("dev", "Deploy", "failure", "by hand", error_message="port 8443 is taken", timestamp=happened)
    (alone,) = evidence(alma)
    alma.learn("dev", "Deploy", "unverified", "by hand")
    (both,) = evidence(alma)
    assert (both.reasons, both.lifetime, both.operative, both.observed_at, both.task, both.id) == (
        *(alone.reasons, alone.lifetime, alone.operative, alone.observed_at, "Deploy", alone.id),
    )
    assert (alone.unverified, both.unverified) == (0, 1)


def test_an_outcome_that_names_no_strategy_counts_for_its_task(alma: ALMA) -> None:
    alma.learn("dev", "Deploy", "failure")
    alma.learn("dev", "Deploy", "success", "by hand")
    (row,) = alma.strategies("Deploy", "dev")
    assert (row.trials, row.others) == (1, 1)


def test_steps_and_attempts_at_one_task_are_first_outcomes_of_their_own(alma: ALMA) -> None:
    for number in range(2):
        with alma.episode("dev", "Deploy", episode_id=f"run-{number}") as episode:
            episode.step("pull", error="lost")
            episode.succeed(strategy="by hand")
        assert stored(alma) == 2 * number
    assert counts(alma) == {"pull": (0, 2), "by hand": (2, 2)}


def test_attempts_at_near_tasks_and_their_steps_are_first_outcomes_of_their_own(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store(), open_store("other")
    alma.learn("dev", "Deploy the shop to production", "success", "by hand")
    for number, near in enumerate(("Deploy the shop to production now", "Now deploy the shop to production")):
        with alma.episode("dev", near, episode_id=f"run-{number}") as episode:
            episode.step("pull", error="lost")
            episode.succeed(strategy="by hand")
    assert stored(alma) == 0
    assert sorted((seen.task, seen.strategy, seen.lifetime.trials) for seen in evidence(alma)) == [
        ("Deploy the shop to production", "by hand", 1),
        ("Deploy the shop to production now", "by hand", 1),
        ("Deploy the shop to production now", "pull", 1),
        ("Now deploy the shop to production", "by hand", 1),
        ("Now deploy the shop to production", "pull", 1),
    ]
    alma.export(tmp_path / "x.jsonl")
    other.import_from(tmp_path / "x.jsonl")
    assert {seen.id: seen for seen in evidence(other)} == {seen.id: seen for seen in evidence(alma)}
    alma.undo(0)
    assert evidence(alma) == []


@pytest.mark.slow
def test_a_first_outcome_is_found_by_another_process_and_after_many_others(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    one.learn("dev", "Deploy", "success", "by hand")
    one.learn_many({"agent": "dev", "task": f"Chore {number} of the {number}th day", "outcome": True} for number in range(600))
    other.learn("dev", "DEPLOY", "success", "by hand")
    one.learn("dev", "Deploy", "success", "by hand")
    assert [(rule.strategy, rule.success_count) for rule in heuristics(other)] == [("by hand", 3)]
    assert one.verify().ok


@pytest.mark.slow
def test_a_first_outcome_is_found_behind_many_of_one_type(open_store: OpenStore) -> None:
    one = open_store()
    one.learn("dev", "Deploy", "success", "by hand")
    one.learn_many({"agent": "dev", "task": f"Chore {number}", "outcome": True, "task_type": "chore"} for number in range(1_100))
    for known in (2, 3):
        open_store().learn("dev", "Deploy", "success", "by hand")
        assert counts(one)["by hand"] == (known, known)


def test_the_first_passage_tells_the_task_wherever_it_stands(alma: ALMA, clock: ManualClock) -> None:
    passages = Passage(text="and look after it", position=7), Passage(text="Deploy", position=3)
    for number in range(2):
        told = {"id": f"outcome-{number}", "agent": "dev", "project_id": "shop", "created_at": clock.now, "updated_at": clock.now}
        outcome = Outcome(**told, task_description="Deploy it", outcome=Verdict.SUCCESS, strategy_used="by hand")
        alma.add_many([Draft(memory=outcome, passages=passages)])
        assert counts(alma) == {"by hand": (number + 1, number + 1)}
    alma.learn("dev", "Deploy", "failure", "by hand")
    assert counts(alma) == {"by hand": (2, 3)}


def test_of_two_first_outcomes_at_once_both_count(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    for alma in (one, other):  # neither knows of the task when it begins
        alma.learn("eve", "Something else", True)
    one.learn("dev", "Deploy", "success", "by hand")
    other.learn("dev", "Deploy", "failure", "by hand")
    assert counts(one, "dev") == {"by hand": (1, 2)}


def test_a_verdict_that_comes_late_is_that_of_the_first_outcome(alma: ALMA) -> None:
    with alma.episode("dev", "Deploy", episode_id="run") as episode:
        episode.end("unverified", strategy="by hand")
    alma.settle("run", "failure", reason="it was rolled back")
    assert (counts(alma), stored(alma)) == ({"by hand": (0, 1)}, 0)
    alma.learn("dev", "Deploy", "failure", "by hand")
    assert counts(alma) == {"by hand": (0, 2)}


def test_a_forgotten_first_outcome_still_counts(alma: ALMA) -> None:
    first = alma.learn("dev", "Deploy", "success", "by hand")
    alma.forget(memory_ids=[first.id])
    assert counts(alma) == {"by hand": (1, 1)}
    alma.learn("dev", "Deploy", "success", "by hand")
    assert counts(alma) == {"by hand": (2, 2)}


def test_a_purged_first_outcome_leaves_nothing(alma: ALMA) -> None:
    first = alma.learn("dev", "Deploy", "success", "by hand")
    alma.purge([first.id])
    assert counts(alma) == {}
    alma.learn("dev", "Deploy", "failure", "by hand")
    assert (counts(alma), stored(alma)) == ({"by hand": (0, 1)}, 0)


def test_what_evidence_counts_is_not_undone_behind_its_back(alma: ALMA) -> None:
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.learn_many({"agent": agent, "task": "Deploy", "outcome": True, "strategy_used": "by hand"} for agent in ("dev", "eve"))
    with refused(alma, ConflictError, "was changed in record 2 since"):
        alma.undo(0, actor="dev")
    alma.undo(0)
    assert counts(alma) == {}


def test_the_strategy_of_a_first_outcome_is_compared_after_compaction_and_a_purge_of_another(alma: ALMA) -> None:
    alma.learn("dev", "Deploy", "success", "Take it live with a green twin beside the blue one")
    other = alma.learn("eve", "Feed the animals", "success", "Take it live with a green twin beside the blue one")
    alma.purge([other.id])
    alma.compact()
    vectors = alma._room.project.vectors(["Take it live with a green twin beside the blue one"])
    assert len(vectors) == 1


def test_a_long_strategy_of_a_first_outcome_is_compared_after_the_purge_of_one_that_begins_alike(alma: ALMA) -> None:
    beginning = "with care " * 100
    alma.learn("dev", "Deploy", "success", f"{beginning} and a net")
    other = alma.learn("eve", "Feed the animals", "success", f"{beginning} and gloves")
    alma.purge([other.id])
    assert len(alma._room.project.vectors([matched_text(beginning)])) == 1


def test_a_purge_names_the_evidence_that_only_an_undo_brings_back(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    first = alma.learn("dev", SECRET, "success", "by hand")
    alma.learn("dev", SECRET.upper(), "success", "by hand")
    alma.undo(1)
    receipt = alma.purge([first.id]).receipt
    assert receipt is not None
    key = evidence_id("dev", task_place(None, SECRET, is_step=False, is_trusted=True), text_key("by hand"))
    assert f"evidence {key}" in receipt.left  # it holds the task

    alma.undo(2)
    assert counts(alma) == {"by hand": (2, 2)}
    alma.purge([memory.id for memory in alma.list_memories("outcome")])
    alma.compact()
    assert traces(tmp_path / "store") == []


DAMAGED = {"half an object": b'{"strategy_used": "by', "no object": b"[]" + b" " * 900, "very deep": b"[" * 100_000}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_a_first_outcome_whose_body_is_damaged_stops_no_compaction(open_store: OpenStore, tmp_path: Path, body: bytes) -> None:
    alma = open_store()
    alma.learn("dev", "Deploy", "success", "by hand")
    execute(tmp_path / "store" / "alma.db", f"UPDATE memory SET body = x'{body.hex()}'")
    assert alma.compact().is_whole


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_a_first_outcome_whose_body_is_damaged_stops_no_purge_of_another(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    first, other = alma.learn("dev", "Deploy", "success", "by hand"), alma.learn("eve", "Feed the animals", "success", "by hand")
    damaged = DAMAGED["no object"].hex()
    execute(tmp_path / "store" / "alma.db", f"UPDATE memory SET body = x'{damaged}' WHERE id = '{first.id}'")
    assert alma.purge([other.id]).receipt is not None


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_a_first_outcome_whose_body_is_damaged_stops_only_what_would_count_it(open_store: OpenStore, tmp_path: Path) -> None:
    open_store().learn("dev", "Deploy", "success", "by hand")
    execute(tmp_path / "store" / "alma.db", "UPDATE memory SET body = x'7b'")
    alma = open_store()
    alma.learn("dev", "Feed the animals", "success", "with a fork")
    with refused(alma, CorruptStoreError, "is damaged"):
        alma.learn("dev", "Deploy", "success", "by hand")


def test_it_comes_along_in_an_export_and_goes_on_to_count(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("giver"), open_store("taker")
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    other.import_from(tmp_path / "x.jsonl")
    assert other.content_hash() == alma.content_hash()
    for each in (alma, other):
        each.learn("dev", "Deploy", "failure", "by hand")
        assert counts(each) == {"by hand": (1, 2)}
        assert each.verify().ok


@pytest.mark.parametrize("known", [1, 2])
def test_an_imported_first_outcome_of_a_task_that_the_project_knows_counts_once(
    open_store: OpenStore, tmp_path: Path, known: int
) -> None:
    alma, other = open_store("giver"), open_store("taker")
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    for _ in range(known):
        other.learn("dev", "Deploy", "failure", "by hand")
    for stored in (1, 0):
        assert other.import_from(tmp_path / "x.jsonl", on_conflict="skip").stored.memories == stored
    other.learn("dev", "Deploy", "failure", "by hand")
    assert counts(other) == {"by hand": (1, known + 2)}
    assert other.verify().ok


def test_imported_evidence_does_not_hide_a_first_outcome_of_the_project(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("giver"), open_store("taker")
    for _ in range(2):
        alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    other.learn("dev", "Deploy", "failure", "by guessing")
    assert other.import_from(tmp_path / "x.jsonl").stored.evidence == 1
    assert counts(other) == {"by guessing": (0, 1), "by hand": (2, 2)}
    assert other.verify().ok


def test_what_became_of_a_first_outcome_elsewhere_comes_along_with_it(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store("giver"), open_store("taker")
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    other.import_from(tmp_path / "x.jsonl")
    for strategy in ("by hand", "by guessing"):
        alma.learn("dev", "Deploy", "failure", strategy)
    alma.export(tmp_path / "x.jsonl")

    for stored_evidence in (2, 0):  # of each strategy, once
        report = other.import_from(tmp_path / "x.jsonl", on_conflict="skip")
        assert report.stored.evidence == stored_evidence
        assert counts(other) == {"by hand": (1, 2), "by guessing": (0, 1)}
    other.learn("dev", "Deploy", "failure", "by guessing")
    assert counts(other) == {"by hand": (1, 2), "by guessing": (0, 2)}
    assert other.verify().ok


def test_first_outcomes_that_came_over_another_project_count_once(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other, third = open_store("giver"), open_store("taker"), open_store("third")
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    other.import_from(tmp_path / "x.jsonl")
    third.learn("dev", "Deploy", "failure", "by guessing")
    third.import_from(tmp_path / "x.jsonl", on_conflict="skip")
    third.learn("dev", "Deploy", "failure", "by guessing")
    third.export(tmp_path / "x.jsonl")
    assert other.import_from(tmp_path / "x.jsonl", on_conflict="skip").stored.evidence == 2
    assert counts(other) == {"by hand": (1, 1), "by guessing": (0, 2)}
    assert other.verify().ok


def another(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """A second outcome in a file of one."""
    made = {**lines[1], "id": lines[1]["id"][:-4] + "beef"}
    lines.insert(2, made)
    lines[0]["counts"]["memories"] += 1
    return made


HOSTILE: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "two that claim to be the only one of a task": another,
    "one of another agent's task": lambda lines: lines[1].update(agent="eve"),
    "one of another type": lambda lines: lines[1]["body"].update(task_type="testing"),
    "one of another strategy": lambda lines: lines[1]["body"].update(strategy_used="by guessing"),
    "one of no task at all": lambda lines: lines[1].update(evidence="0"),
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_an_outcome_that_rests_on_what_it_is_not_is_refused(
    open_store: OpenStore, tmp_path: Path, spoil: Callable[[list[dict[str, Any]]], Any]
) -> None:
    alma, other = open_store("giver"), open_store("taker")
    alma.learn("dev", "Deploy", "success", "by hand")
    alma.export(tmp_path / "x.jsonl")
    lines = lines_of(tmp_path / "x.jsonl")
    spoil(lines)
    with refused(other, ValidationError, "rests on"):
        other.import_from(write_lines(tmp_path / "x.jsonl", lines))


def test_what_is_expected_of_an_unknown_task_is_what_became_of_all_the_others(alma: ALMA) -> None:
    alma.learn_many(
        {"agent": "dev", "task": f"Chore {number} of the {number}th day", "outcome": number % 4 > 0} for number in range(40)
    )
    seen = alma.assess(context="Translate the letter of the notary", agent="dev")
    assert 0.7 < seen.confidence_score < 0.8


def test_what_others_learned_meanwhile_is_taken_in_without_reading_all_anew(open_store: OpenStore, mocker: MockerFixture) -> None:
    one, other = open_store(), open_store()
    for hand in (one, other):
        hand.learn("dev", "Feed the animals", True, "by hand")
    one.strategies(agent="dev")  # it reads what is known, and so does each that learned
    reading = mocker.spy(EvidenceReader, "newest")
    for number, chore in enumerate(["Translate a letter", "Count votes", "Paint walls", "Water flowers", "Audit books"]):
        (one, other)[number % 2].learn("dev", "Deploy", number % 4 > 0, "by hand", error_message="it broke")
        (one, other)[number % 2].learn("dev", chore, True, "by hand")
    other.learn("dev", "Audit books", True, "by hand")
    one.learn("dev", "Water flowers", True, "by hand")
    assert reading.call_count == 0
    known = {"Feed the animals": 2, "Deploy": 5, "Audit books": 2, "Water flowers": 2, "Count votes": 1}
    assert {task: row.trials for task in known for row in one.strategies(task, "dev")} == known
    assert reading.call_count == 0


@pytest.mark.parametrize("taken_back", ["undo", "purge"])
def test_what_others_took_back_meanwhile_is_not_counted(open_store: OpenStore, taken_back: str) -> None:
    one, other = open_store(), open_store()
    first = one.learn("dev", "Deploy", True, "by hand")
    other.learn("dev", "Feed the animals", True, "by hand")
    one.learn("dev", "Deploy", True, "by hand")
    if taken_back == "undo":
        other.undo(2)
    else:
        other.purge([first.id])
    one.learn("dev", "Deploy", False, "by guessing")
    (row,) = [row for row in one.strategies("Deploy", "dev") if row.strategy == "by hand"]
    assert (row.successes, row.trials) == ((1, 1) if taken_back == "undo" else (2, 2))
    assert one.verify().ok
