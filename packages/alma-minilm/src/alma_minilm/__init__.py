"""all-MiniLM-L6-v2 as files: an int8 ONNX graph that takes token ids and gives unit vectors, and its tokenizer.

Importing this loads no runtime. `alma_minilm.embedder.MiniLMEmbedder` runs it.
"""

from pathlib import Path

__all__ = [
    "DIMENSION",
    "MODEL",
    "MODEL_PATH",
    "MODEL_SHA256",
    "PRECISION",
    "REVISION",
    "TOKENIZER_PATH",
    "TOKENIZER_SHA256",
    "TOKEN_LIMIT",
]

MODEL = "all-MiniLM-L6-v2"
PRECISION = "int8"
DIMENSION = 384
TOKEN_LIMIT = 256
"""Limit on the tokens of a text, the two marks at its ends included; longer texts are cut."""

MODEL_PATH = Path(__file__).with_name("minilm.onnx")
"""Inputs `input_ids` and `attention_mask`, int64, (batch, tokens); output `embedding`, float32, (batch, DIMENSION), rows of length 1."""

TOKENIZER_PATH = Path(__file__).with_name("tokenizer.json")
"""For the `tokenizers` package; its own truncation (128) and padding are to be replaced by the caller's."""

MODEL_SHA256 = "f2843dd04b10f39e5b8abc3af520fac86c266a52752d5bd8305ba562ad910ecc"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

REVISION = MODEL_SHA256[:12]
"""Changes whenever the model file does."""
