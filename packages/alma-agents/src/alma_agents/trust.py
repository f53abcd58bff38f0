"""Rules for the memories that hooks may learn into. A cloned repository can hold a configuration: it must not send sessions to another machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alma_agents.index import state_folder

_LOCAL = {
    "storage": frozenset({None, "sqlite", "file"}),
    "embedding_provider": frozenset({None, "auto", "local", "minilm", "hash", "mock"}),
}


def is_trusted(config: Path) -> bool:
    """Returns True for a memory that stays in its own folder of this machine, and for one that `alma install` was run for."""
    return _is_local(config) or str(config.resolve()) in _listed()


def trust(config: Path) -> None:
    """Notes that a person installed hooks for this memory, whatever it names."""
    listed = _listed()
    name = str(config.resolve())
    if name not in listed and not _is_local(config):
        folder = Path(state_folder())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "trusted").write_text("".join(f"{each}\n" for each in sorted({*listed, name})), encoding="utf-8")


def _listed() -> set[str]:
    try:
        return set((Path(state_folder()) / "trusted").read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return set()


def _is_local(config: Path) -> bool:
    import yaml  # help and hooks do not need it

    try:
        read = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return False
    settings: Any = read.get("alma", read) if isinstance(read, Mapping) else None
    if not isinstance(settings, Mapping):
        return False
    if any(_plain(settings.get(name)) not in allowed for name, allowed in _LOCAL.items()):
        return False
    return _is_inside(settings.get("storage_dir", ".alma")) and _is_inside(settings.get("db_name", "alma.db"))


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str) else "?"


def _is_inside(path: object) -> bool:
    """True for a relative path that stays below its folder. A variable could hold anything."""
    if not isinstance(path, str) or "$" in path or os.path.isabs(path):
        return False
    return ".." not in Path(path).parts
