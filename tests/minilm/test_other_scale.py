"""An embedder without measured limits learns from tasks in other words, however it spreads its cosines."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from alma import ALMA, EmbeddingError
from alma.embedding import MiniLMEmbedder
from alma.learning.scale import ALIKE, SENTENCES, UNRELATED, scale_of
from alma.types.embedding import Fingerprint

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


def test_the_means_of_the_measured_model_are_the_constants() -> None:
    scale = scale_of(MiniLMEmbedder().embed(SENTENCES))
    assert scale is not None
    assert scale.slope == pytest.approx(1.0, abs=0.005)
    assert scale.of(ALIKE) == pytest.approx(ALIKE, abs=0.005)
    assert scale.of(UNRELATED) == pytest.approx(UNRELATED, abs=0.005)


def test_tasks_in_other_words_add_up_to_a_strategy(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        for task in LIKE:
            alma.learn("dev", task, True, "issue_refund(order_id)")
        for task in ("Water the plants of the office", "Translate the menu into French", "Measure the length of the corridor"):
            alma.learn("dev", task, False, "ask somebody else")

        (rule,) = alma.retrieve(task="The customer wants money back for broken goods", agent="dev").heuristics
        assert (rule.strategy, rule.success_count) == ("issue_refund(order_id)", 3)
        assert alma.retrieve(task="Water the plants", agent="dev").heuristics == []
        assert alma.list_memories(kind="anti_pattern") == []
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

        assert [row.successes for row in alma.strategies(LIKE[0], "dev")] == [1]
        with pytest.raises(EmbeddingError, match="no route to the model"):
            alma.learn("dev", LIKE[0], True, "issue_refund(order_id)")
        assert alma.content_hash() == before


def test_what_was_learned_counts_again_for_near_tasks_once_the_model_is_back(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=Shifted()) as alma:
        for task in LIKE:
            alma.learn("dev", task, True, "issue_refund(order_id)")
        alma.compact()  # drops the vectors of the sentences
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=(model := Shifted())) as alma:
        model.is_away = True
        assert [row.successes for row in alma.strategies(LIKE[0], "dev")] == [1]

        model.is_away = False
        assert [row.successes for row in alma.strategies(LIKE[0], "dev")] == [3]


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
