"""The same idempotency key counts once, whoever sends it again and however often."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from alma import ALMA, ConflictError, ScopeViolationError, ValidationError
from alma.types.memories import Outcome
from facade import START, ManualClock, OpenStore, held, refused

GIVEN: dict[str, Any] = {"agent": "dev", "task": "Deploy auth service", "outcome": "success", "strategy_used": "blue-green"}


def rules(alma: ALMA) -> list[tuple[str, int]]:
    return [(rule.strategy, rule.occurrence_count) for rule in alma.list_memories("heuristic")]  # type: ignore[union-attr]


def test_the_second_call_gives_the_first_outcome_and_writes_nothing(alma: ALMA, clock: ManualClock) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    assert first.metadata == {"idempotency_key": "run 7"}
    before = held(alma)
    clock.advance(days=3)
    assert alma.learn(**GIVEN, idempotency_key="run 7") == first
    assert alma.learn(**{**GIVEN, "strategy_used": "told in other words"}, idempotency_key=" run 7 ") == first
    assert alma.add("outcome", **GIVEN, idempotency_key="run 7") == first
    assert held(alma) == before
    assert alma.verify().ok


def test_what_is_sent_again_is_no_evidence(alma: ALMA) -> None:
    for number in (1, 2):
        for _ in range(5):
            alma.learn(**GIVEN, idempotency_key=f"run {number}")
    assert rules(alma) == []
    for number in (3, 4):
        alma.learn(**GIVEN, idempotency_key=f"run {number}")
    assert [count for _, count in rules(alma)] == [4]


def test_without_a_key_every_call_counts(alma: ALMA) -> None:
    assert alma.learn(**GIVEN).id != alma.learn(**GIVEN).id
    assert alma.get_stats().by_kind["outcome"] == 2


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"agent": "ops"}, "differs in its agent"),
        ({"task": "Deploy mail service"}, "differs in its task"),
        ({"outcome": "failure"}, "differs in its outcome"),
        ({"agent": "ops", "outcome": False}, "differs in its agent, outcome"),
    ],
)
def test_the_same_key_for_something_else_is_a_conflict(alma: ALMA, other: dict[str, Any], told: str) -> None:
    alma.learn(**GIVEN, idempotency_key="run 7")
    with refused(alma, ConflictError, told):
        alma.learn(**{**GIVEN, **other}, idempotency_key="run 7")
    with refused(alma, ConflictError, told):
        alma.learn_many([{**GIVEN, "task": "Another"}, {**GIVEN, **other, "idempotency_key": "run 7"}])


def test_another_project_has_keys_of_its_own(alma: ALMA) -> None:
    lab = alma.for_project("lab")
    assert alma.learn(**GIVEN, idempotency_key="run 7").id != lab.learn(**GIVEN, idempotency_key="run 7").id


@pytest.mark.parametrize("key", [7.5, True, "a\nb", "x" * 201, "\ud800"])
def test_a_key_that_is_none_is_refused(alma: ALMA, key: Any) -> None:
    alma.learn(**GIVEN)
    with refused(alma, ValidationError, "idempotency_key"):
        alma.learn(**GIVEN, idempotency_key=key)


@pytest.mark.parametrize("key", [None, "", "  "])
def test_an_empty_key_is_none(alma: ALMA, key: Any) -> None:
    assert alma.learn(**GIVEN, idempotency_key=key).metadata == {}


def test_of_many_only_the_new_are_learned_and_each_has_its_outcome(alma: ALMA) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 1")
    items = [
        {**GIVEN, "idempotency_key": "run 2"},
        {**GIVEN, "idempotency_key": "run 1"},
        GIVEN,
        {**GIVEN, "idempotency_key": "run 2"},
    ]
    made = alma.learn_many(items)
    assert made[1] == first
    assert made[3] == made[0]
    assert len({outcome.id for outcome in made}) == 3
    assert alma.get_stats().by_kind["outcome"] == 3
    before = held(alma)
    assert alma.learn_many(items[:2]) == made[:2]
    assert held(alma) == before


def test_within_one_call_the_same_key_for_something_else_is_a_conflict(alma: ALMA) -> None:
    alma.learn(**GIVEN)
    with refused(alma, ConflictError, "differs in its outcome"):
        alma.learn_many([{**GIVEN, "idempotency_key": "k"}, {**GIVEN, "outcome": "failure", "idempotency_key": "k"}])


def test_an_error_names_the_item_by_its_place_among_all(open_store: OpenStore) -> None:
    alma = open_store(agents={"dev": {"can_learn": ["deploy"], "cannot_learn": ["bake a cake"]}})
    alma.learn(**GIVEN, task_type="deploy", idempotency_key="run 1")
    known = {**GIVEN, "task_type": "deploy", "idempotency_key": "run 1"}
    with refused(alma, ScopeViolationError, "item 2: "):
        alma.learn_many([known, known, {**GIVEN, "task": "bake a cake"}])


def test_of_many_callers_at_once_one_is_counted_and_all_get_its_outcome(open_store: OpenStore) -> None:
    stores = [open_store() for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: stores[n % 4].learn(**GIVEN, idempotency_key="run 7"), range(16)))
    assert len({outcome.id for outcome in made}) == 1
    assert stores[0].get_stats().by_kind == {"outcome": 1}
    assert stores[0].verify().ok


def test_an_outcome_that_another_open_learns_meanwhile_counts_beside_new_ones(open_store: OpenStore) -> None:
    other = open_store()
    came: list[Outcome] = []

    def busy_clock() -> datetime:
        """Returns the time, after which another open has learned under one of the keys."""
        if is_learning and not came:
            came.append(other.learn(**GIVEN, idempotency_key="run 7"))
        return START

    is_learning = False
    alma = open_store(clock=busy_clock)
    is_learning = True
    made = alma.learn_many([{**GIVEN, "idempotency_key": "run 6"}, {**GIVEN, "idempotency_key": "run 7"}])
    assert made[1] == came[0]
    assert alma.get_stats().by_kind == {"outcome": 2}


def test_however_many_come_up_meanwhile_one_after_the_other_all_are_taken(open_store: OpenStore) -> None:
    other = open_store()
    waiting = [f"run {number}" for number in range(6)]
    came: list[str] = []

    def busy_clock() -> datetime:
        """Whoever looks at it loses a moment, in which another open learns."""
        if is_learning and waiting:
            came.append(other.learn(**GIVEN, idempotency_key=waiting.pop(0)).id)
        return START

    is_learning = False
    alma = open_store(clock=busy_clock)
    items = [{**GIVEN, "idempotency_key": key} for key in waiting]
    is_learning = True
    made = alma.learn_many(items)
    assert [outcome.id for outcome in made] == came
    assert other.get_stats().by_kind["outcome"] == 6


def test_what_was_undone_or_purged_can_be_learned_again(alma: ALMA) -> None:
    before = held(alma)["journal_records"]
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    alma.undo(to=before)
    second = alma.learn(**GIVEN, idempotency_key="run 7")
    assert second.id != first.id
    receipt = alma.purge([second.id]).receipt
    assert receipt is not None
    assert {surface.name: surface.found for surface in receipt.surfaces}["small records"] == 1
    assert alma.learn(**GIVEN, idempotency_key="run 7").id != second.id
    assert alma.verify().ok


def test_a_purge_leaves_the_key_of_another_outcome_alone(alma: ALMA) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    forged = alma.learn(**GIVEN, metadata={"idempotency_key": "run 7"})
    alma.purge([forged.id])
    assert alma.learn(**GIVEN, idempotency_key="run 7") == first


def test_what_was_forgotten_stays_known_by_its_key(alma: ALMA) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    alma.forget(memory_ids=[first.id])
    assert alma.learn(**GIVEN, idempotency_key="run 7") == first
    assert alma.get_stats().total == 0


def test_keys_go_along_in_an_export(alma: ALMA, open_store: OpenStore, tmp_path: object) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    alma.export(f"{tmp_path}/all.jsonl")
    other = open_store("other")
    other.import_from(f"{tmp_path}/all.jsonl")
    assert other.learn(**GIVEN, idempotency_key="run 7").id == first.id
    assert other.content_hash() == alma.content_hash()


def test_a_note_of_an_outcome_that_is_gone_says_so(alma: ALMA) -> None:
    first = alma.learn(**GIVEN, idempotency_key="run 7")
    project = alma.storage.project(alma.project_id)
    ((key, version, body),) = project.records("learned")
    with project.write(actor="", operation="test", at=0) as write:
        write.put_record("learned", key, {**body, "outcome_id": "nobody"}, version=version)
    assert alma.get(first.id) == first
    with refused(alma, ConflictError, "an outcome that is gone; use another key"):
        alma.learn(**GIVEN, idempotency_key="run 7")
