"""Questions are grouped by haystack, results are kept for later, vectors too, and sessions may share one store."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.locomo.questions import read_questions as read_locomo
from benchmarks.longmemeval.asking import ask, tasks
from benchmarks.longmemeval.embedding_cache import CachedEmbedder
from benchmarks.longmemeval.progress import Progress
from benchmarks.longmemeval.prompts import auc
from benchmarks.longmemeval.questions import Question, in_one_store, read_questions
from benchmarks.longmemeval.recall import Asked, Prompt
from benchmarks.records import DataError

from alma.embedding import create_embedder

RUN = {"data": "x", "seed": 0}
FOUND = Asked((2, 0), ((2, 1),), 0.25, {500: Prompt(120, ((2, 1),))}, 0.75, None)


@pytest.fixture
def questions(data: Path) -> list[Question]:
    return read_questions(data)


class Counting:
    """An embedder that counts the texts that it is given."""

    def __init__(self) -> None:
        self._inner = create_embedder("hash")
        self.fingerprint = self._inner.fingerprint
        self.count = 0

    def embed(self, texts: Sequence[str], /) -> Any:
        self.count += len(texts)
        return self._inner.embed(texts)


def test_one_store_holds_every_session_once_and_gold_moves_with_it(questions: list[Question]) -> None:
    doubled = [*questions, questions[0]]
    moved = in_one_store(doubled)

    assert len(moved[0].sessions) == sum(len(question.sessions) for question in questions)
    for before, after in zip(doubled, moved, strict=True):
        assert after.sessions is moved[0].sessions
        gold = {before.sessions[place].turns for place in before.gold}
        assert {after.sessions[place].turns for place in after.gold} == gold != set()


def test_turns_with_evidence_are_known_by_their_place(tmp_path: Path, record: dict[str, Any]) -> None:
    for told in record["haystack_sessions"]:
        for turn in told:
            if "blue ceramic jar" in turn["content"]:
                turn["has_answer"] = True
    path = tmp_path / "marked.json"
    path.write_text(json.dumps([record]))
    (question,) = read_questions(path)

    ((place, turn),) = question.gold_turns
    assert "blue ceramic jar" in question.sessions[place].turns[turn].text


def test_evidence_turns_of_locomo_are_those_of_its_marks(tmp_path: Path) -> None:
    said = [{"speaker": "Ann", "dia_id": f"D1:{number}", "text": text} for number, text in enumerate(["", "Hi.", "Soup."], 1)]
    told = {"session_1": said, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    asked = {"question": "What does Ann eat?", "answer": "soup", "evidence": ["D1:3", "D1:9"], "category": 4}
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"conversation": told, "qa": [asked]}]))
    (question,) = read_locomo(path)

    assert (question.gold_turns, question.missing_turns) == ({(0, 1)}, 1)


def test_results_are_kept_and_a_torn_line_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "results.jsonl"
    Progress(path, RUN).add((3, "hybrid"), FOUND)
    with path.open("a") as file:
        file.write('{"question": 4, "mode"')

    again = Progress(path, RUN)
    assert again.found == {(3, "hybrid"): FOUND}
    again.add((4, "bm25"), FOUND)
    assert set(Progress(path, RUN).found) == {(3, "hybrid"), (4, "bm25")}


def test_results_of_another_run_are_refused(tmp_path: Path) -> None:
    Progress(tmp_path / "results.jsonl", RUN)
    with pytest.raises(DataError, match="another run"):
        Progress(tmp_path / "results.jsonl", {**RUN, "seed": 1})


def test_only_what_is_left_is_asked(questions: list[Question]) -> None:
    (last,) = tasks(questions, ["hybrid", "bm25"], [(0, "hybrid"), (0, "bm25"), (1, "hybrid"), (1, "bm25"), (2, "hybrid")])

    assert last.questions == ((2, questions[2]),)
    assert last.modes == (("bm25",),)


def test_a_question_of_another_haystack_is_asked_unless_its_evidence_is_there(questions: list[Question]) -> None:
    first, second, third = tasks(questions, ["hybrid"], [])
    assert (first.foreign[0], third.foreign[0]) == (questions[1], questions[0])
    assert second.foreign[0] is questions[2]

    same = [questions[0], Question(**{name: getattr(questions[0], name) for name in Question.__slots__})]
    shared = Question(**{**{name: getattr(same[1], name) for name in Question.__slots__}, "sessions": tuple(same[1].sessions)})
    assert all(task.foreign in ((None,), (None, None)) for task in tasks([questions[0], shared], ["hybrid"], []))


@pytest.mark.slow
def test_several_processes_find_what_one_finds(questions: list[Question], tmp_path: Path) -> None:
    found = []
    for workers in (1, 2):
        progress = Progress(None, RUN)
        todo = tasks(questions, ["hybrid", "bm25"], [])
        assert sum(ask(todo, progress, embedder="hash", cache=tmp_path / "vectors.db", workers=workers)) == len(questions)
        found.append({key: (asked.sessions, asked.turns, asked.prompts) for key, asked in progress.found.items()})
    assert found[0] == found[1]


def test_vectors_are_made_once_and_read_by_the_next_run(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(1_203)]
    first, second = Counting(), Counting()
    made = CachedEmbedder(first, tmp_path / "vectors.db").embed([*texts, *texts])
    read = CachedEmbedder(second, tmp_path / "vectors.db").embed(texts)

    assert (first.count, second.count) == (len(texts), 0)
    assert np.array_equal(made[: len(texts)], read)
    assert np.array_equal(made[len(texts) :], read)
    assert np.allclose(read, first._inner.embed(texts))


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), tmp_path / "vectors.db").embed(["text"])
    other = Counting()
    other.fingerprint = other.fingerprint.model_copy(update={"revision": "another"})
    CachedEmbedder(other, tmp_path / "vectors.db").embed(["text"])
    assert other.count == 1


def test_auc_is_the_share_of_pairs_in_order() -> None:
    assert auc([0.9, 0.5], [0.5, 0.1]) == 0.875
