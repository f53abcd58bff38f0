"""The commands that this package adds to `alma`."""

import difflib
import json as plain_json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import AlmaError, ConfigurationError
from alma.text import shortened
from alma_agents import installing, spool
from alma_agents.trust import trust
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json, printable, write_text
from alma_cli.progress import bar

if TYPE_CHECKING:
    from alma import ALMA
    from alma_agents.reports import IngestReport

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")]
UserWide = Annotated[bool, typer.Option("--user/--project", help="For all of the user's repositories, or for this one.")]
_MOST_SHOWN, _MOST_SKIPPED = 5, 20
HostArgument = Annotated[str, typer.Argument(help=", ".join(installing.HOSTS))]


def hook(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="The host, and the event where its JSON does not name it.")
    ] = None,
) -> None:
    """The command that the hosts' hooks run: JSON on standard input, the host's own JSON on standard output, always exit code 0."""
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
        with spool.replaced(str(state / "settings.json")) as file:
            file.write(plain_json.dumps({"holdout": holdout}))
    write_text(f"{host}: restart it, and review its hooks where it asks for that\n")


def uninstall(host: HostArgument, user: UserWide = False, dry_run: DryRun = False) -> None:
    """Take ALMA's hooks out of a coding agent. A file that was not changed since is restored byte for byte."""
    base, state = _places(user)
    change = installing.removal(host, base, state, is_user=user)
    _show(change)
    if not dry_run:
        change.write()
        installing.forget(change, state)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Transcripts and exports of chats, or folders of them.")],
    files: Annotated[
        bool, typer.Option("--files", help="Read README, documents, decisions and comments of the folders.")
    ] = False,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Owner of what is learned; else the host or format.")] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="The user whose chats these are; with one, preferences.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Learn from past transcripts of coding agents and from exports of chats. The same again adds nothing."""
    from alma import ALMA
    from alma_agents.ingestion import ingest_conversations, ingest_directory, report_as_json
    from alma_agents.learning import rebuild

    file = config_path(config)
    if files and agent is None:
        raise ConfigurationError("--files needs --agent, the owner of what the files say")
    with ALMA.from_config(file) as alma, bar("reading", is_hidden=json) as progress:
        if files:
            reports = [ingest_directory(path, str(agent), alma=alma, user_id=user, progress=progress) for path in paths]
        else:
            reports = [ingest_conversations(paths, agent, alma=alma, user_id=user, progress=progress)]
        rebuild(alma, str(file.parent / "agents"))
    for report in reports:
        if json:
            print_json(report_as_json(report))
        else:
            _say(report, agent)


def _say(report: "IngestReport", agent: str | None) -> None:
    """Prints what an ingestion learned, and whose it is where no agent was named."""
    kinds = ", ".join(f"{number} {name}" for name, number in sorted(report.formats.items()))
    write_text(f"{report.files} files ({report.unchanged} unchanged){f': {kinds}' if kinds else ''}\n")
    write_text(f"{report.saved} memories are new, {report.known} were known, {report.replaced} were replaced\n")
    if report.saved and agent is None:
        owners = ", ".join(printable(name) for name in sorted(report.formats))
        write_text(f"they belong to the agent {owners}; with --agent NAME they belong to another one\n")
    counts = {
        "sessions": report.sessions,
        "failures": report.attempts,
        "conversations": report.conversations,
        "facts": len(report.domain_knowledge),
        "preferences": len(report.user_preferences),
        "anti-patterns": len(report.anti_patterns),
    }
    write_text(", ".join(f"{number} {name}" for name, number in counts.items() if number) + "\n" if any(counts.values()) else "")
    for one in [one for one in report.outcomes if one.success][:_MOST_SHOWN]:
        write_text(f"  {printable(shortened(one.task_description, 100))}: {printable(shortened(one.strategy_used, 100))}\n")
    if report.torn:
        write_text(f"{report.torn} records could not be read\n")
    for name, reason in list(report.skipped.items())[:_MOST_SKIPPED]:
        write_text(f"skipped {printable(name)}: {printable(reason)}\n")
    if len(report.skipped) > _MOST_SKIPPED:
        write_text(f"… and {len(report.skipped) - _MOST_SKIPPED} more; --json lists all\n")


def follow_import(alma: "ALMA", config: Path) -> None:
    """Makes the index of the hooks anew after an import, where there are hooks: they show what a clone has learned from the next call on."""
    from alma_agents.learning import rebuild

    folder = config.parent / "agents"
    try:
        if folder.is_dir():
            rebuild(alma, str(folder))
    except (OSError, AlmaError) as problem:  # what was imported is stored all the same
        typer.echo(f"the index of the hooks was not written: {problem}", err=True)


def promote(
    file: Annotated[Path | None, typer.Argument(help="AGENTS.md (the default), CLAUDE.md or a SKILL.md.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="The same as FILE.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Whose rules. Not needed where the rules of one agent alone hold.")
    ] = None,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="The rules of all agents of the project.")] = False,
    config: ConfigOption = None,
    dry_run: DryRun = False,
) -> None:
    """Write the rules of an agent that hold as a marked block into a file of instructions. Those that no longer hold leave it."""
    from alma import ALMA
    from alma_agents.promoting import SKILL, counts_by_agent, promotable, promoted

    if agent is not None and all_agents:
        raise ConfigurationError("give --agent or --all-agents, not both")
    if file is not None and to is not None:
        raise ConfigurationError("name the file once, as FILE or as --to FILE")
    file = file or to or Path("AGENTS.md")
    with ALMA.from_config(config_path(config), create=False) as alma:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        rules = promotable(alma, agent, of_all=all_agents)
        after = promoted(alma, before, rules, as_skill=file.name == SKILL)
    change = installing.Change("promote", file, before.encode() or None, after.encode() or None)
    _show(change)
    if not dry_run:
        change.write()
    whose = ", ".join(f"{printable(name)} ({number})" for name, number in counts_by_agent(rules).items())
    none = "no rules: none was stated, or learned three times, mostly right and confirmed in the last 90 days"
    write_text(f"{file}: {'would have' if dry_run else 'has'} {f'the rules of {whose}' if whose else none}\n")


def lift(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Does it help here? The share of repaired failures with notes and in held-out sessions, with the interval: of all, per host, per rule."""
    from alma import ALMA
    from alma_agents.lifting import lift_of

    with ALMA.from_config(config_path(config), create=False) as alma:
        found = lift_of(alma)
    if json:
        print_json(found)
        return
    hosts, rules = found.pop("hosts"), found.pop("rules")
    write_text(f"all: {_lift_line(found)}\n")
    for host, one in hosts.items():
        write_text(f"{printable(host)}: {_lift_line(one)}\n")
    for one in rules.values():
        write_text(f"  {printable(one['what'])}: {_lift_line(one)}\n")


def _lift_line(found: dict[str, Any]) -> str:
    number = found["sessions with notes"]
    sides = f"{number} session{'' if number == 1 else 's'} with notes, {found['sessions held out']} held out"
    if "lower" not in found:
        return f"{sides}; lift {found['lift']}"
    rates = f"repaired {found['repaired with notes']:.0%} and {found['repaired without']:.0%}"
    return f"{sides}; {rates}; lift {found['lift']:+.2f} ({found['lower']:+.2f} to {found['upper']:+.2f})"


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
        write_text(f"{change.file}: is up to date\n")
        return
    before, after = ((text or b"").decode("utf-8", "replace").splitlines(keepends=True) for text in (change.before, change.after))
    for line in difflib.unified_diff(before, after, str(change.file), str(change.file)):
        sys.stdout.write(printable(line if line.endswith("\n") else f"{line}\n"))
