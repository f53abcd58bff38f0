"""The configuration that `alma init` and `alma demo` write."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from alma.errors import ConfigurationError

_HEAD = """\
# The memory of this project, written by `alma init`. ${VARIABLE} and ${VARIABLE:-default} are filled from the environment.
alma:
  project_id: %(project_id)s     # a wall: nothing is read across it
  storage: sqlite
  storage_dir: %(storage_dir)s     # relative to the project folder
  db_name: alma.db
  embedding_provider: %(embedder)s     # auto | minilm (alias local) | hash; auto takes minilm when it is installed
  # openai, azure and sentence-transformers need a block, say openai: {api_key: "${OPENAI_API_KEY}"}; `alma reindex` changes over
"""
_UPKEEP = """
  # Encryption at rest. `alma keygen FILE` makes a key, `alma encrypt` encrypts a store that is there already.
%(encryption)s
  # What `alma maintain` archives, and how often a process that stays open does so by itself. What goes can be brought back.
  # forgetting: {outcome: {window: 10000}, heuristic: {min_confidence: 0.2}}
  # maintenance: {every: 1d}
"""
_RULES = """
  # What each agent may learn, and who reads whom. An agent that is not listed has no limits, shares nothing and inherits nothing.
"""
_NO_AGENTS = """\
  # agents:
  #   helena:
  #     can_learn: [testing_strategies]     # task types; without it everything
  #     cannot_learn: [backend_logic]       # refused
  #     share_with: [victor]                # who may read helena's memories; "*" for all
  #     inherit_from: [senior]              # whose memories helena reads as well
  #     min_occurrences_for_heuristic: 3    # similar successes before a rule is formed
"""
_AGENT = """\
    %(name)s:
      # can_learn: [testing_strategies]     # task types; without it everything
      # cannot_learn: [backend_logic]       # refused
      # share_with: [someone]               # who may read these memories; "*" for all
      # inherit_from: [senior]              # whose memories this agent reads as well
      min_occurrences_for_heuristic: 3      # similar successes before a rule is formed
"""


def config_text(
    *,
    project_id: str,
    agents: Sequence[str] = (),
    embedder: str = "auto",
    storage_dir: str = ".alma",
    key_file: Path | None = None,
) -> str:
    """Returns a commented configuration, of an encrypted store if it names a key file. Names are quoted as JSON, which is valid YAML."""
    values = {"project_id": _quoted(project_id), "embedder": _quoted(embedder), "storage_dir": _quoted(storage_dir)}
    at_rest = (
        "# encryption: {key_file: ~/.config/alma.key}"
        if key_file is None
        else f"encryption: {{key_file: {_quoted(str(key_file))}}}"
    )
    blocks = "".join(_AGENT % {"name": _quoted(agent)} for agent in agents)
    return _HEAD % values + _UPKEEP % {"encryption": f"  {at_rest}"} + _RULES + (f"  agents:\n{blocks}" if blocks else _NO_AGENTS)


def write_config(path: Path, text: str) -> None:
    """Writes the file atomically, and replaces an old one."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be written: {error}") from error


def hide_from_git(folder: Path) -> None:
    """Adds a `.gitignore` that excludes the folder, unless it has one."""
    ignore = folder / ".gitignore"
    try:
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{ignore} cannot be written: {error}") from error


def _quoted(text: str) -> str:
    return json.dumps(text)
