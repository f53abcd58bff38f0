"""All configuration settings, as frozen values."""

import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, field_validator, model_validator

from alma.config.paths import check_db_name
from alma.errors import ConfigurationError, MissingDependencyError, install_line
from alma.scoring import LARGEST_WEIGHT
from alma.text import name_nearest, quoted
from alma.types.identity import MemoryScope, UserWall, Value

STORAGES = ("sqlite",)
STORAGES_OF_PACKAGES = {"file": "files", **{name: name for name in ("postgres", "qdrant", "chroma", "pinecone", "azure")}}
"""The extra of alma-core that installs the package of a storage, by the storage's name: `postgres` is in alma-postgres."""
EMBEDDERS = ("local", "minilm", "auto", "hash", "mock", "sentence-transformers", "openai", "azure")

Port = Annotated[int, Field(ge=1, le=65535)]
Text = Annotated[str, Field(min_length=1)]
Dimension = Annotated[int, Field(ge=1, le=65_536)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Weight = Annotated[float, Field(ge=0.0, le=LARGEST_WEIGHT, allow_inf_nan=False)]

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST_PERIOD = 10_000


def _clean_name(value: str) -> str:
    name = value.strip()
    if not name:
        raise ValueError("must not be empty")
    if not name.isprintable():
        raise ValueError("must not hold characters that cannot be printed")
    return name


def _absolute(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be an absolute path")
    return value


def _period(value: Any) -> Any:
    """Parses a duration such as "30m", "12h", "1d" or "2w" into a timedelta."""
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"\s*([0-9]{1,5})\s*([mhdw])\s*", value) if isinstance(value, str) else None
    if found is None or int(found[1]) > _LONGEST_PERIOD:
        raise ValueError('must be a duration such as "30m", "12h", "1d" or "2w"')
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def check_storage(name: str) -> str:
    """Returns the name of a kind of store if it can be opened here. `MissingDependencyError` names the package that one comes with,
    `ConfigurationError` the nearest name."""
    if name in STORAGES:
        return name
    there = (*STORAGES, *_plugin_names("alma.storage"), *_plugin_names("alma.vectors"))
    missing = {name: extra for name, extra in STORAGES_OF_PACKAGES.items() if name not in there}
    if extra := missing.get(name):
        raise MissingDependencyError(
            f"storage: {name!r} comes with the package alma-{extra}, which is not installed; there is {', '.join(there)}. Install it: "
            f"{install_line(extra)}"
        )
    return _one_of("storage", name, there, tuple(missing))


def _check_embedder(name: str) -> str:
    return name if name in EMBEDDERS else _one_of("embedding_provider", name, (*EMBEDDERS, *_plugin_names("alma.embedders")), ())


def _plugin_names(group: str) -> list[str]:
    """Returns the names that other packages add."""
    return sorted(entry.name for entry in entry_points(group=group))


def _one_of(key: str, value: str, built: tuple[str, ...], of_packages: tuple[str, ...]) -> str:
    if value in built:
        return value
    choice = f"there is {', '.join(built)}" + (f" (with packages of their own: {', '.join(of_packages)})" if of_packages else "")
    raise ConfigurationError(f"{key}: unknown {quoted(value)}{name_nearest(value, built + of_packages)}; {choice}")


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_clean_name)]
"""Name of a project or an agent: 1 to 200 characters, without surrounding spaces."""


class ScoringWeights(Value):
    """Weights of the factors. Only their proportions matter."""

    similarity: Weight = 0.4
    recency: Weight = 0.3
    success: Weight = 0.2
    confidence: Weight = 0.1

    @model_validator(mode="after")
    def _not_all_zero(self) -> Self:
        if not any((self.similarity, self.recency, self.success, self.confidence)):
            raise ValueError("at least one weight must be above 0")
        return self


class ScoringSettings(Value):
    """Settings of the ranking. The recency factor halves every `half_life_days` days; `None` keeps the default of the ranking."""

    weights: ScoringWeights = ScoringWeights()
    half_life_days: Annotated[float, Field(gt=0.0, le=36_500.0, allow_inf_nan=False)] | None = None


class ForgettingRule(Value):
    """Conditions under which memories of a kind are archived. A condition that is `None` archives none.

    `max_age_days` counts from when a memory was last seen, as recency does. `min_usefulness` is a bound on the factor that usefulness
    gives, from 0.75 to 1.25, and applies only to memories with enough usage data. `max_count` is a quota for each owner; the least
    valuable memories above it are archived.
    """

    max_age_days: Annotated[float, Field(gt=0.0, le=365_000.0, allow_inf_nan=False)] | None = None
    min_confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = None
    min_usefulness: Annotated[float, Field(ge=0.75, le=1.25, allow_inf_nan=False)] | None = None
    max_count: Count | None = None


class OutcomeRule(ForgettingRule):
    """Adds a limit on the raw outcomes that each agent keeps: the oldest beyond the `window` are archived."""

    window: Count | None = 10_000


class ForgettingSettings(Value):
    """Rules by kind; `kinds` has those of kinds that the user registered. By default only the window of outcomes is active."""

    heuristic: ForgettingRule = ForgettingRule()
    outcome: OutcomeRule = OutcomeRule()
    anti_pattern: ForgettingRule = ForgettingRule()
    domain_knowledge: ForgettingRule = ForgettingRule()
    user_preference: ForgettingRule = ForgettingRule()
    kinds: dict[str, ForgettingRule] = Field(default_factory=dict)

    @field_validator("kinds")
    @classmethod
    def _check_kinds(cls, value: dict[str, ForgettingRule]) -> dict[str, ForgettingRule]:
        for kind in value.keys() & _BUILT_IN:
            raise ValueError(f"{kind} is a built-in kind; its rule stands beside `kinds`")
        return value

    def rule_of(self, kind: str) -> ForgettingRule:
        """Returns the rule for a kind; all its conditions may be `None`."""
        rule: ForgettingRule = getattr(self, kind) if kind in _BUILT_IN else self.kinds.get(kind, ForgettingRule())
        return rule


_BUILT_IN = frozenset(ForgettingSettings.model_fields) - {"kinds"}


class MaintenanceSettings(Value):
    """Interval at which a background thread of the open store archives due memories; `None` disables it. With `consolidate` each run, by hand
    too, also merges memories that say the same (with alma-knowledge)."""

    every: Annotated[timedelta, BeforeValidator(_period), Field(ge=timedelta(minutes=1))] | None = None
    consolidate: bool = False


EncryptionKey = bytes | str | os.PathLike[str] | Callable[[], bytes | str]
"""A key of 32 bytes, the path of a file that holds one, or a function that returns one, from a keyring or a KMS say."""


class EncryptionSettings(Value):
    """Where the key of an encrypted store is: a file, or a variable of the environment. The key itself is never in a configuration."""

    key_file: AbsolutePath | None = None
    key_env: Text | None = None

    def key(self, environ: Mapping[str, str] = os.environ) -> Path | bytes:
        """Returns the path of the key file, or the key as the variable holds it. `ConfigurationError` if that is not set."""
        if self.key_file is not None:
            return self.key_file
        name = self.key_env or ""
        if not environ.get(name):
            raise ConfigurationError(
                f"encryption.key_env: the variable {name!r} is not set; it should hold a key, as `alma keygen` writes one"
            )
        return environ[name].encode("utf-8", "replace")

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.key_file is None) is (self.key_env is None):
            raise ValueError("name one place of the key: key_file or key_env")
        return self


class PostgresSettings(Value):
    """A PostgreSQL server. With a `url`, the other settings of the connection say what differs from it."""

    url: SecretStr | None = None
    host: Text | None = None
    port: Port | None = None
    database: Text | None = None
    user: Text | None = None
    password: SecretStr | None = None
    pool_size: Annotated[int, Field(ge=1)] | None = None
    schema_: Text | None = Field(default=None, alias="schema")
    ssl_mode: Text | None = None
    prepare_threshold: Annotated[int, Field(ge=0)] | None = None
    vector_index_type: Literal["hnsw", "ivfflat", "none"] = "hnsw"


class QdrantSettings(Value):
    """A Qdrant server."""

    url: Text = "http://localhost:6333"
    api_key: SecretStr | None = None
    collection_prefix: Text = "alma"


class PineconeSettings(Value):
    """A Pinecone index."""

    api_key: SecretStr | None = None
    environment: Text = "us-east-1-aws"
    index_name: Text = "alma-memories"
    host: Text | None = None


class ChromaSettings(Value):
    """A Chroma folder or server."""

    persist_directory: Text | None = None
    host: Text | None = None
    port: Port | None = None


class AzureSettings(Value):
    """An account of Azure Cosmos DB for NoSQL. Missing containers are made, unless that is off."""

    endpoint: Text | None = None
    key: SecretStr | None = None
    database: Text = "alma-memory"
    create_if_not_exists: Literal["on", "off"] = "on"
    use_managed_identity: Literal["on", "off"] = "off"


class _EndpointSettings(Value):
    """Settings that all embedders over HTTP accept. `None` keeps the embedder's default."""

    dimension: Dimension | None = None
    batch_size: Annotated[int, Field(ge=1, le=2048)] | None = None
    timeout: Annotated[float, Field(gt=0.0, le=3600.0, allow_inf_nan=False)] | None = None
    max_retries: Annotated[int, Field(ge=0, le=100)] | None = None
    max_characters: Annotated[int, Field(ge=1, le=10_000_000)] | None = None


class OpenAISettings(_EndpointSettings):
    """Settings of the embedder `openai`: OpenAI, or any server that speaks its `/embeddings`."""

    model: Text | None = None
    base_url: Text | None = None
    api_key: SecretStr | None = None


class AzureOpenAISettings(_EndpointSettings):
    """Settings of the embedder `azure`: a deployment of Azure OpenAI."""

    endpoint: Text
    deployment: Text
    api_key: SecretStr
    model: Text | None = None
    api_version: Text | None = None


class SentenceTransformersSettings(Value):
    """Settings of the embedder `sentence-transformers`: a model folder, or a name on the Hugging Face hub."""

    model: Text
    revision: Text | None = None
    device: Text | None = None
    cache_folder: Text | None = None
    batch_size: Annotated[int, Field(ge=1, le=65_536)] | None = None


class Settings(Value):
    """A whole configuration. `storage_dir` is absolute, `lock_timeout` is in seconds. The blocks of other backends are kept but not used
    by `sqlite`; `server` is that of alma-server, which checks it."""

    project_id: Name
    storage: Annotated[str, AfterValidator(check_storage)] = "sqlite"
    embedding_provider: Annotated[str, AfterValidator(_check_embedder)] = "auto"
    storage_dir: AbsolutePath
    db_name: Annotated[str, AfterValidator(check_db_name)] = "alma.db"
    embedding_dim: Dimension | None = None
    lock_timeout: Annotated[float, Field(ge=0.0, le=3600.0, allow_inf_nan=False)] | None = None
    redact: Literal["on", "off", "personal"] = "on"
    users: UserWall = UserWall.SEPARATE
    encryption: EncryptionSettings | None = None
    agents: dict[Name, MemoryScope] = Field(default_factory=dict)
    scoring: ScoringSettings = ScoringSettings()
    forgetting: ForgettingSettings = ForgettingSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()
    postgres: PostgresSettings | None = None
    qdrant: QdrantSettings | None = None
    pinecone: PineconeSettings | None = None
    chroma: ChromaSettings | None = None
    azure: AzureSettings | None = None
    openai: OpenAISettings | None = None
    azure_openai: AzureOpenAISettings | None = None
    sentence_transformers: SentenceTransformersSettings | None = None
    server: dict[str, Any] | None = None
    graph: dict[str, Any] | None = None
    llm: dict[str, Any] | None = Field(default=None, repr=False)
    webhooks: tuple[dict[str, Any], ...] = Field(default=(), repr=False)
    compression: dict[str, Any] | None = None

    @property
    def embedder_options(self) -> dict[str, dict[str, object]]:
        """Settings of the embedders, by their names. Keys stay hidden in `SecretStr`."""
        blocks = {"openai": self.openai, "azure": self.azure_openai, "sentence-transformers": self.sentence_transformers}
        return {name: block.model_dump(exclude_none=True) for name, block in blocks.items() if block is not None}

    @property
    def storage_options(self) -> dict[str, object]:
        """The block that bears the name of the storage, if there is one. Passwords stay hidden in `SecretStr`."""
        block = getattr(self, self.storage, None)
        return block.model_dump(exclude_none=True, by_alias=True) if isinstance(block, Value) else {}
