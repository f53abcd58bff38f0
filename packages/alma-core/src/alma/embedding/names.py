"""What embedders are called: by users, and in the fingerprints that databases record."""

MINILM = "minilm"
HASH = "hash"
AUTO = "auto"
ALIASES = {"local": MINILM, "mock": HASH}
SENTENCE_TRANSFORMERS = "sentence-transformers"
OPENAI = "openai"
AZURE = "azure"
OPENAI_PREFIX = "openai/"
"""How the recorded model of an embedder over HTTP begins."""
