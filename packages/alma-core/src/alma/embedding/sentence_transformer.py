"""Any model of the sentence-transformers library, on torch."""

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alma.errors import ConfigurationError, EmbeddingError, missing_for
from alma.types.identity import Fingerprint

try:
    from huggingface_hub import snapshot_download
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
    from transformers.utils import logging as transformers_logging  # type: ignore[import-not-found]
except ImportError as missing:
    raise missing_for("The sentence-transformers embedder needs", missing, "sentence-transformers") from missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES = (
    "modules.json",
    "*config.json",
    "config_sentence_transformers.json",
    "tokenizer.json",
    "*.model",
    "vocab.txt",
    "*.safetensors",
)
"""The files of a model that are downloaded: configuration, tokenizer and weights. No pickled weights, which can hold code."""

MODEL = "sentence-transformers"
HASHED = ("modules.json", "*config.json", "config_sentence_transformers.json", "tokenizer.json", "*.safetensors")
OWN_PARTS = "sentence_transformers."
OTHER_RUNTIMES = frozenset({"onnx", "openvino"})
NOT_ABOUT_VECTORS = frozenset({"data_config.json", "generation_config.json"})
REVISION_DIGITS = 16
DEFAULT_BATCH = 32


class SentenceTransformersEmbedder:
    """Embeds with a model in a folder, or of a name on the Hugging Face hub (downloaded once, unless `HF_HUB_OFFLINE` is set).

    The checksum of its files identifies a model, wherever they are. Code that comes with a model is never run, and pickled weights are
    not read. `device` is torch's name of a device; by default the library chooses. Calls are serialised, because the tokenizer is not
    thread-safe.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        cache_folder: str | None = None,
        batch_size: int = DEFAULT_BATCH,
    ) -> None:
        if batch_size < 1:
            raise ConfigurationError(f"batch_size is {batch_size}; it must be at least 1")
        folder = _find_folder(model, revision, cache_folder)
        self._batch_size = batch_size
        self._lock = threading.RLock()
        self._model = _load_model(folder, device)
        self._fingerprint = self._describe(folder)

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of the model. The revision is the checksum of configuration, tokenizer and weights."""
        return self._fingerprint

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one unit row per text, in order. Raises `EmbeddingError` if the model cannot embed a text."""
        if not texts:
            return np.empty((0, self._fingerprint.dimension), np.float32)
        try:
            with self._lock:
                vectors = self._model.encode(
                    list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
                )
        except Exception as failure:  # torch and the tokenizers have no error class of their own
            raise EmbeddingError(f"The model could not embed a batch that begins with {texts[0][:80]!a}: {failure}") from failure
        return np.asarray(vectors, np.float32)

    def _describe(self, folder: Path) -> Fingerprint:
        weights = next(iter(self._model.parameters()))
        return Fingerprint(
            model=MODEL,
            revision=_checksum(folder)[:REVISION_DIGITS],
            dimension=int(self._model.get_embedding_dimension() or 0),
            precision=str(weights.dtype).removeprefix("torch."),
            token_limit=int(self._model.max_seq_length or 0),
            preparation="none-1",
        )


def _find_folder(model: str, revision: str | None, cache_folder: str | None) -> Path:
    if Path(model).expanduser().is_dir():
        return Path(model).expanduser()
    if model.startswith((".", "/", "~")) or "\\" in model:
        raise ConfigurationError(f"There is no model folder {model}")
    try:
        return Path(snapshot_download(model, revision=revision, cache_dir=cache_folder, allow_patterns=list(FILES)))
    except Exception as failure:  # the hub's, the network's and the disk's errors have nothing in common
        raise ConfigurationError(
            f"The model {model[:200]!r} is no folder here and could not be had from the Hugging Face hub: {type(failure).__name__}: {failure}"
        ) from failure


def _load_model(folder: Path, device: str | None) -> Any:
    _check_modules(folder)
    try:
        with _quietly():
            return SentenceTransformer(
                str(folder), device=device, trust_remote_code=False, local_files_only=True, model_kwargs={"use_safetensors": True}
            )
    except Exception as failure:  # as above
        raise ConfigurationError(f"The model in {folder} could not be loaded: {type(failure).__name__}: {failure}") from failure


def _check_modules(folder: Path) -> None:
    """Raises `ConfigurationError` for a model with parts that are not the library's own: some of its versions run their code without
    asking."""
    try:
        parts = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        foreign = [part["type"] for part in parts if not str(part["type"]).startswith(OWN_PARTS)]
    except FileNotFoundError:
        return
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigurationError(f"The model in {folder} cannot be used: its modules.json is not readable ({error})") from error
    if foreign:
        raise ConfigurationError(f"The model in {folder} needs code of its own ({str(foreign[0])[:80]}), which is never run here")


@contextmanager
def _quietly() -> Iterator[None]:
    """Hides the library's progress bar for reading a file."""
    was_shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_shown:
            transformers_logging.enable_progress_bar()


def _checksum(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(set(_list_hashed(folder))):
        with (folder / path).open("rb") as file:
            digest.update(f"{path}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


def _list_hashed(folder: Path) -> Iterator[str]:
    for pattern in HASHED:
        for path in folder.rglob(pattern):
            place = path.relative_to(folder)
            if place.parts[0] not in OTHER_RUNTIMES and place.name not in NOT_ABOUT_VECTORS:
                yield place.as_posix()
