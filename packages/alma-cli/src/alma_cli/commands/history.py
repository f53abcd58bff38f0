"""`alma history`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.text import one_line
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table

if TYPE_CHECKING:
    from alma import ALMA
    from alma.protocols import Entry
    from alma.types.reports import HistoryEntry


def history(
    memory_id: Annotated[str | None, typer.Argument(help="The memory's id.", show_default="the calls on all memories")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Without an id: list at most this number.")] = 20,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the newest journal records, or show the effect of every call on one memory.

    Records are listed newest first; `alma undo --to N` takes back what came after record N. The calls on a memory come oldest first,
    also when it is archived or was undone.

    \b
    Examples:
      alma history
      alma history --limit 100 --json
      alma history 019b2f0e-7c1a-7d5e-9b1a-2f4d5e6f7a8b
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        if memory_id is None:
            records = list(_records(alma, limit))
        else:
            entries = alma.history(memory_id)
    if memory_id is None:
        _show_records(records, json=json)
        return
    if json:
        print_json({"memory_id": memory_id, "entries": [entry.model_dump(mode="json") for entry in entries]})
        return
    rows = [(entry.seq, f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.actor, entry.operation, _changes(entry)) for entry in entries]
    console().print(table(("record", "time (UTC)", "actor", "by", "what"), rows, right=("record",)))


def _records(alma: "ALMA", limit: int) -> Iterator[dict[str, Any]]:
    """Yields the newest journal records, newest first."""
    from alma.types.identity import from_micros

    project = alma.storage.project(alma.project_id)
    for entry in reversed(list(project.entries(after=max(0, project.head() - limit)))):
        yield {
            "seq": entry.seq,
            "at": from_micros(entry.at).isoformat(),
            "actor": entry.actor,
            "operation": entry.operation,
            "is_purged": entry.is_purged,
            "subjects": _subjects(entry),
        }


def _subjects(entry: "Entry") -> dict[str, str]:
    """Returns the memories, and other things, that a call changed: the id of each, and its words where the journal record has them."""
    subjects: dict[str, str] = {}
    for change in entry.changes:
        row = change.after or change.before or {}
        body = row.get("body", {})
        given = (row.get("text"), body.get("way"), body.get("task"))  # a record of a package may hold anything there
        words = next((one for one in given if isinstance(one, str) and one), "")
        if change.table != "purge":
            name = change.key.rpartition("/")[0] if change.table == "passage" else change.key
            subjects[name] = subjects.get(name) or words
    return subjects


def _show_records(records: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        print_json({"records": records})
        return
    if not records:
        console().print("Nothing was recorded yet.", soft_wrap=True)
        return
    rows = [
        (record["seq"], f"{record['at'][:19].replace('T', ' ')}", record["actor"], record["operation"], _about(record))
        for record in records
    ]
    console().print(table(("record", "time (UTC)", "actor", "operation", "about"), rows, right=("record",)))


def _about(record: dict[str, Any]) -> str:
    subjects = record["subjects"]
    if not subjects:
        return "purged" if record["is_purged"] else ""
    name, words = max(subjects.items(), key=lambda subject: bool(subject[1]))  # the first that has words
    more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
    return f"{_value(one_line(words))}{more}\n  id {name}" if words else f"{name}{more}"


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
