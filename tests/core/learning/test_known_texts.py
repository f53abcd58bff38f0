"""The bounded set of texts that a new one is compared with."""

import numpy as np

from alma.embedding import create_embedder
from alma.learning.known_texts import KnownTexts, unpacked
from alma.learning.matching import same_strategy
from alma.learning.wording import Wording

MODEL = create_embedder("hash")


def vector(text: str) -> bytes:
    row: bytes = MODEL.embed([text])[0].astype("<f2").tobytes()
    return row


def known(*texts: str, capacity: int = 256) -> KnownTexts:
    """Each text under itself."""
    result = KnownTexts(same_strategy, capacity=capacity)
    for text in texts:
        result.add(text, text, vector(text), keep=False)
    return result


def best(among: KnownTexts, text: str) -> str | None:
    return among.best(text, vector(text))


def test_a_strategy_told_in_other_words_is_found() -> None:
    among = known("Ask open questions", "Retry the request with backoff", "Use a feature flag")

    assert best(among, "Retrying the requests with back-off") == "Retry the request with backoff"
    assert best(among, "Draft an outline") is None


def test_the_nearest_may_say_the_opposite_and_the_next_the_same() -> None:
    among = known("Increase the timeout of the pool", "Decreasing the timeouts of pools")

    assert best(among, "Decrease the timeout of the pool") == "Decreasing the timeouts of pools"


def test_the_same_words_are_found_without_a_vector() -> None:
    among = KnownTexts(same_strategy, capacity=4)
    among.add("k", "Blue-green deployment", None, keep=False)

    assert best(among, "blue green deployment!") == "k"
    assert best(among, "Used a blue-green release") == "k"
    assert best(among, "canary") is None


def test_nothing_is_found_among_nothing() -> None:
    assert best(known(), "anything") is None


def test_a_text_under_a_known_key_replaces_the_old_one() -> None:
    among = known("Use Redis")
    among.add("Use Redis", "Use Postgres", vector("Use Postgres"), keep=False)

    assert len(among) == 1
    assert best(among, "use redis") is None
    assert best(among, "use postgres") == "Use Redis"


def test_the_oldest_that_is_not_to_be_kept_goes_first() -> None:
    among = KnownTexts(same_strategy, capacity=3)
    gone = [
        among.add("a", "Use apples", vector("Use apples"), keep=True),
        among.add("b", "Use bananas", vector("Use bananas"), keep=False),
        among.add("c", "Use cherries", vector("Use cherries"), keep=False),
        among.add("d", "Use dates", vector("Use dates"), keep=False),
    ]

    assert gone == [None, None, None, "b"]
    assert ("a" in among, "b" in among, len(among)) == (True, False, 3)
    assert best(among, "use bananas") is None
    assert best(among, "use dates") == "d"


def test_if_all_are_to_be_kept_the_oldest_goes() -> None:
    among = KnownTexts(same_strategy, capacity=2)
    for key in "ab":
        among.add(key, f"Use {key}", None, keep=True)

    assert among.add("c", "Use c", None, keep=False) == "a"


def test_what_is_let_go_of_is_not_found_again_and_its_room_is_used() -> None:
    among = known("Use apples", "Use bananas", capacity=2)
    among.discard("Use apples")
    among.discard("never known")

    assert best(among, "use apples") is None
    assert among.add("c", "Use cherries", vector("Use cherries"), keep=False) is None
    assert best(among, "Using cherries") == "c"


def test_many_more_texts_than_there_is_room_for_leave_the_newest() -> None:
    texts = [f"Use tool{number}x" for number in range(100, 400)]
    among = known(*texts, capacity=50)

    assert len(among) == 50
    assert [text for text in texts if best(among, text) is not None] == texts[-50:]


def test_of_texts_equally_near_the_same_is_found_in_whatever_order_they_came() -> None:
    texts = ["Cache the pages, gently", "Cache the pages - gently", "gently cache pages"]
    vectors = {text: vector("Cache the pages") for text in texts}

    def found(order: list[str]) -> str | None:
        among = KnownTexts(lambda one, other, cosine: cosine > 0.9, capacity=9)
        for text in order:
            among.add(text, text, vectors[text], keep=False)
        return among.best("pages", vectors[texts[0]])

    assert found(texts) == found(texts[::-1]) == min(texts)


def test_the_test_is_asked_nearest_first_with_true_cosines() -> None:
    asked: list[tuple[str, float]] = []

    def never(one: Wording, other: Wording, cosine: float) -> bool:
        asked.append((other.normal, cosine))
        return False

    among = KnownTexts(never, capacity=9)
    rows = {"near": [1.0, 0.0], "middle": [0.6, 0.8], "far": [-1.0, 0.0]}
    for text, row in rows.items():
        among.add(text, text, np.array(row, "<f2").tobytes(), keep=False)

    assert among.best("new", np.array([1.0, 0.0], "<f2").tobytes()) is None
    assert [(text, round(cosine, 2)) for text, cosine in asked] == [("near", 1.0), ("middle", 0.6), ("far", -1.0)]


def test_a_vector_that_others_are_given_too_cannot_be_written_to() -> None:
    assert not unpacked(np.array([1.0, 0.0], "<f2").tobytes()).flags.writeable


def test_a_text_that_is_touched_is_the_newest() -> None:
    among = known("Use apples", "Use bananas", capacity=2)
    among.touch("Use apples", keep=False)

    assert among.add("c", "Use cherries", None, keep=False) == "Use bananas"


def test_a_text_that_is_touched_can_be_kept_from_then_on() -> None:
    among = known("Use apples", "Use bananas", capacity=2)
    among.touch("Use apples", keep=True)
    among.touch("Use bananas", keep=False)

    assert among.add("c", "Use cherries", None, keep=False) == "Use bananas"
