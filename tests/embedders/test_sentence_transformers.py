"""The embedder on torch, with the published weights of all-MiniLM-L6-v2."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from alma import ALMA
from alma.embedding import SentenceTransformersEmbedder, create_embedder
from alma.errors import ConfigurationError, EmbedderMismatchError, EmbeddingError

REFERENCE = Path(__file__).parents[1] / "minilm" / "data"
TASKS = [
    "Deploy the auth service to staging",
    "Roll back the payments release",
    "Test the login form validation",
    "Why did the nightly backup fail?",
    "Rename a column without downtime",
]
ODD = ["", " \n", "?!…", "🚀", "今天天气很好", "before\x00after", "a" * 5_000, "word " * 2_000]
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def embedder(published: Path) -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(str(published), device="cpu")


def copy_of(published: Path, folder: Path) -> Path:
    """The model in another folder; the weights are linked, not copied."""
    shutil.copytree(published, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").symlink_to(published / "model.safetensors")
    return folder


def test_200_texts_have_the_vectors_of_the_reference(embedder: SentenceTransformersEmbedder) -> None:
    texts = [json.loads(line)["text"] for line in (REFERENCE / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    reference = np.load(REFERENCE / "reference.npy").astype(np.float32)
    cosines = np.sum(embedder.embed(texts) * reference, axis=1) / np.linalg.norm(reference, axis=1)
    assert cosines.shape == (200,)
    assert cosines.min() >= 0.9999


def test_rows_are_unit_vectors_in_the_order_of_the_texts_in_any_company(embedder: SentenceTransformersEmbedder) -> None:
    together = embedder.embed([*TASKS, *ODD])
    assert (together.dtype, together.shape) == (np.float32, (13, 384))
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)
    alone = np.vstack([embedder.embed([text]) for text in [*TASKS, *ODD]])
    assert np.all(np.sum(together * alone, axis=1) >= 1 - 1e-3)
    assert embedder.embed([]).shape == (0, 384)


def test_four_threads_get_what_one_gets(embedder: SentenceTransformersEmbedder) -> None:
    expected = embedder.embed(TASKS)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(embedder.embed, [TASKS] * 8):
            np.testing.assert_allclose(result, expected, atol=1e-5)


def test_a_model_is_known_by_its_files_wherever_they_lie(
    embedder: SentenceTransformersEmbedder, published: Path, tmp_path: Path
) -> None:
    fingerprint = embedder.fingerprint
    assert (fingerprint.model, fingerprint.dimension, fingerprint.token_limit) == ("sentence-transformers", 384, 256)
    assert fingerprint.precision == "float32"

    folder = copy_of(published, tmp_path / "elsewhere")
    (folder / "README.md").write_text("says nothing of vectors", encoding="utf-8")
    assert SentenceTransformersEmbedder(str(folder)).fingerprint == fingerprint

    pooling = folder / "1_Pooling" / "config.json"
    settings = json.loads(pooling.read_text(encoding="utf-8"))
    pooling.write_text(
        json.dumps({**settings, "pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}), encoding="utf-8"
    )
    assert SentenceTransformersEmbedder(str(folder)).fingerprint != fingerprint


def test_a_model_of_the_hub_is_taken_from_its_cache(
    embedder: SentenceTransformersEmbedder, published: Path, tmp_path: Path
) -> None:
    place = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2"
    copy_of(published, place / "snapshots" / "abc123")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("abc123", encoding="utf-8")
    found = SentenceTransformersEmbedder(HUB_NAME, cache_folder=str(tmp_path))
    assert found.fingerprint == embedder.fingerprint


@pytest.mark.parametrize("name", ["no/such-model", "nomodel"])
def test_a_name_that_the_hub_does_not_give_is_an_error(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{name}' is no folder here and could not be had"):
        SentenceTransformersEmbedder(name)


def test_a_folder_that_is_not_there_or_holds_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model folder"):
        SentenceTransformersEmbedder(str(tmp_path / "gone"))
    with pytest.raises(ConfigurationError, match="could not be loaded"):
        SentenceTransformersEmbedder(str(tmp_path))
    (tmp_path / "modules.json").write_text("[{]", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"modules.json is not readable"):
        SentenceTransformersEmbedder(str(tmp_path))


def test_pickled_weights_are_not_read(published: Path, tmp_path: Path, embedder: SentenceTransformersEmbedder) -> None:
    folder = copy_of(published, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.LayerNorm.weight": torch.ones(384)}, folder / "pytorch_model.bin")
    with pytest.raises(ConfigurationError, match="could not be loaded"):
        SentenceTransformersEmbedder(str(folder))


def test_code_that_comes_with_a_model_is_not_run(published: Path, tmp_path: Path) -> None:
    folder, trace = copy_of(published, tmp_path / "coded"), tmp_path / "trace"
    (folder / "evil.py").write_text(f"open({str(trace)!r}, 'w')\n\n\nclass Evil: ...\n", encoding="utf-8")
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    modules[2]["type"] = "evil.Evil"
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"code of its own \(evil.Evil\), which is never run"):
        SentenceTransformersEmbedder(str(folder))
    modules[2]["type"] = "sentence_transformers.models.Normalize"
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    auto = {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "evil", "auto_map": auto}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="could not be loaded"):
        SentenceTransformersEmbedder(str(folder))
    assert not trace.exists()


def test_half_a_surrogate_pair_is_an_embedding_error_and_the_next_text_works(embedder: SentenceTransformersEmbedder) -> None:
    with pytest.raises(EmbeddingError, match=r"begins with 'broken \\ud800'"):
        embedder.embed(["broken \ud800"])
    assert embedder.embed(["whole"]).shape == (1, 384)


def test_numbers_that_are_not_finite_are_an_embedding_error(published: Path, tmp_path: Path) -> None:
    damaged = SentenceTransformersEmbedder(str(published))
    with torch.no_grad():
        next(iter(damaged._model.parameters())).fill_(float("nan"))
    with (
        ALMA.open(tmp_path, project_id="p", embedding_provider=damaged) as alma,
        pytest.raises(EmbeddingError, match="not finite; nothing was stored"),
    ):
        alma.learn(agent="a", task="anything", outcome="success", strategy_used="one way")


def test_loading_prints_nothing(published: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SentenceTransformersEmbedder(str(published)).embed(["one", "two"])
    assert capfd.readouterr() == ("", "")


def test_without_a_model_the_settings_that_are_missing_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"needs other settings.*'model'.*block 'sentence_transformers'"):
        create_embedder("sentence_transformers")
    with pytest.raises(ConfigurationError, match="batch_size is 0"):
        create_embedder("sentence-transformers", options={"sentence-transformers": {"model": "m", "batch_size": 0}})


def configure(folder: Path, model: Path, provider: str) -> Path:
    config = folder / ".alma" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        f"project_id: shop\nembedding_provider: {provider}\nsentence_transformers: {{model: {str(model)!r}, device: cpu}}\n",
        encoding="utf-8",
    )
    return config


def test_what_is_learned_is_recalled_by_meaning_also_by_the_next_process(published: Path, tmp_path: Path) -> None:
    with ALMA.from_config(configure(tmp_path, published, "sentence-transformers")) as alma:
        learned = alma.learn("helena", "I forgot my login credentials", "success", "send a reset link")
        alma.learn("helena", "Bake a cake with two eggs", "success", "preheat the oven")
        assert alma.retrieve("How do I reset my password?", "helena", profile="recall", arms=["dense"]).ids[0] == learned.id
        assert alma.verify().ok
    with ALMA.from_config(configure(tmp_path, published, "auto")) as alma:
        assert alma.retrieve("How do I reset my password?", "helena", profile="recall", arms=["dense"]).ids[0] == learned.id
    with pytest.raises(EmbedderMismatchError, match="sentence-transformers"):
        ALMA.from_config(configure(tmp_path, published, "hash"))


def test_a_store_of_another_embedder_is_changed_to_it(published: Path, tmp_path: Path) -> None:
    with ALMA.from_config(configure(tmp_path, published, "hash")) as alma:
        learned = alma.learn("helena", "I forgot my login credentials", "success", "send a reset link")
        report = alma.reindex("sentence-transformers")
        assert (report.embedded, report.after.split()[0]) == (1, "sentence-transformers")
        assert alma.retrieve("How do I reset my password?", "helena", profile="recall", arms=["dense"]).ids == [learned.id]
