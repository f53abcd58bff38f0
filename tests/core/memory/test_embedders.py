"""An embedder of one's own, and embedders that fail: an error, and nothing is stored."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from alma import ALMA, EmbeddingError, Outcome
from alma.embedding.hashing import HashEmbedder
from alma.types import Fingerprint
from facade import OpenStore, held, refused

DIMENSION = 32


class ScriptedEmbedder:
    """Embeds as `HashEmbedder` does until it is told otherwise, and remembers the texts of each call."""

    compares_words = True

    def __init__(self) -> None:
        self._hash = HashEmbedder(DIMENSION)
        self.calls: list[list[str]] = []
        self.answer: Callable[[Sequence[str]], Any] = self._hash.embed

    @property
    def fingerprint(self) -> Fingerprint:
        return self._hash.fingerprint

    def embed(self, texts: Sequence[str], /) -> Any:
        self.calls.append(list(texts))
        return self.answer(texts)


def _raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def embed(texts: Sequence[str]) -> Any:
        raise error

    return embed


def _rows(value: float) -> Callable[[Sequence[str]], Any]:
    return lambda texts: np.full((len(texts), DIMENSION), value, np.float32)


FAULTS: dict[str, Callable[[Sequence[str]], Any]] = {
    "another dimension": lambda texts: np.ones((len(texts), DIMENSION + 1), np.float32),
    "one row too many": lambda texts: np.ones((len(texts) + 1, DIMENSION), np.float32),
    "one row too few": lambda texts: np.ones((len(texts) - 1, DIMENSION), np.float32),
    "no rows": lambda texts: np.ones((0, DIMENSION), np.float32),
    "one flat row": lambda texts: np.ones(DIMENSION, np.float32),
    "NaN": _rows(float("nan")),
    "infinity": _rows(float("inf")),
    "more than float16 holds": _rows(1e6),
    "zeros": _rows(0.0),
    "lists": lambda texts: [[0.1] * DIMENSION for _ in texts],
    "words": lambda texts: np.full((len(texts), DIMENSION), "x"),
    "nothing": lambda texts: None,
    "an error of its own": _raising(RuntimeError("the model is on fire")),
    "a type error": _raising(TypeError("what is a text?")),
    "an embedding error": _raising(EmbeddingError("too tired")),
}


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def scripted(open_store: OpenStore, embedder: ScriptedEmbedder) -> ALMA:
    alma = open_store(embedding_provider=embedder)
    alma.learn("a", "Deploy the service", "success")
    return alma


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_fails_is_an_embedding_error_and_nothing_is_stored(
    scripted: ALMA, embedder: ScriptedEmbedder, fault: str
) -> None:
    embedder.answer = FAULTS[fault]
    for call in (
        lambda: scripted.learn("a", "Roll it back", "failure"),
        lambda: scripted.learn_many([{"agent": "a", "task": f"t {n}", "outcome": True} for n in range(3)]),
        lambda: scripted.add_user_preference("u", "style", "short"),
        lambda: scripted.add_many([Outcome(agent="a", task_description="something else")]),
        lambda: scripted.retrieve("What is new?", "a"),
    ):
        with refused(scripted, EmbeddingError):
            call()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_lives_on_after_its_model_failed(scripted: ALMA, embedder: ScriptedEmbedder, fault: str) -> None:
    well, embedder.answer = embedder.answer, FAULTS[fault]
    with pytest.raises(EmbeddingError):
        scripted.learn("a", "Roll it back", "failure")
    embedder.answer = well
    outcome = scripted.learn("a", "Roll it back", "failure")
    assert scripted.retrieve("Roll it back", "a", profile="recall").ids[0] == outcome.id
    assert scripted.verify().ok


def test_the_error_of_a_model_is_kept_as_the_cause_and_names_the_model(scripted: ALMA, embedder: ScriptedEmbedder) -> None:
    embedder.answer = FAULTS["an error of its own"]
    with pytest.raises(EmbeddingError, match=r"hash.*on fire") as caught:
        scripted.learn("a", "Roll it back", "failure")
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_tells_what_it_holds_while_its_model_fails(open_store: OpenStore, embedder: ScriptedEmbedder, fault: str) -> None:
    alma = open_store(embedding_provider=embedder)
    alma.learn_many({"agent": "a", "task": f"Deploy {n}", "outcome": True, "strategy_used": "blue-green"} for n in range(3))
    well, embedder.answer = embedder.answer, FAULTS[fault]
    assert alma.get_stats().by_kind["outcome"] == 3
    assert len(alma.list_memories("outcome")) == 3
    embedder.answer = well
    assert [(row.strategy, row.successes) for row in alma.strategies(agent="a")] == [("blue-green", 3)]
    assert alma.get_stats().by_kind["heuristic"] == len(alma.list_memories("heuristic")) == 1


def test_a_learn_embeds_in_one_call_and_a_known_text_in_none(scripted: ALMA, embedder: ScriptedEmbedder) -> None:
    scripted.retrieve("Deploy the service", "a")  # the first question embeds what texts are compared with
    embedder.calls.clear()
    scripted.learn("a", "Roll it back", "failure", "kubectl rollout undo", error_message="no such revision")
    assert len(embedder.calls) == 1
    scripted.learn("a", "Roll it back", "success", "kubectl rollout undo")
    scripted.retrieve("Roll it back", "a")
    assert len(embedder.calls) == 1


def test_many_are_embedded_in_one_call_each_text_once(scripted: ALMA, embedder: ScriptedEmbedder) -> None:
    embedder.calls.clear()
    scripted.learn_many({"agent": "a", "task": f"task {n % 10}", "outcome": True} for n in range(100))
    assert [sorted(texts) for texts in embedder.calls] == [[f"task {n}" for n in range(10)]]


def test_a_text_that_is_stored_is_not_embedded_again_by_the_next_process(open_store: OpenStore) -> None:
    open_store(embedding_provider=ScriptedEmbedder()).learn("a", "Deploy the service", "success")
    embedder = ScriptedEmbedder()
    alma = open_store(embedding_provider=embedder)
    alma.learn("a", "Deploy the service", "failure")
    assert embedder.calls == []
    assert held(alma)["total"] == 2
