"""What is learned is an event once: while somebody subscribes, also after a restart, and never for what was only imported."""

from pathlib import Path

from alma import ALMA
from alma.events import EventEmitter, MemoryEvent, MemoryEventType, read_events
from alma_events import rule_events

HASH = {"project_id": "shop", "embedding_provider": "hash"}


def succeed(alma: ALMA, count: int, *, agent: str = "victor", start: int = 0) -> None:
    for number in range(start, start + count):
        alma.learn(agent, f"Deploy the service {number}", "success", "canary rollout")


def fail(alma: ALMA, count: int) -> None:
    for number in range(count):
        alma.learn("victor", f"Deploy the shop {number}", "failure", "rolling update", error_message="probe failed")


def types(events: list[MemoryEvent]) -> list[str]:
    return [str(event.event_type) for event in events]


def test_a_rule_is_formed_once_and_then_changes(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    succeed(alma, 3)
    formed, state = rule_events(alma, state)
    assert [(str(one.event_type), one.agent, one.memory_type) for one in formed] == [("heuristic.formed", "victor", "heuristic")]
    assert formed[0].payload["success_count"] == 3
    assert alma.get(formed[0].memory_id or "").id == formed[0].memory_id
    succeed(alma, 8, start=3)
    changed, state = rule_events(alma, state)
    assert set(types(changed)) <= {"rule.promoted", "confidence.updated"}
    (counts,) = (one for one in changed if one.event_type == "confidence.updated")
    assert counts.payload["occurrence_count"] == {"old": 3, "new": 11}
    assert rule_events(alma, state)[0] == []


def test_what_fails_is_detected(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    fail(alma, 3)
    (event,), _ = rule_events(alma, state)
    assert (event.event_type, event.memory_type) == ("antipattern.detected", "anti_pattern")


def test_the_words_of_a_rule_are_in_neither_events_nor_state(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    fail(alma, 3)
    events, state = rule_events(alma, state)
    said = f"{[event.to_dict() for event in events]} {state}"
    assert "rolling" not in said
    assert "probe" not in said


def test_without_a_state_what_is_known_already_is_no_event(alma: ALMA) -> None:
    succeed(alma, 3)
    assert rule_events(alma, None)[0] == []


def test_after_a_restart_a_rule_is_not_formed_again(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, **HASH) as alma:
        _, state = rule_events(alma, None)
        succeed(alma, 3)
        first, state = rule_events(alma, state)
    with ALMA.open(tmp_path, **HASH) as again:
        assert rule_events(again, state)[0] == []
        fail(again, 3)
        second, _ = rule_events(again, state)
    assert (types(first), types(second)) == (["heuristic.formed"], ["antipattern.detected"])


def test_a_process_that_dies_before_it_keeps_the_state_repeats_the_same_id(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    succeed(alma, 3)
    first, _ = rule_events(alma, state)
    succeed(alma, 1, start=3)
    again, _ = rule_events(alma, state)
    assert [event.id for event in again] == [event.id for event in first]


def test_neither_an_import_nor_another_version_of_the_learning_forms_rules(alma: ALMA, tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "other", **HASH) as other:
        succeed(other, 3, agent="helena")
        other.export(tmp_path / "export.jsonl")
    _, state = rule_events(alma, None)
    alma.import_from(tmp_path / "export.jsonl")
    events, state = rule_events(alma, state)
    assert events == []
    succeed(alma, 3)
    assert rule_events(alma, {**state, "version": "0.0.1"})[0] == []
    assert types(rule_events(alma, state)[0]) == ["heuristic.formed"]


def test_a_rule_that_follows_no_more_is_demoted_and_not_formed_a_second_time(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    succeed(alma, 3)
    _, state = rule_events(alma, state)
    alma.undo(to=1)
    gone, state = rule_events(alma, state)
    assert (types(gone), gone[0].payload["level"]["new"]) == (["rule.demoted"], None)
    alma.undo(to=3)
    back, _ = rule_events(alma, state)
    assert "heuristic.formed" not in types(back)
    assert "rule.promoted" in types(back)


def test_the_emitter_reports_rules_also_of_a_store_that_is_opened_later(emitter: EventEmitter, tmp_path: Path) -> None:
    with ALMA.open(tmp_path, **HASH) as alma:
        succeed(alma, 2)
    seen: list[MemoryEvent] = []
    emitter.subscribe(MemoryEventType.HEURISTIC_FORMED, seen.append)
    for number in range(2, 5):
        with ALMA.open(tmp_path, **HASH) as alma:
            succeed(alma, 1, start=number)
    assert emitter.flush()
    assert types(seen) == ["heuristic.formed"]


def test_a_store_that_is_open_twice_reports_its_rules_when_one_of_both_closes(emitter: EventEmitter, tmp_path: Path) -> None:
    seen: list[MemoryEvent] = []
    emitter.subscribe_all(seen.append)
    with ALMA.open(tmp_path, **HASH) as one, ALMA.open(tmp_path, **HASH) as two:
        succeed(one, 2)
        one.close()
        succeed(two, 1, start=2)
    assert emitter.flush()
    assert types(seen).count("heuristic.formed") == 1
    assert types(seen).count("memory.created") == 3


def test_events_of_the_journal_have_no_rules(alma: ALMA) -> None:
    succeed(alma, 4)
    assert {str(event.event_type) for event in read_events(alma)} == {"memory.created"}


def test_each_agent_and_each_user_has_rules_of_its_own(alma: ALMA) -> None:
    _, state = rule_events(alma, None)
    for agent, user in (("victor", None), ("helena", None), ("victor", "maria")):
        for number in range(3):
            task = f"Deploy the service {number}" if user is None else f"Translate the letter {number}"
            alma.learn(agent, task, "success", "canary rollout" if user is None else "word by word", user_id=user)
    events, state = rule_events(alma, state)
    assert sorted((event.agent or "", event.user_id or "") for event in events) == [
        ("helena", ""),
        ("victor", ""),
        ("victor", "maria"),
    ]
    alma.learn("victor", "Translate the letter 9", "success", "word by word", user_id="maria")
    changed, state = rule_events(alma, state)
    assert {(event.agent, event.user_id) for event in changed} == {("victor", "maria")}
    assert rule_events(alma, state)[0] == []
