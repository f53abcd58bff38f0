"""Opening: from settings to a store with its embedder, made on first use."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError as PydanticError

from alma.config import (
    ForgettingSettings,
    MaintenanceSettings,
    ScoringSettings,
    check_db_name,
    resolve_storage_dir,
    settings_block,
)
from alma.embedding import NO_OPTIONS, Options, create_embedder, embedder_for
from alma.errors import ConfigurationError, CorruptStoreError, EmbedderMismatchError
from alma.memory import arguments as args
from alma.memory.relearning import relearn
from alma.memory.room import OpenStore
from alma.memory.schedule import Schedule
from alma.memory.sizes import SearchSizes
from alma.memory.texts import TextVectors
from alma.protocols import Clock, Embedder
from alma.scoring import DEFAULT_HALF_LIFE_DAYS, Profile
from alma.storage.store import SQLStorage
from alma.text import quoted
from alma.types.embedding import Fingerprint
from alma.types.scope import MemoryScope

_LOG = logging.getLogger("alma")
AUTO = "auto"
LARGEST_DIMENSION = 65_536


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
) -> OpenStore:
    """The store in a folder, made if it is not there yet. A relative folder is relative to the current one."""
    _check_types(storage_dir=storage_dir, db_name=db_name, agents=agents)
    if not callable(clock):
        raise ConfigurationError(f"clock must be a function that returns the time, not {quoted(clock)}")
    check_embedder(embedder, embedding_dim)
    path = resolve_storage_dir(storage_dir, Path.cwd()) / check_db_name(db_name)
    scopes = {args.checked_name(name, "agent"): _scope(name, rules) for name, rules in (agents or {}).items()}
    scoring = scoring or ScoringSettings()
    profile = Profile.of(scoring.weights.model_dump(), scoring.half_life_days or DEFAULT_HALF_LIFE_DAYS)
    rules = settings_block(ForgettingSettings, {} if forgetting is None else forgetting, "forgetting")
    upkeep = settings_block(MaintenanceSettings, {} if maintenance is None else maintenance, "maintenance")
    if not os.path.exists(path):  # unlike `Path.exists` it does not raise for a folder that may not be entered
        _make(path, embedder, embedding_dim, clock, embedder_options)
    storage = SQLStorage(path, at=clock())
    try:
        texts = _texts(storage, embedder, embedding_dim, embedder_options)
    except BaseException:
        storage.close()
        raise
    store = OpenStore(
        storage, path.parent, texts, clock, scopes, profile, embedder_options, rules, upkeep, sizes or SearchSizes()
    )
    _relearn(store, storage)
    if upkeep.every is not None:
        Schedule(store).start()
    return store


def _relearn(store: OpenStore, storage: SQLStorage) -> None:
    """Has the evidence of former versions made anew. A damaged project opens all the same, so that it can be verified and mended, and is tried again
    at the next open."""
    try:
        for name in storage.to_relearn():
            try:
                relearn(store.room(name))
            except CorruptStoreError as error:
                _LOG.warning("the evidence of project %s stays as a former version left it: %s", name, error)
            else:
                storage.note_relearned(name)
    except BaseException:
        store.close()
        raise


def _check_types(**given: object) -> None:
    wanted: Mapping[str, tuple[type, ...]] = {
        "storage_dir": (str, os.PathLike),
        "db_name": (str,),
        "agents": (Mapping, type(None)),
    }
    for name, value in given.items():
        if not isinstance(value, wanted[name]) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be a {wanted[name][0].__name__}, not {quoted(value)}")


def check_embedder(embedder: object, dimension: object) -> None:
    """`ConfigurationError` for what is neither a name nor an embedder, or has another dimension."""
    if dimension is not None and not _is_dimension(dimension):
        raise ConfigurationError(f"embedding_dim must be a whole number from 1 to {LARGEST_DIMENSION:,}, not {quoted(dimension)}")
    if isinstance(embedder, str):
        return
    fingerprint = getattr(embedder, "fingerprint", None)
    if not isinstance(fingerprint, Fingerprint):
        raise ConfigurationError(f"embedding_provider must be a name or an embedder, not {quoted(embedder)}")
    if dimension not in (None, fingerprint.dimension):
        raise ConfigurationError(f"the embedder gives {fingerprint.dimension} dimensions, but embedding_dim is {dimension}")


def _is_dimension(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_DIMENSION


def _make(path: Path, embedder: str | Embedder, dimension: int | None, clock: Clock, options: Options) -> None:
    chosen = create_embedder(embedder, dimension=dimension, options=options) if isinstance(embedder, str) else embedder
    try:
        SQLStorage.create(path, chosen.fingerprint, at=clock())
    finally:
        TextVectors.made_by(chosen, is_own=isinstance(embedder, str)).close()
    _LOG.info("made %s with the embedder %s (%d dimensions)", path, chosen.fingerprint.model, chosen.fingerprint.dimension)


def _texts(storage: SQLStorage, embedder: str | Embedder, dimension: int | None, options: Options) -> TextVectors:
    recorded = storage.fingerprint
    if embedder == AUTO:
        if dimension is not None and dimension != recorded.dimension:
            raise _mismatch(storage, f"{dimension} dimensions are configured")
        return TextVectors(recorded, lambda: embedder_for(recorded, options=options))
    chosen = create_embedder(embedder, dimension=dimension, options=options) if isinstance(embedder, str) else embedder
    texts = TextVectors.made_by(chosen, is_own=isinstance(embedder, str))
    if chosen.fingerprint != recorded:
        texts.close()
        raise _mismatch(storage, f"it was opened with {chosen.fingerprint.model} ({chosen.fingerprint.dimension} dimensions)")
    return texts


def _mismatch(storage: SQLStorage, but: str) -> EmbedderMismatchError:
    recorded = storage.fingerprint
    return EmbedderMismatchError(
        f"{storage.path} was made with {recorded.model} {recorded.revision} ({recorded.dimension} dimensions, {recorded.precision}), but {but}; "
        "vectors of two models do not compare. Open it with the embedder it was made with (`auto` does), or run `alma reindex`"
    )


def _scope(name: str, rules: MemoryScope | Mapping[str, object]) -> MemoryScope:
    if isinstance(rules, MemoryScope):
        return rules
    try:
        return MemoryScope.model_validate(rules)
    except PydanticError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"agents.{name}.{place}: {first['msg']}") from error
