"""Opening: from settings to a store with its embedder, made on first use."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError as PydanticError

from alma.config import (
    EncryptionKey,
    ForgettingSettings,
    MaintenanceSettings,
    ScoringSettings,
    Settings,
    check_db_name,
    check_storage,
    resolve_storage_dir,
    settings_block,
)
from alma.embedding import NO_OPTIONS, Options, create_embedder, embedder_for
from alma.errors import (
    ConfigurationError,
    EmbedderMismatchError,
    MissingDependencyError,
    StorageError,
    ValidationError,
)
from alma.extensions import extension
from alma.memory import arguments as args
from alma.memory.admin.maintaining import Schedule
from alma.memory.arguments import Redact, Redaction, checked_redact
from alma.memory.room import OpenStore, Room, SearchSizes
from alma.memory.texts import TextVectors
from alma.protocols import CachesVectors, CandidateFactory, Clock, Embedder, Store, StoreRequest
from alma.scoring import DEFAULT_HALF_LIFE_DAYS, Profile
from alma.storage.factories import SQLITE, addressed, candidates_named, open_named
from alma.storage.relational.session import checked_timeout
from alma.text import quoted
from alma.types.identity import Fingerprint, MemoryScope, UserWall, utc_now

_LOG = logging.getLogger("alma")
AUTO = "auto"


def open_store(
    storage_dir: str | Path,
    *,
    db_name: str,
    embedder: str | Embedder,
    embedding_dim: int | None,
    agents: Mapping[str, MemoryScope | Mapping[str, object]] | None,
    scoring: ScoringSettings | None,
    clock: Clock,
    embedder_options: Options = NO_OPTIONS,
    forgetting: ForgettingSettings | Mapping[str, object] | None = None,
    maintenance: MaintenanceSettings | Mapping[str, object] | None = None,
    sizes: SearchSizes | None = None,
    lock_timeout: float | None = None,
    redact: Redact = "on",
    users: str = UserWall.SEPARATE,
    encryption_key: EncryptionKey | None = None,
    storage: str = SQLITE,
    options: Mapping[str, object] | None = None,
    blocks: Mapping[str, Mapping[str, object] | None] | None = None,
    create: bool = True,
) -> OpenStore:
    """The store in a folder, made if it is not there yet and `create` says so. A relative folder is relative to the current one.

    `storage` is the name of a kind of store (see `alma.storage.factories`) or a URL, `options` its own block of the configuration.
    """
    _check_types(storage_dir=storage_dir, db_name=db_name, agents=agents, storage=storage, storage_options=options)
    if not callable(clock):
        raise ConfigurationError(f"clock must be a function that returns the time, not {quoted(clock)}")
    clock = clock if clock is utc_now else partial(_read_clock, clock)
    args.check_embedder(embedder, embedding_dim)
    seconds, redact, wall = _timeout(lock_timeout), checked_redact(redact), _wall(users)
    place = _Place.of(storage_dir, db_name, storage, options or {}, encryption_key)
    chosen = _ChosenEmbedder(embedder, embedding_dim, embedder_options, str(place))
    scopes = {args.checked_name(name, "agent"): _scope(name, rules) for name, rules in (agents or {}).items()}
    scoring = scoring or ScoringSettings()
    profile = Profile.of(scoring.weights.model_dump(), scoring.half_life_days or DEFAULT_HALF_LIFE_DAYS)
    rules = settings_block(ForgettingSettings, {} if forgetting is None else forgetting, "forgetting")
    upkeep = settings_block(MaintenanceSettings, {} if maintenance is None else maintenance, "maintenance")
    fingerprint = chosen.fingerprint if create else partial(_refuse_to_make, place)
    made = StoreRequest(str(place.folder), place.file, clock(), seconds, place.options, fingerprint, place.key)
    opened, texts = _open(place.storage, made, chosen)
    redaction = Redaction.of(redact, opened.id)
    store = OpenStore(
        *(opened, place.folder, texts, clock, scopes, profile, redaction, embedder_options, rules, upkeep),
        *(sizes or SearchSizes(), wall, place.candidates, place.vector_options, blocks or {}),
    )
    if store.is_encrypted:
        store.drop_snapshots()
    if upkeep.every is not None:
        Schedule(store).start()
    return store


def _refuse_to_make(place: "_Place") -> Fingerprint:
    raise StorageError(
        f"there is no memory in {place} yet, or no longer; `alma learn` and `alma add` make one, and a backup of it can be put in its place"
    )


def first_room(store: OpenStore, project: str) -> Room:
    """Returns the project that a store was opened for. If it cannot be had, the store is closed."""
    try:
        return store.room(project)
    except BaseException:
        store.close()
        raise


def _wall(users: object) -> UserWall:
    try:
        return UserWall(users if isinstance(users, str) else "")
    except ValueError:
        raise ConfigurationError(f"users is {quoted(users)}; it must be {', '.join(map(repr, map(str, UserWall)))}") from None


def configured_key(settings: Settings) -> bytes | None:
    """Returns the key that a configuration names, `None` if it names none. `ConfigurationError` if there is none at that place."""
    key: bytes | None = None if settings.encryption is None else _keys().configured_key(settings)
    return key


def _keys() -> Any:
    return extension("alma_encryption.keys", "encryption", "encryption is")


def _check_types(**given: object) -> None:
    wanted: Mapping[str, tuple[type, ...]] = {
        "storage_dir": (str, os.PathLike),
        "db_name": (str,),
        "agents": (Mapping, type(None)),
        "storage": (str,),
        "storage_options": (Mapping, type(None)),
    }
    for name, value in given.items():
        if not isinstance(value, wanted[name]) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be a {wanted[name][0].__name__}, not {quoted(value)}")


def _read_clock(clock: Clock) -> datetime:
    given: object = clock()
    now = args.checked_time("no time" if given is None else given, "the time of the clock")
    assert now is not None
    return now


def _timeout(value: object) -> float | None:
    try:
        return None if value is None else checked_timeout(value)
    except ValidationError as error:
        raise ConfigurationError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the records of a store are, and the search for its vectors where that is outside of the process."""

    folder: Path
    file: str
    storage: str
    options: Mapping[str, object]
    key: bytes | None
    candidates: CandidateFactory | None
    vector_options: Mapping[str, object]

    @classmethod
    def of(
        cls,
        storage_dir: str | Path,
        db_name: str,
        storage: str,
        options: Mapping[str, object],
        encryption_key: EncryptionKey | None,
    ) -> "_Place":
        """Returns the place that settings name."""
        name, given = addressed(storage, options)
        key = None if encryption_key is None else _keys().read_key(encryption_key)
        if key is not None and name != SQLITE:
            raise ConfigurationError(f"encryption: the store {quoted(name)} does not encrypt; remove the key, or use {SQLITE}")
        folder, file = resolve_storage_dir(storage_dir, Path()), check_db_name(db_name)
        candidates = candidates_named(name)
        if candidates is None:
            check_storage(name)
            return cls(folder, file, name, given, key, None, {})
        return cls(folder, file, SQLITE, {}, key, candidates, given)  # the records are in SQLite

    def __str__(self) -> str:
        return f"{self.folder / self.file}" if self.storage == SQLITE else f"the {self.storage} store of {self.folder}"


@dataclass(frozen=True, slots=True)
class _ChosenEmbedder:
    """The embedder that a store is opened with; `at` names the store in messages."""

    embedder: str | Embedder
    dimension: int | None
    options: Options
    at: str

    def fingerprint(self) -> Fingerprint:
        """Returns that of the embedder that a new store is made with."""
        chosen = self._make()
        try:
            made = chosen.fingerprint
        finally:
            TextVectors.made_by(chosen, is_own=isinstance(self.embedder, str)).close()
        _LOG.info("making %s with the embedder %s (%d dimensions)", self.at, made.model, made.dimension)
        return made

    def texts(self, storage: Store) -> TextVectors:
        """Returns what embeds texts for a store. `EmbedderMismatchError` if that was made with another embedder."""
        recorded = storage.fingerprint
        if self.embedder == AUTO:
            if self.dimension is not None and self.dimension != recorded.dimension:
                raise _mismatch(storage, self.at, f"{self.dimension} dimensions are configured")
            return TextVectors(recorded, lambda: embedder_for(recorded, options=self.options))
        chosen = self._make()
        texts = TextVectors.made_by(chosen, is_own=isinstance(self.embedder, str))
        if chosen.fingerprint != recorded:
            texts.close()
            opened_with = f"{chosen.fingerprint.model} ({chosen.fingerprint.dimension} dimensions)"
            raise _mismatch(storage, self.at, f"it was opened with {opened_with}")
        return texts

    def _make(self) -> Embedder:
        if isinstance(self.embedder, str):
            return create_embedder(self.embedder, dimension=self.dimension, options=self.options)
        return self.embedder


def _open(storage: str, request: StoreRequest, chosen: _ChosenEmbedder) -> tuple[Store, TextVectors]:
    opened = open_named(storage, request)
    try:
        texts = chosen.texts(opened)
        if isinstance(opened, CachesVectors):
            opened.use_embedder(texts.embedded)
    except BaseException:
        opened.close()
        raise
    return opened, texts


def _mismatch(storage: Store, at: str, but: str) -> EmbedderMismatchError:
    recorded = storage.fingerprint
    return EmbedderMismatchError(
        f"{at} was made with {recorded.model} {recorded.revision} ({recorded.dimension} dimensions, {recorded.precision}), but {but}; "
        "vectors of two models do not compare. Open it with the embedder it was made with (`auto` does), or run `alma reindex`"
    )


def _scope(name: str, rules: MemoryScope | Mapping[str, object]) -> MemoryScope:
    try:
        scope = rules if isinstance(rules, MemoryScope) else MemoryScope.model_validate(rules)
    except PydanticError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"agents.{name}.{place}: {first['msg']}") from error
    if scope.agent_name not in ("", name):
        raise ConfigurationError(f"agents.{name}.agent_name: {quoted(scope.agent_name)} is the name of another agent")
    return _fill_from_domain(scope.model_copy(update={"agent_name": name}))


def _fill_from_domain(scope: MemoryScope) -> MemoryScope:
    """Returns the rules with what they leave out taken from the schema of their domain, if there is one of that name."""
    if not scope.domain:
        return scope
    try:
        found: MemoryScope = extension("alma_harness.domains", "harness", "domains are").filled(scope)
    except MissingDependencyError as missing:
        _LOG.warning("agents.%s.domain: %s sets no rules: %s", scope.agent_name, quoted(scope.domain), missing)
        return scope
    if found is scope and not scope.model_fields_set - {"agent_name", "domain"}:
        _LOG.warning("agents.%s.domain: there is no schema %s, so it sets no rules", scope.agent_name, quoted(scope.domain))
    return found
