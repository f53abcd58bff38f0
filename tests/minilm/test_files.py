"""The files of the package are the exported ones, and light to reach."""

import hashlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import alma_minilm

CARD = Path(__file__).resolve().parents[2] / "packages" / "alma-minilm" / "README.md"


@pytest.mark.parametrize(
    ("path", "recorded"),
    [(alma_minilm.MODEL_PATH, alma_minilm.MODEL_SHA256), (alma_minilm.TOKENIZER_PATH, alma_minilm.TOKENIZER_SHA256)],
    ids=["model", "tokenizer"],
)
def test_a_file_has_the_checksum_recorded_in_code_and_model_card(path: Path, recorded: str) -> None:
    assert hashlib.sha256(path.read_bytes()).hexdigest() == recorded
    assert recorded in CARD.read_text(encoding="utf-8")


def test_the_model_card_and_the_export_name_the_same_weights() -> None:
    export = (CARD.parent / "export" / "export.py").read_text(encoding="utf-8")
    (source,) = [line.split('"')[3] for line in export.splitlines() if line.strip().startswith('"model.safetensors"')]
    assert len(source) == 64
    assert source in CARD.read_text(encoding="utf-8")


def test_the_revision_follows_the_model_file() -> None:
    assert alma_minilm.MODEL_SHA256.startswith(alma_minilm.REVISION)
    assert len(alma_minilm.REVISION) == 12


def test_the_model_file_is_small() -> None:
    assert alma_minilm.MODEL_PATH.stat().st_size < 24_000_000


def test_whose_work_the_model_is_comes_with_the_installed_package() -> None:
    notice = importlib.metadata.distribution("alma-minilm").read_text("licenses/NOTICE") or ""
    for name in ("Apache License 2.0", "Nils Reimers", "nreimers/MiniLM-L6-H384-uncased", "Microsoft Corporation", "Google"):
        assert name in notice


def test_importing_the_package_loads_no_runtime() -> None:
    program = "import sys, alma_minilm; print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("tokens", [1, 2, 17, 256])
def test_the_graph_takes_any_batch_and_length_and_ignores_padding(tokens: int) -> None:
    session = onnxruntime.InferenceSession(str(alma_minilm.MODEL_PATH), providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(tokens).integers(1000, 30000, (3, tokens))
    mask = np.ones_like(ids)
    mask[1, tokens // 2 + 1 :] = 0
    other = np.where(mask == 1, ids, 2023)
    first, second = (session.run(["embedding"], {"input_ids": given, "attention_mask": mask})[0] for given in (ids, other))
    assert first.shape == (3, alma_minilm.DIMENSION)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-4)
    assert np.sum(first * second, axis=1).min() > 0.9
