"""What every embedder of ours promises, on the real ones."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from alma.embedding import HashEmbedder, MiniLMEmbedder
from alma.protocols import Embedder

TASKS = [
    "Deploy the auth service to staging",
    "Roll back the payments release",
    "Test the login form validation",
    "Why did the nightly backup fail?",
    "Rename a column without downtime",
]
ODD = {
    "empty": "",
    "blank": " \t\n ",
    "punctuation": "?!… --",
    "emoji": "🚀🎉",
    "chinese": "今天天气很好，我们去公园散步吧。",
    "arabic": "مرحبا، أريد تغيير موعد رحلتي",
    "combining": "e\u0301\u0302\u0303 \ufb01n",
    "NUL": "before\x00after",
    "code": "for (int i = 0; i < n; ++i) { total += values[i]; }",
    "one long word": "a" * 5_000,
    "many words": "word " * 5_000,
    "every plane": "".join(map(chr, range(0x20, 0x11000, 97))).encode("utf-8", "ignore").decode(),
}


@pytest.fixture(scope="module", params=["minilm", "minilm on one thread", "hash"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hash":
        return HashEmbedder()
    return MiniLMEmbedder(threads=1 if "one" in request.param else 2)


def test_rows_stand_in_the_order_of_the_texts(embedder: Embedder) -> None:
    there, back = embedder.embed(TASKS), embedder.embed(TASKS[::-1])
    np.testing.assert_array_equal(there, back[::-1])
    assert len({row.tobytes() for row in there}) == len(TASKS)


def test_a_text_has_the_same_vector_alone_and_in_any_company(embedder: Embedder) -> None:
    company = [*TASKS, *ODD.values(), *TASKS]
    together = embedder.embed(company)
    alone = np.vstack([embedder.embed([text]) for text in company])
    assert np.all(np.sum(together * alone, axis=1) >= 1 - 1e-3)
    np.testing.assert_array_equal(together, alone)  # ours promise more than the protocol does


def test_no_texts_give_no_rows_of_the_right_width(embedder: Embedder) -> None:
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.fingerprint.dimension)
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("text", ODD.values(), ids=ODD.keys())
def test_an_odd_text_gives_a_finite_unit_vector(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text])
    assert vectors.shape == (1, embedder.fingerprint.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-4)


def test_eight_threads_get_what_one_gets(embedder: Embedder) -> None:
    texts = [f"{task}, attempt {attempt}" for attempt in range(8) for task in TASKS]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(embedder.embed, [texts] * 8))
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_the_caller_may_change_the_result(embedder: Embedder) -> None:
    expected = embedder.embed(["", "deploy"])
    for text in ("", "deploy"):
        embedder.embed([text])[:] = 0
    np.testing.assert_array_equal(embedder.embed(["", "deploy"]), expected)


def test_a_text_is_nearer_to_its_rewording_than_to_another_task(embedder: Embedder) -> None:
    task, reworded, other = embedder.embed(
        ["Deploy the auth service", "Deploying the auth services", "Summarise last week's tickets"]
    )
    assert task @ reworded > task @ other + 0.2


def test_two_of_a_kind_have_one_fingerprint(embedder: Embedder) -> None:
    assert embedder.fingerprint == type(embedder)().fingerprint
    assert embedder.fingerprint.dimension == 384
