"""`alma history`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table

if TYPE_CHECKING:
    from alma.types.reports import HistoryEntry


def history(
    memory_id: Annotated[str, typer.Argument(help="The memory's id.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show the effect of every call on a memory, oldest first, also when it is archived or was undone.

    \b
    Examples:
      alma history 019b2f0e-7c1a-7d5e-9b1a-2f4d5e6f7a8b
      alma history 019b2f0e-7c1a-7d5e-9b1a-2f4d5e6f7a8b --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        entries = alma.history(memory_id)
    if json:
        print_json({"memory_id": memory_id, "entries": [entry.model_dump(mode="json") for entry in entries]})
        return
    rows = [(entry.seq, f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.actor, entry.operation, _changes(entry)) for entry in entries]
    console().print(table(("record", "time (UTC)", "actor", "by", "what"), rows, right=("record",)))


def _changes(entry: "HistoryEntry") -> str:
    lines = [f"{name}: {_value(revision.old)} -> {_value(revision.new)}" for name, revision in entry.changed.items()]
    if entry.what in ("made", "removed"):
        lines = [f"{name}: {_value(r.new if entry.what == 'made' else r.old)}" for name, r in entry.changed.items()]
        lines = [line for line in lines if not line.endswith((": -", ": ''"))]
    if entry.episode_id:
        lines.append(f"in episode {entry.episode_id}")
    return "\n".join([entry.what, *(f"  {' '.join(line.split())}" for line in lines)])


def _value(value: Any) -> str:
    if value is None:
        return "-"
    text = repr(value) if isinstance(value, str) else printable(str(value))
    return text if len(text) <= 100 else f"{text[:99]}…"
