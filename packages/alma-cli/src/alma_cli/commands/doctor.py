"""`alma doctor`."""

from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path

import typer

from alma.errors import AlmaError
from alma_cli.checks import Finding, examine
from alma_cli.exits import Exit
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, table


def doctor(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check that ALMA works here: Python, SQLite, embedder, storage, a real round trip, the database.

    \b
    Examples:
      alma doctor
      alma doctor --json
    """
    findings = diagnose(config)
    failed = [finding.name for finding in findings if finding.status == "FAILED"]
    if json:
        print_json({"ok": not failed, "failed": failed, "checks": [asdict(finding) for finding in findings]})
    else:
        out = console()
        out.print(table(("check", "status", "found"), ((found.name, found.status, found.detail) for found in findings)))
        out.print(f"FAILED: {', '.join(failed)}" if failed else "All is well", style="bold red" if failed else "bold green")
    if failed:
        raise typer.Exit(Exit.PROBLEM)


def diagnose(config: Path | None) -> list[Finding]:
    """Returns the findings for this configuration. A path that was given must exist; the default one may be absent."""
    path = config_path(config)
    return [*_own(config, path), *_of_packages(path)]


def _own(config: Path | None, path: Path) -> list[Finding]:
    from alma.config import load_settings

    if config is None and not path.is_file():
        return list(examine(None, config=path))
    try:
        return list(examine(load_settings(path), config=path))
    except AlmaError as error:
        return list(examine(error, config=path))


def _of_packages(path: Path) -> Iterator[Finding]:
    """Yields what other packages add by entry points of the group `alma.checks`: functions of the configuration's path that yield name, status
    and detail."""
    for entry in entry_points(group="alma.checks"):
        try:
            yield from (Finding(*found) for found in entry.load()(path))
        except Exception as error:  # noqa: BLE001 - a package that is broken is a finding
            yield Finding(entry.name, "FAILED", f"its check failed: {error}")
