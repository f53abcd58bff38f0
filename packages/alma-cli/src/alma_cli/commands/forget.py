"""`alma forget`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import ConfigurationError
from alma_cli.confirming import YesOption, confirm
from alma_cli.exits import Exit
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable, table

if TYPE_CHECKING:
    from pathlib import Path

    from alma.types.reports import ForgetReport


def forget(
    memory_ids: Annotated[list[str] | None, typer.Argument(help="Exactly these memories; without, the policy decides.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's own memories.")] = None,
    user_id: Annotated[
        str | None, typer.Option("--user-id", "-u", help="All that was recorded for this user, erased for good.")
    ] = None,
    older_than_days: Annotated[float, typer.Option(help="Outcomes older than this go.")] = 90,
    below_confidence: Annotated[
        float, typer.Option(help="Heuristics, anti-patterns, knowledge and own kinds of less confidence go.")
    ] = 0.3,
    purge: Annotated[bool, typer.Option("--purge", help="Erase for good, beyond undo, instead of archiving.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only show what would go.")] = False,
    yes: Annotated[bool, YesOption] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Archive stale or named memories, after showing them; with --purge erase them, and report what was done on every surface.

    With --json there is no question: without --yes it only reports.

    \b
    Examples:
      alma forget --dry-run
      alma forget --agent helena --older-than-days 30 --yes
      alma forget --user-id ann && alma compact
      alma forget 019b2f0e-7c1a-7d5e-9b1a-2f4d5e6f7a8b --purge && alma compact
    """
    from alma import ALMA

    if user_id is not None:
        _forget_user(user_id, bool(memory_ids or agent), dry_run=dry_run, yes=yes, config=config, json=json)
        return
    given: dict[str, Any] = {
        "older_than_days": older_than_days,
        "below_confidence": below_confidence,
        "memory_ids": memory_ids or None,
        "purge": purge,
    }
    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.forget(agent, **given, dry_run=True)
        if not json:
            _show(report)
        is_wanted = bool(report.memory_ids) and not dry_run
        if is_wanted and not json:
            confirm(f"{'Erase' if purge else 'Archive'} {counted(report.total, 'memory', 'memories')}?", yes=yes)
        if is_wanted and (yes or not json):
            done = alma.forget(agent, **{**given, "memory_ids": list(report.memory_ids)})
            report = done.model_copy(update={"unknown": (*report.unknown, *done.unknown)})
    if json:
        print_json(report.model_dump(mode="json"))
    elif report.seq is not None:
        _print(report)
    if memory_ids and not report.memory_ids:
        raise typer.Exit(Exit.REFUSED)


def _forget_user(user_id: str, has_others: bool, *, dry_run: bool, yes: bool, config: "Path | None", json: bool) -> None:
    from alma import ALMA

    if has_others:
        raise ConfigurationError("--user-id erases all of a user; leave the agent and the ids out")
    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.forget_user(user_id, dry_run=True)
        if not json:
            _show(report)
        if not dry_run and not json:
            confirm(f"Erase all of {user_id!r} for good?", yes=yes)
        if not dry_run and (yes or not json):
            report = alma.forget_user(user_id)
    if json:
        print_json(report.model_dump(mode="json"))
    elif report.seq is not None:
        _print(report)


def _show(report: "ForgetReport") -> None:
    out = console()
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.by_kind.items())
    out.print(
        printable(f"To forget: {counted(report.total, 'memory', 'memories')}{f' ({kinds})' if kinds else ''}"), soft_wrap=True
    )
    for memory_id in report.unknown:
        out.print(printable(f"No memory that can be forgotten: {memory_id}"), soft_wrap=True)


def _print(report: "ForgetReport") -> None:
    out = console()
    if report.receipt is None:
        assert report.seq is not None
        out.print(f"Archived, as record {report.seq}; `alma undo --to {report.seq - 1}` takes that back", soft_wrap=True)
        return
    rows = [(surface.name, "" if surface.found is None else surface.found, surface.done) for surface in report.receipt.surfaces]
    out.print(table(("surface", "found", "done"), rows, right=("found",), title=f"Purged, as record {report.seq}"))
    for row in report.receipt.left:
        out.print(printable(f"Still names it or holds its text: {row}"), soft_wrap=True)
