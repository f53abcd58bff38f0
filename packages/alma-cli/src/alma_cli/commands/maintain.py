"""`alma maintain`."""

from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable, table

if TYPE_CHECKING:
    from alma.types.reports import MaintenanceReport


def maintain(
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only show what would go.")] = False,
    due: Annotated[
        bool, typer.Option("--due", help="Do nothing within `maintenance: every` of the last run (a day, if it is not set).")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Archive the memories that the rules of `forgetting` in the configuration select, and report their number by rule.

    \b
    Examples:
      alma maintain --dry-run
      alma maintain
      alma maintain --due --json     # from cron, say
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.maintain(dry_run, due_only=due)
    if json:
        print_json({**report.model_dump(mode="json"), "total": report.total})
    else:
        _print(report)


def _print(report: "MaintenanceReport") -> None:
    out = console()
    if not report.ran:
        when = f"; it is due {report.due_at:%Y-%m-%d %H:%M} UTC" if report.due_at else ""
        out.print(
            f"Nothing was done: maintenance ran{f' {report.last_run_at:%Y-%m-%d %H:%M} UTC' if report.last_run_at else ''}{when}"
        )
        return
    rows = [(rule.kind, rule.rule, f"{rule.limit:g}", owner, n) for rule in report.rules for owner, n in rule.by_owner.items()]
    if rows:
        out.print(table(("kind", "rule", "limit", "owner", "memories"), rows, right=("limit", "memories")))
    if report.dry_run:
        out.print(f"To archive: {counted(report.total, 'memory', 'memories')}")
    elif report.total:
        first, last = report.seqs[0], report.seqs[-1]
        records = f"record {first}" if first == last else f"records {first} to {last}"
        out.print(
            f"Archived {counted(report.total, 'memory', 'memories')}, as {records}; `alma undo --to {first - 1}` takes that back",
            soft_wrap=True,
        )
    else:
        out.print("Nothing is due to be archived")
    if report.merged:
        out.print(
            f"{'To merge' if report.dry_run else 'Merged'} with others that say the same: {counted(report.merged, 'memory', 'memories')}"
        )
    for kind in report.unknown_kinds:
        out.print(printable(f"There is a rule for {kind!r}, but no memory and no definition of that kind"), soft_wrap=True)
