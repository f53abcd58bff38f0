"""`alma import`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from alma.cli.options import ConfigOption, JsonOption, config_path
from alma.cli.output import console, print_json, printable
from alma.cli.progress import bar


def import_(
    file: Annotated[str, typer.Argument(help="What `alma export` wrote; - is standard input.")],
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out what is there already, instead of refusing the whole file.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Store what an export holds in this project: all of it, or nothing.

    \b
    Examples:
      alma import backup.jsonl
      alma import backup.jsonl --skip --json
      alma import - < backup.jsonl
    """
    from alma import ALMA

    source = sys.stdin.buffer if file == "-" else Path(file)
    with ALMA.from_config(config_path(config)) as alma, bar("Importing", is_hidden=json) as progress:
        report = alma.import_from(source, on_conflict="skip" if skip else "error", progress=progress)
    if json:
        print_json({"file": file, **report.model_dump(mode="json")})
        return
    stored, left = report.stored, report.skipped
    told = f"Imported {stored.memories:,} memories ({stored.archived:,} archived) and {stored.records:,} records of {report.project!r}"
    rest = (
        f"; {left.memories:,} memories and {left.records:,} records were there already" if left.memories or left.records else ""
    )
    console().print(printable(told + rest), soft_wrap=True)
