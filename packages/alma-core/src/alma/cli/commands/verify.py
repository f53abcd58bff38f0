"""`alma verify`."""

import typer

from alma.cli.exits import Exit
from alma.cli.options import ConfigOption, JsonOption, config_path
from alma.cli.output import console, print_json, printable


def verify(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check the journal's chain and that every memory, passage and vector is as it was written.

    \b
    Examples:
      alma verify
      alma verify --config elsewhere/.alma/config.yaml --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config)) as alma:
        report = alma.verify()
    if json:
        print_json({"ok": report.ok, **report.model_dump(mode="json")})
    else:
        out = console()
        for problem in report.problems:
            out.print(printable(f"PROBLEM {problem}"), soft_wrap=True)
        found = f"{len(report.problems)} problems" if report.problems else "no problem"
        out.print(f"{found} in {report.records} journal records and {report.memories} memories", soft_wrap=True)
    if not report.ok:
        raise typer.Exit(Exit.PROBLEM)
