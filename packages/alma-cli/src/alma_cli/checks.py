"""The checks of `alma doctor`. Each checks one thing and reports its finding; none changes anything outside a temporary folder."""

import importlib.util
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alma import __version__
from alma.errors import AlmaError, ConfigurationError
from alma_cli.output import counted
from alma_cli.versions import DISTRIBUTION, version_of

if TYPE_CHECKING:
    from alma import ALMA
    from alma.config import Settings
    from alma.protocols import Embedder

Status = Literal["ok", "FAILED", "info"]

OLDEST_PYTHON = (3, 11)
EXTRAS = {
    "local": ("alma-minilm", "onnxruntime", "tokenizers"),
    "cli": ("typer", "rich"),
    "encryption": ("cryptography",),
    "openai": ("httpx", "tenacity"),
    "sentence-transformers": ("sentence-transformers", "torch"),
}
SIMILAR = ("How do I reset my password?", "I forgot my password and cannot log in to reset it")
UNRELATED = "The recipe needs two eggs and a cup of flour"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check."""

    name: str
    status: Status
    detail: str


class CheckFailedError(Exception):
    """Raised by a check that found a fault; the text says what it is, and what to do."""


Check = Callable[[], str]


def examine(settings: "Settings | AlmaError | None", *, config: Path) -> Iterator[Finding]:
    """Yields all findings, one by one. `settings` are those of `config`, the error from reading it, or `None` where there is no such
    file."""
    usable = settings if settings is not None and not isinstance(settings, AlmaError) else None
    provider = usable.embedding_provider if usable else "auto"
    embedder = cache(lambda: configured_embedder(usable))
    yield _finding("ALMA", lambda: f"{__version__}, {Path(__file__).parents[1]}")
    yield _finding("import alma", check_ownership)
    yield _finding("Python", check_python)
    yield _finding("SQLite", check_sqlite)
    yield _finding("embedder", lambda: judge_embedder(embedder(), provider))
    yield _finding("other words", lambda: judge_meanings(embedder()))
    yield _finding("round trip", lambda: check_round_trip(embedder()))
    yield from _extras()
    if settings is None:
        yield Finding("configuration", "info", f"there is no {config}; `alma init` writes one")
        return
    yield _finding("configuration", lambda: check_configuration(settings, config))
    if usable:
        yield _finding("storage", lambda: check_storage(usable.storage_dir))
        yield from _database(usable, config)


def _finding(name: str, check: Check) -> Finding:
    try:
        return Finding(name, "ok", check())
    except (CheckFailedError, AlmaError, OSError, ImportError) as error:
        return Finding(name, "FAILED", " ".join(str(error).split()) or type(error).__name__)


def check_ownership() -> str:
    """Checks that no other installed distribution provides a package `alma`."""
    others = sorted(set(packages_distributions().get("alma", ())) - {DISTRIBUTION})
    if others:
        raise CheckFailedError(
            f"{', '.join(others)} also installs a package `alma`, and the two overwrite each other; "
            f"`pip uninstall {' '.join(others)}`, then install alma-core again"
        )
    return "belongs to alma-core alone"


def check_python() -> str:
    """Checks the version of Python."""
    if sys.version_info < OLDEST_PYTHON:
        raise CheckFailedError(f"{platform.python_version()} is too old; ALMA needs 3.11 or newer")
    return f"{platform.python_version()}, {sys.executable}"


def check_sqlite() -> str:
    """Checks the version of SQLite and that it has full text."""
    from alma.storage.sqlite.database import OLDEST_SQLITE

    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise ConfigurationError(f"SQLite {version} is too old; ALMA needs {'.'.join(map(str, OLDEST_SQLITE[:2]))} or newer")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(words)")
        except sqlite3.Error as error:
            raise ConfigurationError(f"SQLite {version} was built without FTS5, which ALMA needs for full text") from error
    return f"{version} with FTS5"


def configured_embedder(settings: "Settings | None") -> "Embedder":
    """Returns the embedder of the configuration, or the default without one."""
    from alma.embedding import create_embedder

    if settings is None:
        return create_embedder("auto")
    return create_embedder(settings.embedding_provider, dimension=settings.embedding_dim, options=settings.embedder_options)


def judge_embedder(embedder: "Embedder", provider: str) -> str:
    """Describes an embedder whose vectors make sense. Raises `CheckFailedError` if they do not."""
    import numpy as np

    name = embedder.fingerprint.model
    vectors = embedder.embed([*SIMILAR, UNRELATED])
    if vectors.shape != (3, embedder.fingerprint.dimension) or not np.isfinite(vectors).all():
        raise CheckFailedError(f"{name} gives vectors of shape {vectors.shape}, or values that are not finite")
    lengths = np.linalg.norm(vectors, axis=1)
    if np.abs(lengths - 1.0).max() > 1e-2:
        raise CheckFailedError(f"{name} gives vectors of lengths {lengths.min():.2f} to {lengths.max():.2f}, which should be 1")
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if near <= far:
        raise CheckFailedError(f"{name} puts like texts at cosine {near:.2f} and unlike ones at {far:.2f}: its model is damaged")
    return f"{name} ({provider}), {embedder.fingerprint.dimension} dimensions; like texts {near:.2f}, unlike {far:.2f}"


def judge_meanings(embedder: "Embedder") -> str:
    """Says whether the embedder puts texts of one meaning near each other, so that what is recorded in other words counts."""
    name = embedder.fingerprint.model
    with _new_store(embedder) as alma:
        compares_meanings = alma.admin.compares_meanings()
    if not compares_meanings:
        return f"{name} does not separate meanings: tasks and strategies count in the same words and types alone"
    return f"{name} separates meanings: tasks and strategies count in other words, too"


@contextmanager
def _new_store(embedder: "Embedder") -> Iterator["ALMA"]:
    """Opens an empty store in a temporary folder."""
    from alma import ALMA

    with (
        tempfile.TemporaryDirectory(prefix="alma-doctor-") as folder,
        ALMA.open(folder, project_id="doctor", embedding_provider=embedder) as alma,
    ):
        yield alma


def check_round_trip(embedder: "Embedder") -> str:
    """Checks that a learned outcome is retrieved, that another agent does not see it, and that the store verifies."""
    with _new_store(embedder) as alma:
        learned = alma.learn(agent="doctor", task="Test the login form", outcome="success", strategy_used="Empty fields first")
        if learned.id not in alma.retrieve(task="Test the login form", agent="doctor").ids:
            raise CheckFailedError("what was learned did not come back")
        if alma.retrieve(task="Test the login form", agent="stranger").total_items:
            raise CheckFailedError("an agent sees the memories of another")
        report = alma.verify()
        if not report.ok:
            raise CheckFailedError(f"a new store does not verify: {report.problems[0]}")
    return "learned, retrieved, kept from strangers, verified"


def check_configuration(settings: "Settings | AlmaError", config: Path) -> str:
    """Checks that the configuration could be read."""
    if isinstance(settings, AlmaError):
        raise settings
    return f"{config}, project {settings.project_id!r}"


def check_storage(folder: Path) -> str:
    """Checks that the storage folder, or the folder that it would be created in, is writable."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if nearest != folder:
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise CheckFailedError(f"{folder} does not exist and cannot be made in {nearest}")
        return f"{folder} will be made"
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        raise CheckFailedError(f"{folder} cannot be written to: {error}") from error
    return f"{folder} can be written to"


def _database(settings: "Settings", config: Path) -> Iterator[Finding]:
    path = settings.storage_dir / settings.db_name
    if settings.storage == "file":
        path = path.with_suffix(".files")
    if settings.storage == "postgres":
        yield _finding("database", lambda: check_database(config, "the PostgreSQL store"))
    elif path.exists():
        yield _finding("database", lambda: check_database(config, path))
    else:
        yield Finding("database", "info", f"{path} is not made yet")


def check_database(config: Path, path: Path | str) -> str:
    """Checks that the database opens with the configured embedder, and verifies. `path` says what it is."""
    from alma import ALMA

    with ALMA.from_config(config, create=False) as alma:
        report = alma.verify()
        if not report.ok:
            raise CheckFailedError(f"{path}: {len(report.problems)} problems, the first: {report.problems[0]}")
        held = f"{counted(report.memories, 'memory', 'memories')}, {counted(report.records, 'journal record')}"
        return f"{path}: {held} verified, embedder {alma.get_stats().embedder}"


def _extras() -> Iterator[Finding]:
    for extra, distributions in EXTRAS.items():
        found = {name: version_of(name) for name in distributions}
        versions = ", ".join(f"{name} {version}" if version else f"{name} not installed" for name, version in found.items())
        yield Finding(f"extra {extra}", "info", versions)
    is_there = importlib.util.find_spec("faiss") is not None
    yield Finding(
        "FAISS", "info" if is_there else "FAILED", "installed" if is_there else "not installed; large stores need faiss-cpu"
    )
