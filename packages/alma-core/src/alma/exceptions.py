"""The errors under the names that alma-memory has for them. Use `alma.errors`."""

from alma.errors import AlmaError as ALMAError
from alma.errors import ConfigurationError, EmbeddingError, ScopeViolationError, StorageError

__all__ = ["ALMAError", "ConfigurationError", "EmbeddingError", "ScopeViolationError", "StorageError"]
