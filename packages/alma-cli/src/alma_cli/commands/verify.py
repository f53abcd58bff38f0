"""`alma verify`."""

from typing import Annotated

import typer

from alma_cli.exits import Exit
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable


def verify(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild what is damaged and follows from the journal; name the rest.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Check the journal's chain and that every memory, passage and vector is as it was written.

    \b
    A rebuild recreates rows, lists, full text and vectors where the journal is intact. Back up the store first.

    \b
    Examples:
      alma verify
      alma verify --rebuild
      alma verify --config elsewhere/.alma/config.yaml --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.verify(rebuild=rebuild)
    if json:
        print_json({"ok": report.ok, **report.model_dump(mode="json")})
    else:
        out = console()
        for word, problems in (("REBUILT", report.rebuilt), ("PROBLEM", report.problems)):
            for problem in problems:
                out.print(printable(f"{word} {problem}"), soft_wrap=True)
        found = f"{len(report.problems)} problems" if report.problems else "no problem"
        mended = f", {len(report.rebuilt)} rebuilt," if report.rebuilt else ""
        out.print(
            f"{found}{mended} in {counted(report.records, 'journal record')} and {counted(report.memories, 'memory', 'memories')}",
            soft_wrap=True,
        )
    if not report.ok:
        raise typer.Exit(Exit.PROBLEM)
