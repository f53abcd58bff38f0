"""`alma compact`."""

import typer

from alma_cli.exits import Exit
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json


def compact(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Rewrite the store's files without what was deleted, so that no byte of it is left in them.

    \b
    Examples:
      alma compact
      alma compact --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.compact()
    if json:
        print_json(report.model_dump(mode="json"))
    else:
        sizes = f"{report.bytes_before / 1024:,.0f} kB -> {report.bytes_after / 1024:,.0f} kB"
        console().print(f"Compacted: {sizes}, {report.snapshots_deleted} vector snapshots deleted", soft_wrap=True)
    if not report.is_whole:
        console(stderr=True).print(
            "The write-ahead log could not be emptied, for another process is reading; it may hold former pages. Run it again.",
            soft_wrap=True,
        )
        raise typer.Exit(Exit.PROBLEM)
