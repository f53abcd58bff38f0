"""`alma quarantine`."""

from typing import Annotated

import typer

from alma_cli.exits import Exit
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table
from alma_cli.slices import summary_of


def quarantine(
    action: Annotated[str, typer.Argument(help="`list`, or `release` with the ids of memories.")] = "list",
    memory_ids: Annotated[list[str] | None, typer.Argument(help="Of `release`: the memories to let out.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this number is listed.")] = 20,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the memories in quarantine, or let some of them out: suspicious texts without a trusted source, shown to no agent until then.

    \b
    Examples:
      alma quarantine list
      alma quarantine release 019b2f0e-7c1a-7d5e-9b1a-2f4d5e6f7a8b
    """
    from alma import ALMA, ValidationError

    if action not in ("list", "release") or (action == "list" and memory_ids):
        raise ValidationError("alma quarantine takes `list`, or `release` and the ids of memories")
    with ALMA.from_config(config_path(config), create=False) as alma:
        if action == "release":
            _tell_released(memory_ids or [], alma.release_quarantined(memory_ids or []), json=json)
            return
        found = alma.quarantined(limit)
    if json:
        print_json({"memories": [memory.model_dump(mode="json") for memory in found]})
    elif not found:
        console().print("Nothing is in quarantine.", soft_wrap=True)
    else:
        rows = [
            (memory.id, memory.kind, memory.agent, memory.metadata.get("flagged", ""), summary_of(memory)) for memory in found
        ]
        console().print(table(("id", "kind", "owner", "why", "what"), rows))


def _tell_released(asked: list[str], released: list[str], *, json: bool) -> None:
    if json:
        print_json({"released": released})
    for memory_id in released if not json else ():
        console().print(printable(f"Released: {memory_id}"), soft_wrap=True)
    if not released:
        if not json:
            console().print(printable(f"Not in quarantine: {', '.join(asked) or 'no id was given'}"), soft_wrap=True)
        raise typer.Exit(Exit.REFUSED)
