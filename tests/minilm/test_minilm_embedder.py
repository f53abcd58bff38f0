"""The int8 model through the embedder that runs it."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import alma_minilm
from alma import ALMA
from alma.embedding import MiniLMEmbedder
from alma.errors import EmbeddingError

DATA = Path(__file__).parent / "data"
NORM = b"embeddings.LayerNorm.weight"


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.fixture(scope="module")
def cosines(embedder: MiniLMEmbedder) -> np.ndarray:
    """Of each stored text: the cosine of our vector to the original model's."""
    texts = [json.loads(line)["text"] for line in (DATA / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    original = np.load(DATA / "reference.npy").astype(np.float32)
    original /= np.linalg.norm(original, axis=1, keepdims=True)
    return np.sum(embedder.embed(texts) * original, axis=1)


@pytest.mark.slow
def test_200_texts_have_on_average_a_cosine_of_985_thousandths_to_the_original(cosines: np.ndarray) -> None:
    assert cosines.shape == (200,)
    assert cosines.mean() >= 0.985


def test_none_of_200_texts_has_a_cosine_below_94_hundredths_to_the_original(cosines: np.ndarray) -> None:
    assert cosines.min() >= 0.94


def test_the_fingerprint_says_which_file_it_is(embedder: MiniLMEmbedder) -> None:
    fingerprint = embedder.fingerprint
    assert (fingerprint.model, fingerprint.precision) == ("all-MiniLM-L6-v2", "int8")
    assert fingerprint.revision == alma_minilm.MODEL_SHA256[:12]
    assert (fingerprint.dimension, fingerprint.token_limit) == (384, 256)


def test_what_stands_beyond_256_tokens_is_not_seen(embedder: MiniLMEmbedder) -> None:
    seen = "deploy " * 254
    whole, longer, shorter = embedder.embed([seen, seen + "banana " * 300, "deploy " * 200 + "banana " * 54])
    np.testing.assert_array_equal(whole, longer)
    assert whole @ shorter < 0.999


def test_meaning_counts_not_only_words(embedder: MiniLMEmbedder) -> None:
    task, meant, worded = embedder.embed(
        ["How do I reset my password?", "I forgot my login credentials", "How do I reset my router?"]
    )
    assert task @ meant > 0.5
    assert task @ meant > task @ worded


def test_half_a_surrogate_pair_is_an_embedding_error_and_the_next_text_works(embedder: MiniLMEmbedder) -> None:
    with pytest.raises(EmbeddingError, match=r"could not embed 'broken \\ud800'"):
        embedder.embed(["one", "two", "three", "four", "broken \ud800"])
    assert embedder.embed(["one"]).shape == (1, 384)


def test_a_damaged_model_file_is_an_embedding_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "minilm.onnx"
    damaged.write_bytes(alma_minilm.MODEL_PATH.read_bytes()[:1_000_000])
    monkeypatch.setattr(alma_minilm, "MODEL_PATH", damaged)
    with pytest.raises(EmbeddingError, match="could not be loaded"):
        MiniLMEmbedder()


def test_numbers_that_are_not_finite_are_an_embedding_error_and_nothing_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model file that loads, but whose first normalisation is NaN."""
    content = bytearray(alma_minilm.MODEL_PATH.read_bytes())
    raw_data = NORM + b"\x4a\x80\x0c"  # protobuf field 9, 1,536 bytes
    start = content.index(raw_data) + len(raw_data)
    content[start : start + 1536] = struct.pack("<f", float("nan")) * 384
    damaged = tmp_path / "minilm.onnx"
    damaged.write_bytes(content)
    monkeypatch.setattr(alma_minilm, "MODEL_PATH", damaged)
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="minilm") as alma:
        with pytest.raises(EmbeddingError, match="not finite; nothing was stored"):
            alma.learn(agent="a", task="anything", outcome="success", strategy_used="one way")
        assert alma.get_stats().total == 0
