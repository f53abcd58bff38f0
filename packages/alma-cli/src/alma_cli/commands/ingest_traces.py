"""`alma ingest-traces`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable


def ingest_traces(
    file: Annotated[str, typer.Argument(help="OTLP JSON, a document or one per line; - for standard input.")],
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Whose runs they are, where a span names no agent.")] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Record the agent runs of OpenTelemetry traces. Runs that were recorded before are left out.

    \b
    Examples:
      alma ingest-traces traces.json
      alma ingest-traces - --agent helena --json < traces.jsonl
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config)) as alma:
        report = alma.learn_from_spans(_read(file), agent)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    said = f"Recorded {len(report.episode_ids)} runs with {report.steps} steps; {report.known} were known, {report.left_out} spans are of no run"
    console().print(printable(said), soft_wrap=True)


def _read(file: str) -> bytes:
    from alma.errors import ValidationError

    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise ValidationError(f"{file} could not be read: {getattr(error, 'strerror', None) or error}") from None
