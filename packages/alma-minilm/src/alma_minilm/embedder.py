"""all-MiniLM-L6-v2 in this process, on the CPU: no torch, no hub, no network."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

import alma_minilm
from alma.errors import EmbeddingError, missing_for
from alma.types.identity import Fingerprint

try:
    import onnxruntime  # type: ignore[import-untyped]  # it has no py.typed
    from tokenizers import Tokenizer
except ImportError as missing:
    raise missing_for("The minilm embedder needs", missing, "local") from missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

PREPARATION = "none-1"
"""No preparation: the tokenizer lowers case and strips accents itself."""

PARALLEL_FROM = 4
CHUNK = 8
MAX_THREADS = 8

FINGERPRINT = Fingerprint(
    model=alma_minilm.MODEL,
    revision=alma_minilm.REVISION,
    dimension=alma_minilm.DIMENSION,
    precision=alma_minilm.PRECISION,
    token_limit=alma_minilm.TOKEN_LIMIT,
    preparation=PREPARATION,
)

onnxruntime.disable_telemetry_events()


class MiniLMEmbedder:
    """Embeds with the int8 model of `alma-minilm`: 384 dimensions, 256 tokens, mean cosine .99 to the original model.

    Each text is run alone, so that its vector does not depend on other texts: the graph quantises activations with one range per run, and
    padding and other texts would change that range. Batches would not be faster either. Several texts run on several threads instead, at
    most `threads` (default: the processors that this process may use, up to 8). A single text runs in the caller's thread.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self._threads = threads or min(_count_processors(), MAX_THREADS)
        self._tokenizer = Tokenizer.from_file(str(alma_minilm.TOKENIZER_PATH))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(alma_minilm.TOKEN_LIMIT)
        self._session = _create_session()

    @property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of the model, with the checksum of its file."""
        return FINGERPRINT

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        """Returns one unit row per text, in order. The same text always has the same row. Raises `EmbeddingError` if the model cannot
        embed a text."""
        vectors = np.empty((len(texts), alma_minilm.DIMENSION), np.float32)
        if len(texts) < PARALLEL_FROM or self._threads == 1:
            self._fill(vectors, texts, range(len(texts)))
        else:
            self._fill_in_parallel(vectors, texts)
        return vectors

    def _fill_in_parallel(self, vectors: "NDArray[np.float32]", texts: Sequence[str]) -> None:
        """Embeds on several threads, longest texts first, so that the threads end together."""
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        chunk = max(1, min(CHUNK, len(texts) // self._threads))
        chunks = [order[start : start + chunk] for start in range(0, len(order), chunk)]
        with ThreadPoolExecutor(self._threads, "alma-minilm") as pool:
            for done in [pool.submit(self._fill, vectors, texts, rows) for rows in chunks]:
                done.result()

    def _fill(self, vectors: "NDArray[np.float32]", texts: Sequence[str], rows: Iterable[int]) -> None:
        for row in rows:
            vectors[row] = self._run(texts[row])

    def _run(self, text: str) -> "NDArray[np.float32]":
        try:
            ids = np.array([self._tokenizer.encode(text).ids], np.int64)
            (vectors,) = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        except Exception as failure:  # the runtime and the tokenizer have no error class of their own
            raise EmbeddingError(f"The minilm model could not embed {text[:80]!a}: {failure}") from failure
        return np.asarray(vectors[0], np.float32)


def _create_session() -> onnxruntime.InferenceSession:
    """Creates a session with one thread per run: runs are short, and texts run in parallel.

    Processors without VNNI would add products of 8-bit numbers in 16 bits, which overflow. The setting avoids that, so that all processors
    compute the same; it needs the extended optimisation of the graph.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(str(alma_minilm.MODEL_PATH), options, providers=["CPUExecutionProvider"])
    except Exception as failure:  # as above
        raise EmbeddingError(f"The model file {alma_minilm.MODEL_PATH} could not be loaded: {failure}") from failure


def _count_processors() -> int:
    """Returns the number of processors that this process may use. In a container they can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
