"""Everything ALMA raises.

AlmaError
├── ValidationError            an argument is not acceptable; nothing was stored (also a ValueError)
├── ConfigurationError         the configuration or the way ALMA was opened is wrong
│   └── MissingDependencyError an optional package is not installed; the message names the extra
├── ScopeViolationError        an agent may not do this here
├── MemoryNotFoundError        no such memory in this project
├── ConflictError              another caller changed the same thing
├── EmbeddingError             a model failed or returned nonsense
│   └── EmbedderMismatchError  the database was made with another embedder (also a ConfigurationError)
└── StorageError               the database could not be read or written
    └── CorruptStoreError      what is stored is damaged
"""


class AlmaError(Exception):
    """Base of all errors that ALMA raises on purpose."""


class ValidationError(AlmaError, ValueError):
    """An argument is not acceptable. Nothing was stored."""


class ConfigurationError(AlmaError):
    """The configuration, or the way ALMA was opened, is wrong."""


class MissingDependencyError(ConfigurationError, ImportError):
    """An optional package is not installed. The message names the extra to install."""


_PACKAGES = {
    "local": "minilm",
    "agents": "agents cli integration knowledge",
    "mcp": "mcp access graph harness integration knowledge",
}
_PACKAGES |= {
    "events": "events access",
    "graph": "graph integration knowledge",
    "server": "server access events integration",
    "files": "files upgrade",
    "postgres": "postgres upgrade",
}
_PACKAGES |= {name: f"{name} integration" for name in ("azure", "chroma", "harness", "pinecone", "qdrant")}
_PACKAGES |= {name: name for name in ("cli", "encryption", "integration", "knowledge", "testing", "upgrade")}
"""The packages of ALMA that an extra of alma-core adds, with those that these need."""


def install_line(extra: str) -> str:
    """Returns the command that installs an extra of alma-core, from the repository: ALMA is on no package index."""
    packages = [f"alma-core[{extra}]", *(f"alma-{name}" for name in _PACKAGES.get(extra, "").split())]
    named = (f'"{each} @ git+URL#subdirectory=packages/{each.partition("[")[0]}"' for each in packages)
    return f"pip install {' '.join(named)} (URL is where ALMA was cloned from)"


def missing_for(needing: str, error: ImportError, extra: str) -> MissingDependencyError:
    """Returns the error of a part that needs a package of an extra: the package that was not found, and how to install it."""
    return MissingDependencyError(f"{needing} {error.name or 'a package'}, which is not installed: {install_line(extra)}")


class ScopeViolationError(AlmaError):
    """An agent may not do this: missing scope, a category it cannot learn, or a memory it does not own."""


class MemoryNotFoundError(AlmaError, LookupError):
    """No such memory in this project."""


class ConflictError(AlmaError):
    """Another caller changed the same thing, or it was already settled differently."""


class EmbeddingError(AlmaError):
    """A model failed, or returned vectors of a wrong shape or with values that are not finite."""


class EmbedderMismatchError(EmbeddingError, ConfigurationError):
    """The database was made with another embedder than the one it was opened with."""


class StorageError(AlmaError):
    """The database could not be read or written."""


class CorruptStoreError(StorageError):
    """Stored data is damaged."""
