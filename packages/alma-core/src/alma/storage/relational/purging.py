"""Purging: what belongs to a memory is erased from the rows and from every journal record that changed it, and with it what was learned from
nothing else.

A payload is erased whole, together with its salt; what it says of other rows is copied into the purge record (`journal.redaction`), from where
history, undo and `verify` read it. When a purge record itself names what is purged later, it is erased in turn and what it keeps moves on.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from alma import journal
from alma.journal import PURGE, Change, entity
from alma.protocols import Erased
from alma.storage.relational.applying import apply_changes
from alma.storage.relational.evidence import counted_strategies, tried, tried_in_part
from alma.storage.relational.hidden_names import hidden_key, revealed_key
from alma.storage.relational.logical import TABLES, View, passages_of
from alma.storage.relational.readback import purges
from alma.storage.relational.rows import TEXT, text_hash
from alma.storage.relational.text_index import TextIndex
from alma.storage.relational.unlearning import EVIDENCE, Log, unlearned
from alma.text import matched_text
from alma.types.evidence import text_key
from alma.types.partition import user_in

LONG_ENOUGH = 8
"""A shorter text found in another row says little."""


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge: the changes of its record, what it erased, the ids and texts by which to look for what it left, and the rows of the
    partitions that are gone."""

    changes: Sequence[Change]
    erased: Erased
    signs: Sequence[str]
    partitions: Collection[int]


@dataclass(slots=True)
class _Counts:
    """Counts of what was erased, by surface."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, surface: str, count: int) -> None:
        """Adds to a surface, and makes it known even when nothing was there."""
        self.counts[surface] = self.counts.get(surface, 0) + count


def purge(view: View, text: TextIndex, memory_ids: Sequence[str], records: Sequence[str], *, seq: int) -> Purged | None:
    """Erases as part of record `seq`. `None` if nothing of these names was ever there. What is left is not looked for here: that takes long."""
    made = list(purges(view))
    log = Log(view, {seq: changes for _, purge in made for seq, changes in journal.redacted(purge).items()})
    touched = {name: log.seqs(name) for name in (*memory_ids, *_names(view, records))}
    named = [name for name, seqs in touched.items() if seqs]
    if not named:
        return None
    found = _Counts()
    with_them = unlearned(log, {memory_id for memory_id in memory_ids if touched[memory_id]})
    more = [*with_them.rules, *(entity(EVIDENCE, evidence_id) for evidence_id in with_them.evidence)]
    touched |= {name: log.seqs(name) for name in more}
    doomed = {*named, *more}
    texts, hashes = _contents(view, doomed)
    kept = _erase_payloads(log, made, doomed, {seq for seqs in touched.values() for seq in seqs}, texts, hashes, found)
    _delete_rows(view, text, doomed, seq, found)
    _drop_vectors(view, hashes, found)
    dropped = drop_partitions(view)
    found.add("names of users", len(dropped))
    for name in doomed:
        view.session.run("touched_delete", {"of_project": view.project, "of_key": hidden_key(view.seal, name)})
    found.add("history index", sum(map(len, touched.values())))
    salt = os.urandom(journal.SALT_BYTES)
    count = journal.passages_removed(found.counts["passages"])
    changes = [*kept, _numbered(journal.tombstones(sorted(doomed), salt), seq), _numbered(count, seq)]
    known = [memory_id for memory_id in memory_ids if memory_id in doomed]
    signs = [*known, *with_them.rules, *(text for text in texts if len(text) >= LONG_ENOUGH)]
    return Purged(changes, Erased(seq, known, found.counts, with_them.left, with_them.unruled), signs, dropped)


def _names(view: View, records: Sequence[str]) -> Iterator[str]:
    """Returns the names of the records in the journal; one that ends in a slash stands for all that are numbered under it."""
    for record in records:
        name = entity("record", record)
        if not record.endswith("/"):
            yield name
            continue
        start = hidden_key(view.seal, name)
        under = {"project": view.project, "first": start, "last": f"{start[:-1]}0"}  # "0" comes after "/"
        for (stored,) in list(view.session.all("touched_under", under)):
            key = revealed_key(view.seal, stored)
            if key.removeprefix(name).isdecimal():
                yield key


def _contents(view: View, doomed: Iterable[str]) -> tuple[set[str], dict[bytes, str]]:
    """The texts of the memories as they are now, and for the hashes of those the key that each would have as a strategy."""
    rows = [row for name in doomed for row in passages_of(view, name).values()]
    return {row["text"] for row in rows}, {
        bytes.fromhex(row["text_hash"]): text_key(row["text"]) for row in rows if row["text_hash"]
    }


def _erase_payloads(
    log: Log,
    made: Sequence[tuple[int, Sequence[Change]]],
    doomed: set[str],
    seqs: set[int],
    texts: set[str],
    hashes: dict[bytes, str],
    found: _Counts,
) -> list[Change]:
    """Erases the records that changed what is doomed, and gives what has to be kept of them. Adds texts and hashes of former passages.

    `made` are the purge records that are in force.
    """
    view = log.view
    tombs: list[Change] = []
    for number, purge_changes in made:
        redacted = journal.redacted(purge_changes)
        if any(entity(c.table, c.key) in doomed for changes in redacted.values() for c in changes):
            seqs.update({number, *redacted})
            drop = {"of_project": view.project, "of_key": PURGE, "of_seq": number}
            view.session.run("touched_drop", drop)
            tombs += [change for change in purge_changes if change.key.startswith("tombstones")]
    moved = []
    for number in sorted(seqs):
        changes = log.changes(number)
        for change in changes:
            if entity(change.table, change.key) in doomed:
                _note(change, texts, hashes)
        rest = [c for c in changes if c.table != PURGE and entity(c.table, c.key) not in doomed]
        moved.append(journal.redaction(number, rest))
        view.session.run("journal_erase", {"of_project": view.project, "of_seq": number})
    found.add("journal payloads", len(seqs))
    return [*moved, *tombs]


def _note(change: Change, texts: set[str], hashes: dict[bytes, str]) -> None:
    for row in (change.before, change.after):
        if change.table == "passage" and row and row.get("text"):
            texts.add(row["text"])
        if change.table == "passage" and row and row.get("text_hash"):
            hashes.setdefault(bytes.fromhex(row["text_hash"]), text_key(row.get("text", "")))
        strategy = (
            (row.get("strategy") if change.table == EVIDENCE else row.get("body", {}).get("strategy_used")) if row else None
        )
        if strategy:
            hashes[text_hash(matched_text(strategy))] = text_key(strategy)


def _delete_rows(view: View, text: TextIndex, doomed: set[str], seq: int, found: _Counts) -> None:
    changes = [change for name in doomed for change in _deletions(view, name)]
    for surface, table in (
        ("memory rows", "memory"),
        ("passages", "passage"),
        ("usage", "usage"),
        ("small records", "record"),
        ("evidence", EVIDENCE),
    ):
        found.add(surface, sum(change.table == table for change in changes))
    live = [change for change in changes if change.table == "memory" and (change.before or {})["archived_at"] is None]
    found.add("full text", len(live))
    apply_changes(view, text, changes, {}, seq=seq)


def _deletions(view: View, name: str) -> list[Change]:
    """The changes that delete a memory with all that hangs on it, a small record, or evidence."""
    places: list[tuple[str, str]] = [("passage", key) for key in passages_of(view, name)]
    places += [("usage", name), ("memory", name), ("record", name.removeprefix("record/"))]
    places.append((EVIDENCE, name.removeprefix(f"{EVIDENCE}/")))
    return [
        Change(table, key, TABLES[table].decoded(view, raw), None)
        for table, key in places
        if entity(table, key) == name and (raw := TABLES[table].raw(view, key)) is not None
    ]


def _drop_vectors(view: View, hashes: Mapping[bytes, str], found: _Counts) -> None:
    """Deletes the vectors of the texts, where no other memory says the same and no strategy is compared by it."""
    stored = view.session.all("hashes", {"project": view.project})
    used = {view.seal.reveal(digest, place=TEXT) for (digest,) in stored}
    used |= {text_hash(text) for project, text in counted_strategies(view.session, view.seal) if project == view.project}
    used |= set(tried_in_part(view))
    strategies = tried(view)
    for digest in [digest for digest, key in hashes.items() if digest not in used and key not in strategies]:
        place = {"of_project": view.project, "of_text_hash": view.seal.hide(digest, place=TEXT)}
        found.add("vectors", view.session.run("vector_drop", place))
    found.add("vectors", 0)


def drop_partitions(view: View) -> list[int]:
    """Deletes the partitions of users in which nothing is left, for they name the user. A nameless new one has other processes read all anew."""
    unused = list(view.all("partitions_unused"))
    former = [row["row"] for row in unused if not row["kind"]]
    of_users = [row["row"] for row in unused if row["kind"] and (row["is_user"] or user_in(row["owner"]) is not None)]
    if not of_users:
        return []
    for number in (*former, *of_users):
        view.session.run("partition_delete", {"of_row": number})
    view.session.insert("partition_insert", {"project": view.project, "is_user": 0, "owner": "", "kind": ""})
    return of_users


def _numbered(change: Change, seq: int) -> Change:
    return Change(change.table, f"{change.key}/{seq}", change.before, change.after)
