"""`alma undo`."""

from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.confirming import YesOption, confirm
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable

if TYPE_CHECKING:
    from alma.types.reports import UndoReport

SHOWN = 10


def undo(
    to: Annotated[
        int | None,
        typer.Option("--to", help="The journal record after which everything is taken back, as `alma history` lists them."),
    ] = None,
    actor: Annotated[str | None, typer.Option("--actor", "-a", help="Take back only what this one did.")] = None,
    yes: Annotated[bool, YesOption] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Take back what was done after a journal record, after showing what that means.

    An undo is a record like any other, so it can be undone too. If something is written while you are asked, nothing is undone. With --json there
    is no question: without --yes it only reports.

    \b
    Examples:
      alma undo --to 41
      alma undo --to 41 --actor helena --yes
      alma undo --to 0 --json
    """
    from alma import ALMA

    if to is None:
        raise typer.BadParameter("it is missing; `alma history` lists the journal records and their numbers", param_hint="--to")
    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.undo_preview(to, actor=actor)
        if not json:
            _show(report)
        if _is_idle(report):
            yes = False
        elif not json:
            confirm(f"Take {counted(report.records, 'call')} back?", yes=yes)
            yes = True
        if yes:
            report = alma.undo(to, actor=actor, expected_head=None if json else report.head)
    if json:
        print_json(report.model_dump(mode="json"))
    elif report.seq is not None:
        console().print(f"Undone, as record {report.seq}; `alma undo --to {report.seq - 1}` takes that back", soft_wrap=True)


def _is_idle(report: "UndoReport") -> bool:
    return not (report.brought_back or report.removed or report.changed or report.others)


def _show(report: "UndoReport") -> None:
    out = console()
    whose = f" of {report.actor!r}" if report.actor else ""
    if _is_idle(report):
        out.print(printable(f"Nothing to undo{whose} after record {report.to}"), soft_wrap=True)
    else:
        out.print(printable(f"Undoing {counted(report.records, 'call')}{whose} after record {report.to}:"), soft_wrap=True)
    for what, names in (
        ("comes back", report.brought_back),
        ("goes", report.removed),
        ("changes", report.changed),
        ("changes", report.others),
    ):
        for name in names[:SHOWN]:
            out.print(printable(f"  {what}: {name}"), soft_wrap=True)
        if len(names) > SHOWN:
            out.print(f"  {what}: {len(names) - SHOWN} more", soft_wrap=True)
    if report.purged:
        out.print(f"Of {counted(report.purged, 'call')} something was purged; that does not come back", soft_wrap=True)
