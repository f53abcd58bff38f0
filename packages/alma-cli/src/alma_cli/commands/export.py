"""`alma export`."""

import sys
from typing import Annotated

import typer

from alma.errors import ConfigurationError
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable
from alma_cli.progress import bar
from alma_cli.writing import checked_output


def export(
    file: Annotated[str, typer.Argument(help="Where to write; - is standard output.")],
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only what belongs to this agent.")] = None,
    user_id: Annotated[str | None, typer.Option("--user-id", "-u", help="Only what belongs to this user.")] = None,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors, so that importing needs no model.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Write everything that the project holds to a file of JSON lines.

    \b
    Examples:
      alma export backup.jsonl
      alma export helena.jsonl --agent helena --vectors
      alma export ann.jsonl --user-id ann
      alma export - > backup.jsonl
    """
    from alma import ALMA

    is_piped = file == "-"
    if is_piped and json:
        raise ConfigurationError("standard output holds the export already; leave --json out, or name a file")
    settings = config_path(config)
    target = sys.stdout.buffer if is_piped else checked_output(file, settings, may_replace=force)
    with ALMA.from_config(settings, create=False) as alma, bar("Exporting", is_hidden=json) as progress:
        report = alma.export(target, agent=agent, user_id=user_id, vectors=vectors, progress=progress)
    if is_piped:
        sys.stdout.flush()
    if json:
        print_json({"file": file, **report.model_dump(mode="json")})
        return
    held = report.counts
    memories, records = counted(held.memories, "memory", "memories"), counted(held.records, "record")
    line = f"Exported {memories} ({held.archived:,} archived) and {records}, {report.size / 1024:,.0f} kB"
    console(stderr=is_piped).print(printable(line if is_piped else f"{line}, to {file}"), soft_wrap=True)
