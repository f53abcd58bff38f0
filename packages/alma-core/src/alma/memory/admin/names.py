"""Names of agents and users that are stored in a form other than the composed one (NFC)."""

from collections.abc import Mapping

from alma.errors import CorruptStoreError
from alma.memory.arguments import with_composed_names
from alma.memory.room import Room
from alma.protocols import StoredRow
from alma.text import composed
from alma.types.identity import MemoryScope, agent_in
from alma.types.reports import NamesReport
from alma.types.stored import Change


def compose_names(room: Room, *, dry_run: bool = False) -> NamesReport:
    """Gives every stored name of an agent or user its composed form (NFC), under which all calls look for it. Reports what it changed.

    One journal record, which `undo` reverses; with `dry_run` nothing is written. Memories stay where they are that other agents would then
    read, because `share_with` or `inherit_from` names the composed form: the report has the reason.
    """
    changes: list[Change] = []
    held: dict[str, str] = {}
    for stored in room.project.rows():
        if (change := _renaming(stored)) is None:
            continue
        row = stored.row or {}
        agent = "" if row.get("is_user", True) else agent_in(row["owner"])
        if why := _widens(room.store.agents, agent):
            held[agent] = why
        else:
            changes.append(change)
    seq = None
    if changes and not dry_run:
        with room.project.write(actor="", operation="compose_names", at=room.now()) as write:
            write.apply(changes)
            seq = write.seq
    ids = tuple(change.key for change in changes if change.table == "memory")
    return NamesReport(dry_run=dry_run, seq=seq, memory_ids=ids, records=len(changes) - len(ids), held=held)


def _renaming(stored: StoredRow) -> Change | None:
    """Returns the change that composes the names of a row; `None` if they are."""
    if stored.row is None:
        raise CorruptStoreError(f"{stored.table} {stored.key} {stored.fault}; see `alma verify`")
    if stored.table not in ("memory", "record"):
        return None
    row = {**stored.row, "body": with_composed_names(stored.row["body"])}
    wanted = with_composed_names(row) if stored.table == "memory" else row
    changed = [name for name in wanted if wanted[name] != stored.row[name]]
    if not changed:
        return None
    if stored.table == "record":
        wanted["version"] += 1
        changed.append("version")
    return Change(
        stored.table, stored.key, {name: stored.row[name] for name in changed}, {name: wanted[name] for name in changed}
    )


def _widens(agents: Mapping[str, MemoryScope], former: str) -> str:
    """Returns why other agents would read what an agent recorded under a former form of its name; "" if none would."""
    name = composed(former)
    if name == former:
        return ""
    own = agents.get(name, MemoryScope())
    if own.share_with:
        return f"share_with of {name!r} opens its memories to other agents; run this without it, then put it back"
    readers = [reader for reader, rules in agents.items() if name in rules.inherit_from]
    if own.share_with is None and readers:
        return f"inherit_from of {', '.join(map(repr, readers))} names it; run this without it, then put it back"
    return ""
