"""An embedder without measured limits learns from tasks in other words, however it spreads its cosines."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import numpy as np
import pytest
from numpy.typing import NDArray

from alma import ALMA, EmbeddingError
from alma.embedding import MiniLMEmbedder
from alma.embedding.scale import SENTENCES
from alma.types.identity import Fingerprint

LIKE = ("Refund the parcel that arrived broken", "Give a customer the money back", "Reimburse a damaged delivery")
SHIFT = 1.6
"""So far all vectors are moved into one direction: cosines of .1 become .75, of .6 .89."""


class Shifted:
    """MiniLM's vectors, all near to one direction, as those of many other models are."""

    def __init__(self) -> None:
        self._embedder = MiniLMEmbedder()
        direction = np.random.default_rng(0).normal(size=384)
        self._direction = SHIFT * direction / np.linalg.norm(direction)
        self.asked: list[str] = []
        self.is_away = False
        self.fingerprint = Fingerprint(
            model="shifted", revision="1", dimension=384, precision="float32", token_limit=256, preparation=""
        )

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        if self.is_away:
            raise OSError("no route to the model")
        self.asked += texts
        rows = self._embedder.embed(texts) + self._direction
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_tasks_in_other_words_add_up_to_a_strategy(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        for task in LIKE:
            alma.learn("dev", task, True, "issue_refund(order_id)")
        for task in ("Water the plants of the office", "Translate the menu into French", "Measure the length of the corridor"):
            alma.learn("dev", task, False, "ask somebody else")

        (rule,) = alma.retrieve(task="The customer wants money back for broken goods", agent="dev").heuristics
        assert (rule.strategy, rule.success_count) == ("issue_refund(order_id)", 3)
        assert alma.retrieve(task="Water the plants", agent="dev").heuristics == []
        assert alma.verify().ok


def test_a_check_warns_of_the_same_in_other_words_and_of_nothing_else(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        alma.add_anti_pattern("dev", "Restart all nodes of the cluster at the same time", why_bad="it was away")

        assert not alma.check(agent="dev", action="Reboot every node in the cluster simultaneously").is_clear
        assert alma.check(agent="dev", action="Restart one node of the cluster after the other").is_clear
        assert alma.check(agent="dev", action="Write the report of the week").is_clear


@pytest.mark.parametrize("project", ["shop", "second"])
def test_the_sentences_are_embedded_once_a_store(tmp_path: Path, project: str) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=(first := Shifted())) as alma:
        for task in LIKE:
            alma.learn("dev", task, True, "issue_refund(order_id)")
            alma.for_project("second").learn("dev", task, True, "issue_refund(order_id)")
    with ALMA.open(tmp_path, project_id=project, embedding_provider=(second := Shifted())) as alma:
        alma.strategies("Give the money back", "dev")
        alma.learn("dev", LIKE[0], True, "issue_refund(order_id)")

    assert [first.asked.count(text) for text in SENTENCES] == [1] * len(SENTENCES)
    assert not set(second.asked) & set(SENTENCES)


def test_a_check_in_a_store_of_stated_warnings_embeds_no_sentence_again(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        alma.add_anti_pattern("dev", "Restart all nodes of the cluster at the same time", why_bad="it was away")
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=(model := Shifted())) as alma:
        assert not alma.check(agent="dev", action="Reboot every node in the cluster simultaneously").is_clear

    assert not set(model.asked) & set(SENTENCES)


def test_what_was_learned_is_read_while_the_model_is_away_and_nothing_is_judged_without_it(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        for task in LIKE:
            alma.learn("dev", task, True, "issue_refund(order_id)")
        alma.compact()  # drops the vectors of the sentences
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=(model := Shifted())) as alma:
        model.is_away = True
        before = alma.content_hash()

        assert [row.successes for row in alma.strategies(LIKE[0], "dev")] == [3]
        with pytest.raises(EmbeddingError, match="no route to the model"):
            alma.learn("dev", LIKE[0], True, "issue_refund(order_id)")
        assert alma.content_hash() == before


def test_steps_without_a_lesson_and_an_abandonment_are_stored_while_the_model_is_away(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=(model := Shifted())) as alma:
        model.is_away = True
        episode = alma.episode(agent="dev", task="Refund the parcel")
        episode.step("grep -r refund", ok=True)
        episode.abandon("the model is away")

        (record,) = alma.recent_episodes()
        assert (record.status, len(record.steps)) == ("abandoned", 1)


def test_a_file_with_vectors_is_imported_while_the_model_is_away(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "one", project_id="shop", embedding_provider=Shifted()) as alma:
        alma.add_domain_knowledge("dev", "refunds", "Refunds take two days")
        alma.export(tmp_path / "shop.jsonl", vectors=True)
    with ALMA.open(tmp_path / "two", project_id="shop", embedding_provider=(model := Shifted())) as alma:
        model.is_away = True

        assert alma.import_from(tmp_path / "shop.jsonl").stored.memories == 1


class Gathering(Shifted):
    """Answers a call about the sentences to compare when another thread asks as well, or after a while."""

    def __init__(self) -> None:
        super().__init__()
        self.several = Barrier(2)
        self.locked: list[bool] = []
        self.is_locked = lambda: False

    def embed(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        if SENTENCES[0] in texts:
            self.locked.append(self.is_locked())
            with suppress(BrokenBarrierError):
                self.several.wait(timeout=0.3)
        return super().embed(texts)


def test_threads_that_wait_for_a_model_that_fails_get_its_error(tmp_path: Path) -> None:
    model = Gathering()
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=model) as alma:
        model.is_away = True
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(alma.learn, agent, LIKE[0], True, "issue_refund(order_id)") for agent in "abcd"]
        assert all(isinstance(one.exception(), EmbeddingError) for one in asked)
        model.is_away = False
        assert alma.learn("a", LIKE[0], True, "issue_refund(order_id)").success


def test_the_floor_of_retrieval_and_the_relevance_of_conversations_are_on_the_scale_of_the_embedder(tmp_path: Path) -> None:
    said = "I adopted a grey cat from the shelter"
    answers = []
    for name, embedder in (("own", "minilm"), ("shifted", Shifted())):
        with ALMA.open(tmp_path / name, project_id="desk", embedding_provider=embedder) as alma:
            alma.add_conversation([("user", said)], "dev", "monday")
            asked = [
                alma.retrieve(text, "dev") for text in ("Which pet did I take home?", "Quantum chromodynamics lattice spacing")
            ]
            answers.append([(found.ids != [], found.relevance) for found in asked])
    own, shifted = answers
    assert [is_found for is_found, _ in own] == [is_found for is_found, _ in shifted] == [True, False]
    assert shifted[0][1] == pytest.approx(own[0][1], abs=0.1)
