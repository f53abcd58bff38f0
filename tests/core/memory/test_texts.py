"""No text is embedded twice: vectors that are stored, or were made lately, are taken."""

from collections.abc import Sequence
from typing import Any

import pytest

from alma import ALMA, Outcome
from alma.embedding import HashEmbedder
from alma.memory import texts
from alma.types import Fingerprint
from alma_learning import SENTENCES
from facade import OpenStore


class CountingEmbedder:
    """Embeds as `HashEmbedder` does, and notes the texts of each call."""

    compares_words = True

    def __init__(self) -> None:
        self.inner: Any = HashEmbedder(32)
        self.calls: list[list[str]] = []
        self.is_closed = False

    @property
    def fingerprint(self) -> Fingerprint:
        fingerprint: Fingerprint = self.inner.fingerprint
        return fingerprint

    @property
    def texts(self) -> list[str]:
        return [text for call in self.calls for text in call]

    def embed(self, given: Sequence[str], /) -> Any:
        self.calls.append(list(given))
        return self.inner.embed(given)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def shop(open_store: OpenStore, embedder: CountingEmbedder) -> ALMA:
    alma = open_store(embedding_provider=embedder)
    alma.learn("a", "Deploy the service", "success")
    embedder.calls.clear()
    return alma


def asked_of(embedder: CountingEmbedder) -> list[str]:
    """The texts that an embedder was asked for, without the sentences that learning compares ways with."""
    return [text for text in embedder.texts if text not in SENTENCES]


def test_a_query_is_embedded_once_however_often_it_is_asked(shop: ALMA, embedder: CountingEmbedder) -> None:
    for _ in range(5):
        shop.retrieve("How is it deployed?", "a")
        shop.for_project("desk").retrieve("How is it deployed?", "a")
    assert asked_of(embedder) == ["How is it deployed?"]


def test_a_query_that_is_stored_as_a_text_is_not_embedded(open_store: OpenStore, shop: ALMA) -> None:
    fresh = CountingEmbedder()
    again = open_store(embedding_provider=fresh)
    assert again.retrieve("Deploy the service", "a").total_items == 1
    again.learn("b", "Deploy the service", "failure")
    assert asked_of(fresh) == []


def test_the_queries_asked_last_are_remembered_and_the_oldest_forgotten(
    shop: ALMA, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.retrieve("Question zero", "a")
    embedder.calls.clear()
    monkeypatch.setattr(texts, "REMEMBERED", 3)
    for name in ("one", "two", "three", "one", "four"):  # "one" was asked again, so "two" is the oldest
        shop.retrieve(f"Question {name}", "a")
    assert embedder.texts == ["Question one", "Question two", "Question three", "Question four"]
    embedder.calls.clear()
    for name in ("one", "three", "four", "two"):
        shop.retrieve(f"Question {name}", "a")
    assert embedder.texts == ["Question two"]


def test_a_memory_that_is_written_again_embeds_only_what_is_new(shop: ALMA, embedder: CountingEmbedder) -> None:
    shop.learn("a", "Deploy the service", "failure", "restart it")
    assert embedder.texts == ["restart it"]  # the task was there already
    shop.add_many([Outcome(agent="b", task_description=text) for text in ("Deploy the service", "Sell the service")])
    assert embedder.texts == ["restart it", "Sell the service"]


def test_very_many_texts_go_to_the_model_in_several_calls(
    shop: ALMA, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "EMBEDDED_AT_ONCE", 10)
    ids = shop.add_many(Outcome(agent="a", task_description=f"Task number {number}") for number in range(35))
    assert [len(call) for call in embedder.calls] == [10, 10, 10, 5]
    assert embedder.texts == [f"Task number {number}" for number in range(35)]
    assert shop.retrieve("Task number 33", "a", profile="recall").ids[0] == ids[33]
    assert shop.verify().ok


def test_a_model_that_fails_in_a_later_call_stores_nothing(
    shop: ALMA, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "EMBEDDED_AT_ONCE", 10)
    well = embedder.inner

    class _Failing:
        fingerprint = well.fingerprint

        def embed(self, given: Sequence[str]) -> Any:
            return well.embed(given if len(embedder.calls) < 3 else given[1:])

    embedder.inner = _Failing()
    with pytest.raises(Exception, match="gave vectors of shape"):
        shop.add_many(Outcome(agent="a", task_description=f"Task number {number}") for number in range(35))
    embedder.inner = well
    assert shop.get_stats().total == 1


def test_an_embedder_of_one_s_own_is_left_open(open_store: OpenStore, embedder: CountingEmbedder) -> None:
    alma = open_store(embedding_provider=embedder)
    alma.learn("a", "Deploy", "success")
    alma.close()
    assert not embedder.is_closed


def test_after_a_purge_no_text_is_remembered(shop: ALMA, embedder: CountingEmbedder) -> None:
    kept = shop.learn("a", "Xylophone lessons", "success")
    for _ in range(2):
        shop.retrieve("Who plays the xylophone?", "a")
    assert asked_of(embedder) == ["Xylophone lessons", "Who plays the xylophone?"]
    shop.purge([kept.id])
    embedder.calls.clear()
    shop.learn("a", "Xylophone lessons", "success")
    shop.retrieve("Who plays the xylophone?", "a")
    assert asked_of(embedder) == ["Xylophone lessons", "Who plays the xylophone?"]
