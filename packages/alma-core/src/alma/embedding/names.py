"""Names of embedders, as users write them and as fingerprints record them."""

MINILM = "minilm"
HASH = "hash"
AUTO = "auto"
ALIASES = {"local": MINILM, "mock": HASH}
SENTENCE_TRANSFORMERS = "sentence-transformers"
OPENAI = "openai"
AZURE = "azure"
OPENAI_PREFIX = "openai/"
"""Prefix of the recorded model of an embedder over HTTP."""
