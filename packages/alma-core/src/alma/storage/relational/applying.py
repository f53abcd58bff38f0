"""Applies changes to logical rows with all that hangs on a row: full text, vectors, the list of removed passages for vector indexes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from alma.errors import ConflictError, CorruptStoreError, StorageError
from alma.journal import Change, entity
from alma.storage.relational.logical import TABLES, View, passage_from, passages_of
from alma.storage.relational.rows import TEXT, Row, compared_text, text_hash, vector_checksum
from alma.storage.relational.session import Seal
from alma.storage.relational.text_index import Searched, TextIndex

_PLACED = frozenset({"content_hash", "kind", "is_user", "owner"})
"""Columns of a memory by which vector indexes place its passages: when they change, the indexes take in the passages again."""

_REACHED = frozenset({"archived_at", "kind", "is_user", "owner"})
"""Columns of a memory that its full-text entry depends on."""


def apply_changes(
    view: View, text: TextIndex, changes: Iterable[Change], vectors: Mapping[str, bytes], *, seq: int
) -> list[Change]:
    """Makes the changes as part of record `seq`, and gives those that were made, in the order they were made.

    `ConflictError` if a row is not what its change expects; then the transaction has to be given up.
    """
    given = list(changes)
    if len({(change.table, change.key) for change in given}) != len(given):
        raise ValueError("a row is changed twice at once")
    given = sorted([*given, *_mark_moves(view, given)], key=_order)
    affected = _searchable(given)
    text.remove(view.session, view.project, _entries(view, affected))
    embedded: dict[str, bytes | None] = {}
    try:
        for change in given:
            _make(view, change, vectors, embedded, seq)
    except LookupError as error:
        raise ConflictError(f"{change.table} {change.key!r} cannot be changed: {error}") from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise CorruptStoreError(f"{change.table} {change.key!r} is damaged: {error}; see `alma verify`") from error
    _hold_vectors(view, embedded)
    text.put(view.session, view.project, _entries(view, affected))
    return given


def _order(change: Change) -> int:
    """Memories before what hangs on them; deletions before what takes their place, memories after what hung on them."""
    if change.table == "memory":
        return 3 if change.after is None else 0
    return 1 if change.after is None else 2


def _mark_moves(view: View, changes: Sequence[Change]) -> list[Change]:
    """Changes that change nothing, for live passages whose memory moves in the indexes: so the journal says why they are taken in again."""
    named = {change.key for change in changes if change.table == "passage"}
    moving = [
        change.key for change in changes if change.table == "memory" and change.before and _PLACED & set(change.after or ())
    ]
    return [
        Change("passage", key, {"is_live": True}, {"is_live": True})
        for memory_id in moving
        for key, row in passages_of(view, memory_id).items()
        if row["is_live"] and key not in named
    ]


def _searchable(changes: Sequence[Change]) -> list[str]:
    """The memories whose full-text entry has to be made again."""
    return list(
        dict.fromkeys(
            entity(change.table, change.key)
            for change in changes
            if (change.table == "passage" and change.before != change.after)
            or (change.table == "memory" and (not change.before or not change.after or _REACHED & set(change.after)))
        )
    )


def _make(view: View, change: Change, vectors: Mapping[str, bytes], embedded: dict[str, bytes | None], seq: int) -> None:
    """Makes a change, and adds the texts whose vectors have to be there to `embedded`, with those of them that are given."""
    table = TABLES[change.table]
    raw = table.raw(view, change.key)
    if change.before is None and raw is not None:
        raise ConflictError(f"{change.table} {change.key!r} is there already")
    if change.before is not None and raw is None:
        raise ConflictError(f"{change.table} {change.key!r} is gone")
    row = {} if raw is None else table.decoded(view, raw)
    if differing := sorted(name for name, value in (change.before or {}).items() if row.get(name) != value):
        raise ConflictError(f"{change.table} {change.key!r} was changed meanwhile in {', '.join(differing)}")
    if raw is None:
        table.insert(view, _columns(view, change, dict(change.after or {}), vectors, embedded, seq))
        return
    columns = None
    if change.after is None:
        _check_bare(view, change)
        table.delete(view, raw)
    else:
        columns = _columns(view, change, {**row, **change.after}, vectors, embedded, seq)
        table.update(view, raw, columns)
    if change.table == "passage" and (columns is None or (raw["text_hash"] is not None and columns["text_hash"] is None)):
        # One that is gone, or that had a vector and has none any more; one that is only archived says so itself.
        view.session.run("removed_insert", {"project": view.project, "seq": seq, "passage": raw["row"]})


def _keeps_vector(change: Change) -> bool:
    """Returns True if a passage was embedded as the same text before, and is not brought back: its vector is there."""
    if change.before is None or change.after is None:
        return False
    changed = {name for name, value in change.after.items() if change.before.get(name) != value}
    return "text_hash" not in changed and not ("is_live" in changed and change.after["is_live"])


def _columns(
    view: View, change: Change, row: Row, vectors: Mapping[str, bytes], embedded: dict[str, bytes | None], seq: int
) -> Row:
    table = TABLES[change.table]
    columns = table.encoded(view, change.key, row)
    if table.is_numbered:
        columns["seq"] = seq
    if change.table == "passage" and columns["text_hash"] is not None and not _keeps_vector(change):
        embedded[row["text"]] = vectors.get(row["text"])
    strategy = compared_text(change.table, row) if change.before is None else None
    if strategy is not None and strategy in vectors:  # the one that was there may have been dropped
        embedded[strategy] = vectors[strategy]
    return columns


def _hold_vectors(view: View, embedded: Mapping[str, bytes | None]) -> None:
    """Stores the vectors of texts that are given and not there. `StorageError` for a text that has none in either place."""
    if given := {text_hash(text): vector for text, vector in embedded.items() if vector is not None}:
        store_vectors(view, given)
    wanted = {view.seal.hide(text_hash(text), place=TEXT): text for text, vector in embedded.items() if vector is None}
    looked_up = [{"project": view.project, "text_hash": digest} for digest in wanted]
    held = {row["text_hash"] for row in view.session.many("vectors", looked_up)}
    for digest, text in wanted.items():
        if digest not in held:
            raise StorageError(f"there is no vector for a passage that has to be found by one: {text[:60]!r}")


def store_vectors(view: View, vectors: Mapping[bytes, bytes]) -> None:
    """Keeps the vectors of texts, by the hashes of these; not in place of one that is there."""
    embedder = view.embedder()
    sealed = (sealed_vector(view.seal, view.project, digest, embedder, vector) for digest, vector in vectors.items())
    view.session.run_many("vector_insert", [{"project": view.project, **columns} for columns in sealed])


def sealed_vector(seal: Seal, project: int, digest: bytes, embedder: int | None, vector: bytes) -> Row:
    """The columns of a vector of an embedder, given its number and the hash of the vector's text."""
    hidden = seal.hide(digest, place=TEXT)
    sealed = seal.seal(vector, place="vector.vector", row=(project, hidden, embedder))
    return {"text_hash": hidden, "vector": sealed, "checksum": vector_checksum(hidden, sealed)}


def _check_bare(view: View, change: Change) -> None:
    """`ConflictError` if something would be left of a memory that goes."""
    if change.table != "memory":
        return
    left = [*passages_of(view, change.key)]
    if left or TABLES["usage"].raw(view, change.key) is not None:
        what = f"passage {left[0]!r}" if left else f"usage {change.key!r}"
        raise ConflictError(f"memory {change.key!r} cannot go while {what} is there")


def _entries(view: View, memory_ids: Sequence[str]) -> Iterator[Searched]:
    """Yields the entries of memories in the full text; an archived memory has none."""
    for memory_id in memory_ids:
        raw = TABLES["memory"].raw(view, memory_id)
        if raw is not None and raw["archived_at"] is None:
            yield raw["row"], [passage_from(row) for row in passages_of(view, memory_id).values()]
