"""Tries what installed wheels can do: `python installed.py PART…`, in an environment that was made from an index."""

import gzip
import importlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

FORMER = Path(__file__).parents[1] / "upgrade" / "data"
"""Stores that the version before the first release wrote."""

KEY = bytes(range(32))
HASH: dict[str, Any] = {"project_id": "shop", "embedding_provider": "hash"}
FORMER_OPTIONS: dict[str, Any] = {**HASH, "embedding_dim": 16}
TASK, WAY = "Deploy the authentication service", "Blue-green deployment with health checks"


def main(parts: list[str]) -> None:
    ours = [each for each in distributions() if each.name.startswith("alma-")]
    versions = {each.version for each in ours}
    assert len(versions) == 1, {each.name: each.version for each in ours}
    names = [name for each in ours for name in load(each)]
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            PARTS[part](Path(folder))
    print(
        f"{len(ours)} packages of version {versions.pop()}, {len(names)} names and entry points load; tried: {', '.join(parts)}"
    )


def load(distribution: Any) -> list[str]:
    """Loads all that a distribution publishes, from this environment alone, and returns the names."""
    if distribution.name == "alma-testing" and importlib.util.find_spec("pytest") is None:
        return []  # its contracts need pytest, which comes with alma-core[testing]
    if distribution.name == "alma-memory":
        return []  # it holds no code
    tops = {file.parts[0] for file in distribution.files or ()}
    (module,) = {top for top in tops if top != ".." and not top.endswith(".dist-info")}
    package = importlib.import_module(module)
    assert Path(str(package.__file__)).is_relative_to(sys.prefix), f"{module} is loaded from {package.__file__}"
    assert getattr(package, "__version__", distribution.version) == distribution.version, module
    names = [name for name in getattr(package, "__all__", ()) if not is_missing(package, name)]
    entries = [entry.name for entry in distribution.entry_points if entry.load()]
    return [*names, *entries]


def is_missing(package: Any, name: str) -> bool:
    """Returns whether a published name needs an extra that is not installed, and names it."""
    from alma import MissingDependencyError

    try:
        getattr(package, name)
    except MissingDependencyError as error:
        return "[" in str(error)
    return False


def try_round(place: Any, *, opening: str = "open", **options: Any) -> None:
    """Learns once, and finds it after opening the store again."""
    from alma import ALMA

    with getattr(ALMA, opening)(place, **options) as alma:
        alma.learn(agent="dev", task=TASK, outcome="success", strategy_used=WAY)
    with getattr(ALMA, opening)(place, **options) as alma:
        found = alma.retrieve(task=TASK, agent="dev")
        assert [outcome.strategy_used for outcome in found.outcomes] == [WAY], found
        assert WAY in found.to_prompt()
        assert alma.verify().ok


def try_learning(folder: Path) -> None:
    try_round(folder, **HASH)


def try_model(folder: Path) -> None:
    try_round(folder, project_id="shop", embedding_provider="minilm")


def try_files(folder: Path) -> None:
    try_round(folder, storage="file", **HASH)
    assert any(WAY in path.read_text("utf-8", "ignore") for path in folder.rglob("*.jsonl"))


def try_encryption(folder: Path) -> None:
    try_round(folder, encryption_key=KEY, **HASH)
    assert_unreadable(folder, "Blue-green")


def try_chroma(folder: Path) -> None:
    try_configured(folder, "chroma", {"persist_directory": str(folder / "chroma")})


def try_qdrant(folder: Path) -> None:
    try_configured(folder, "qdrant", {"url": f"path:{folder / 'qdrant'}"})


def try_configured(folder: Path, storage: str, settings: Mapping[str, object]) -> None:
    """Does a round on a store that is named in a configuration, as a project has it."""
    every = {"storage_dir": str(folder), "storage": storage, storage: settings, **HASH}
    config = folder / "config.yaml"
    config.write_text(json.dumps({"alma": every}), "utf-8")  # JSON is YAML
    try_round(config, opening="from_config")


def try_postgres(folder: Path) -> None:
    sys.path.append(str(Path(__file__).parents[1] / "support"))
    from postgres_server import PostgresServer

    server = PostgresServer()
    server.start()
    try:
        try_configured(folder, "postgres", server.options)
    finally:
        server.stop()
    assert not list(folder.rglob("alma.db*")), "memories were stored beside the server"


def try_names(folder: Path) -> None:
    """Looks for every name of `alma`: with `alma-core[all]` none is missing."""
    import alma

    assert [name for name in alma.__all__ if is_missing(alma, name)] == []


def try_upgrade(folder: Path, name: str = "plain", **options: Any) -> None:
    """Opens a SQLite file of the former version."""
    from alma import ALMA

    (folder / "alma.db").write_bytes(gzip.decompress((FORMER / f"{name}.gz").read_bytes()))
    if options:
        from alma.encryption import encrypt_store

        encrypt_store(folder, KEY)  # no opening does so
    with ALMA.open(folder, **FORMER_OPTIONS, **options) as alma:
        check_former(alma)


def try_encrypted_upgrade(folder: Path) -> None:
    try_upgrade(folder, "encrypted", encryption_key=KEY)


def try_files_upgrade(folder: Path) -> None:
    from alma import ALMA

    with tarfile.open(FORMER / "files.gz") as archive:
        archive.extractall(folder, filter="data")
    with ALMA.open(folder, storage="file", **FORMER_OPTIONS) as alma:
        check_former(alma)


def check_former(alma: Any) -> None:
    """Checks that a store of the former version verifies, answers and goes on learning."""
    assert alma.verify().ok
    assert alma.retrieve("Shrink the orders table", "dba").anti_patterns
    alma.learn("dba", TASK, "success", WAY)
    assert alma.retrieve(TASK, "dba").strategies
    assert alma.verify().ok


def try_command(folder: Path) -> None:
    """Spends a new user's first minutes with an encrypted project."""
    alma = Path(sys.executable).with_name("alma.exe" if sys.platform == "win32" else "alma")
    environment = {**os.environ, "HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "home" / ".config")}
    project = folder / "shop"
    project.mkdir()

    def run(*arguments: str) -> str:
        done = subprocess.run([alma, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"alma {' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    assert run("--version").strip()
    run("init", "--encrypt", "--embedder", "hash", "--agent", "dev")
    run("learn", "--agent", "dev", "--task", TASK, "--outcome", "success", "--strategy", WAY)
    assert WAY in run("retrieve", TASK, "--agent", "dev")
    assert json.loads(run("verify", "--json"))["ok"]
    assert_unreadable(project, "Blue-green")
    assert list((folder / "home").rglob("*.key"))
    shutil.rmtree(folder / "home")


def assert_unreadable(folder: Path, word: str) -> None:
    readable = [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
    assert readable == [], f"{word} can be read in {readable}"


PARTS: dict[str, Callable[[Path], None]] = {
    "chroma": try_chroma,
    "command": try_command,
    "encrypted_upgrade": try_encrypted_upgrade,
    "encryption": try_encryption,
    "files": try_files,
    "files_upgrade": try_files_upgrade,
    "learning": try_learning,
    "model": try_model,
    "names": try_names,
    "postgres": try_postgres,
    "qdrant": try_qdrant,
    "upgrade": try_upgrade,
}


if __name__ == "__main__":
    main(sys.argv[1:])
