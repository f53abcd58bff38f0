"""Findings of `alma doctor` about the hosts: where hooks are installed, and when they last fired."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from alma.errors import ConfigurationError
from alma_agents import installing
from alma_agents.trust import is_trusted

Found = tuple[str, str, str]
"""Name, status (`ok`, `info` or `FAILED`) and detail."""


def findings(config: Path) -> Iterator[Found]:
    """Yields a finding for each host with hooks in this project or for this user. Whether a host trusts them only the host knows."""
    project = Path(os.path.abspath(config)).parent.parent
    found = [each for host in installing.HOSTS for each in _of_host(host, project)]
    if found and not is_trusted(Path(os.path.abspath(config))):
        yield (
            "coding agents",
            "FAILED",
            f"{config} names a store or a model beyond its folder: nothing is learned until `alma install` was run here",
        )
    yield from found or [("coding agents", "info", "no hooks installed; `alma install HOST` enters them")]


def _of_host(host: str, project: Path) -> Iterator[Found]:
    files = dict.fromkeys(installing.file_of(host, base, is_user=user) for base, user in ((project, False), (Path.home(), True)))
    for file in files:
        try:
            state = installing.state_of(host, file)
        except (ConfigurationError, OSError):
            continue  # installing leaves such a file alone, so it has no hooks of ours
        if state == installing.OLD:
            yield host, "FAILED", f"{file} names another installation of ALMA; run `alma install {host}` again"
        elif state == installing.CURRENT:
            yield host, "ok", f"{file}; {_fired(host, project)}"


def _fired(host: str, project: Path) -> str:
    try:
        at = (project / ".alma" / "agents" / f"fired-{host}").stat().st_mtime
    except OSError:
        return "no event yet: restart it, and review its hooks where it asks for that"
    return f"last event {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
