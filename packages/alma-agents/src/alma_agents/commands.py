"""The commands that this package adds to `alma`."""

import difflib
import json as plain_json
import sys
from pathlib import Path
from typing import Annotated

import typer

from alma.errors import ConfigurationError
from alma_agents import installing
from alma_agents.trust import trust
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json, printable, tell

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")]
UserWide = Annotated[bool, typer.Option("--user/--project", help="For all of the user's repositories, or for this one.")]
HostArgument = Annotated[str, typer.Argument(help=", ".join(installing.HOSTS))]


def hook(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="The host, and the event where its JSON does not name it.")
    ] = None,
) -> None:
    """What the hosts' hooks run: JSON on standard input, the host's own JSON on standard output, always exit code 0."""
    from alma_agents.hook import main

    main(arguments or [])


def install(
    host: HostArgument,
    user: UserWide = False,
    dry_run: DryRun = False,
    holdout: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Share of sessions in which nothing is shown.")] = None,
) -> None:
    """Enter ALMA's hooks at a coding agent. Other hooks stay; installing twice changes nothing."""
    base, state = _places(user)
    change = installing.installation(host, base, is_user=user)
    _show(change)
    if dry_run:
        return
    if not change.is_there:
        installing.remember(change, state)
        change.write()
    trust(base / ".alma" / "config.yaml")
    if holdout is not None:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state / "settings.json").write_text(plain_json.dumps({"holdout": holdout}), encoding="utf-8")
    tell(f"{host}: restart it, and review its hooks where it asks for that\n")


def uninstall(host: HostArgument, user: UserWide = False, dry_run: DryRun = False) -> None:
    """Take ALMA's hooks out of a coding agent. A file that was not changed since is restored byte for byte."""
    base, state = _places(user)
    change = installing.removal(host, base, state, is_user=user)
    _show(change)
    if not dry_run:
        change.write()
        installing.forget(change, state)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Transcripts, or folders of them.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Learn from past transcripts of coding agents. The same transcript again adds nothing."""
    from alma import ALMA
    from alma_agents.ingestion import ingest_conversations, report_as_json
    from alma_agents.learning import rebuild

    file = config_path(config)
    with ALMA.from_config(file) as alma:
        report = ingest_conversations(paths, alma=alma)
        rebuild(alma, str(file.parent / "agents"))
    if json:
        print_json(report_as_json(report))
        return
    tell(
        f"{report.files} files, {report.sessions} sessions, {report.attempts} attempts: {report.saved} new, {report.known} known before\n"
    )
    if report.torn:
        tell(f"{report.torn} lines could not be read\n")
    for name, reason in report.skipped.items():
        tell(f"skipped {printable(name)}: {reason}\n")


def promote(
    file: Annotated[Path, typer.Argument(help="AGENTS.md or CLAUDE.md.")] = Path("AGENTS.md"),
    config: ConfigOption = None,
    dry_run: DryRun = False,
) -> None:
    """Write the project's proven rules as a marked block into a file of instructions. Rules that no longer hold leave it."""
    from alma import ALMA
    from alma_agents.promoting import promoted

    with ALMA.from_config(config_path(config)) as alma:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        after = promoted(alma, before)
    _show(installing.Change("promote", file, before.encode(), after.encode()))
    if not dry_run and after != before:
        file.write_text(after, encoding="utf-8")


def lift(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Does it help here? The share of repaired failures with notes, and in sessions that were held out, with the interval of the difference."""
    from alma import ALMA
    from alma_agents.lifting import lift_of

    with ALMA.from_config(config_path(config)) as alma:
        found = lift_of(alma)
    if json:
        print_json(found)
        return
    tell("\n".join(f"{name}: {value}" for name, value in found.items()) + "\n")


def _places(user: bool) -> tuple[Path, Path]:
    base = Path.home() if user else Path.cwd()
    if not user:
        base = next(
            (
                folder
                for folder in (base, *base.parents)
                if (folder / ".git").exists() or (folder / ".alma" / "config.yaml").exists()
            ),
            base,
        )
    if not (base / ".alma" / "config.yaml").is_file():
        raise ConfigurationError(f"there is no memory in {base}; run `alma init` there first")
    return base, base / ".alma" / "agents"


def _show(change: installing.Change) -> None:
    if change.is_there:
        tell(f"{change.file}: nothing changes\n")
        return
    before, after = ((text or b"").decode("utf-8", "replace").splitlines(keepends=True) for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, str(change.file), str(change.file)):
        sys.stdout.write(printable(line if line.endswith("\n") else f"{line}\n"))
