import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.longmemeval.questions import Question, read_questions
from benchmarks.longmemeval.recall import AGENT, store
from benchmarks.records import DataError

from alma import ALMA
from alma.types.memories import Conversation

FACT = "blue ceramic jar"


def questions_of(tmp_path: Path, *records: dict[str, Any], seed: int = 0) -> list[Question]:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(records))
    return read_questions(path, seed=seed)


def places_of(question: Question, text: str) -> set[int]:
    return {place for place, session in enumerate(question.sessions) if any(text in turn.text for turn in session.turns)}


@pytest.mark.parametrize("seed", range(5))
def test_gold_is_where_the_evidence_went(tmp_path: Path, record: dict[str, Any], seed: int) -> None:
    (question,) = questions_of(tmp_path, record, seed=seed)

    assert question.gold == places_of(question, FACT) != set()


def test_the_order_of_sessions_is_shuffled_by_the_seed(tmp_path: Path, record: dict[str, Any]) -> None:
    firsts = {questions_of(tmp_path, record, seed=seed)[0].sessions[0].turns[0].text for seed in range(12)}

    assert len(firsts) > 3
    assert questions_of(tmp_path, record, seed=1) == questions_of(tmp_path, record, seed=1)


def test_no_session_id_reaches_what_is_stored(tmp_path: Path, record: dict[str, Any]) -> None:
    (question,) = questions_of(tmp_path, record)
    with ALMA.open(tmp_path / "memory", project_id="p", embedding_provider="hash") as alma:
        ids = [store(alma, session, place) for place, session in enumerate(question.sessions)]
        alma.export(tmp_path / "all.jsonl")

    stored = (tmp_path / "all.jsonl").read_text()
    assert not [name for name in record["haystack_session_ids"] if name in stored]
    assert all(memory_id in stored for memory_id in ids)
    assert FACT in stored


def test_renaming_the_evidence_changes_nothing_but_the_gold(tmp_path: Path, record: dict[str, Any]) -> None:
    names = record["haystack_session_ids"]
    renamed = {**record, "haystack_session_ids": [f"s{number}" for number in range(len(names))], "answer_session_ids": ["s0"]}

    assert questions_of(tmp_path, record)[0].sessions == questions_of(tmp_path, renamed)[0].sessions


def test_evidence_that_the_haystack_lacks_is_counted_as_missing(tmp_path: Path, record: dict[str, Any]) -> None:
    record["answer_session_ids"].append("answer_elsewhere")

    assert questions_of(tmp_path, record)[0].missing == 1


def test_a_question_without_evidence_is_not_scored(tmp_path: Path, record: dict[str, Any]) -> None:
    without = {**record, "answer_session_ids": []}

    assert len(questions_of(tmp_path, record, without)) == 1
    with pytest.raises(DataError, match="evidence"):
        questions_of(tmp_path, without)


def test_the_time_of_a_session_is_read(tmp_path: Path, record: dict[str, Any]) -> None:
    record["haystack_dates"] = ["2023/05/20 (Sat) 03:29"] * 6

    assert {session.time.isoformat() for session in questions_of(tmp_path, record)[0].sessions if session.time} == {
        "2023-05-20T03:29:00+00:00"
    }


def test_what_is_no_longmemeval_question_is_an_error_that_says_what_it_lacks(tmp_path: Path, record: dict[str, Any]) -> None:
    del record["haystack_sessions"]

    with pytest.raises(DataError, match="haystack_sessions"):
        questions_of(tmp_path, record)


def test_user_turns_are_own_text_and_assistant_turns_are_not(tmp_path: Path, record: dict[str, Any]) -> None:
    (question,) = questions_of(tmp_path, record)
    with ALMA.open(tmp_path / "memory", project_id="p", embedding_provider="hash") as alma:
        for place, session in enumerate(question.sessions):
            store(alma, session, place)
        stored = alma.list_memories("conversation", AGENT)

    assert len(stored) == len(question.sessions)
    turns = {(turn.speaker, turn.is_own) for memory in stored if isinstance(memory, Conversation) for turn in memory.turns}
    assert turns == {("user", True), ("assistant", False)}
