"""Purging: what belongs to a memory is erased from the rows and from every journal record that changed it, with the words of it that records of
rules and retired rows of former versions quote.

A payload is erased whole, together with its salt; what it says of other rows is copied into the purge record (`journal.redaction`), from where
history, undo and `verify` read it. When a purge record itself names what is purged later, it is erased in turn and what it keeps moves on.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from alma import journal
from alma.extensions import extension
from alma.journal import PURGE, RETIRED_COLUMN, Change, entity
from alma.protocols import Erased
from alma.storage.relational.applying import apply_changes
from alma.storage.relational.logical import TABLES, View, passages_of, read_rows
from alma.storage.relational.readback import Redactions, changes_of, purges, record_from
from alma.storage.relational.reembedding import owned_strategies
from alma.storage.relational.rows import TEXT, Row, text_hash
from alma.storage.relational.session import hide_touched, reveal_touched
from alma.storage.relational.text_index import TextIndex
from alma.text import matched_text
from alma.types.identity import user_in
from alma.types.reports import MAINTENANCE, UPGRADE
from alma.types.strategies import RULE

LONG_ENOUGH = 8
"""A shorter text found in another row says little."""

REPORT = entity("record", f"{MAINTENANCE}/{UPGRADE}")


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge: the changes of its record, what it erased, the ids and texts by which to look for what it left, and the rows of the
    partitions that are gone."""

    changes: Sequence[Change]
    erased: Erased
    signs: Sequence[str]
    partitions: Collection[int]


@dataclass(slots=True)
class Log:
    """The journal while something is purged: each record is read once. `kept` is what former purges left of the records that they erased."""

    view: View
    kept: Redactions
    read: dict[int, list[Change]] = field(default_factory=dict)
    read_by_key: dict[int, dict[str, list[Change]]] = field(default_factory=dict)

    def seqs(self, key: str) -> list[int]:
        """Returns the records that changed what hangs on a key."""
        given = {"project": self.view.project, "key": hide_touched(self.view.seal, key)}
        return [seq for (seq,) in self.view.session.all("touched_seqs", given)]

    def keys(self, start: str) -> list[str]:
        """Returns the keys that begin with `start`, which ends in a slash, and that records changed."""
        first = hide_touched(self.view.seal, start)
        last = f"{first[:-1]}0"  # "0" comes after "/"
        found = self.view.session.all("touched_under", {"project": self.view.project, "first": first, "last": last})
        return [reveal_touched(self.view.seal, stored) for (stored,) in list(found)]

    def changes(self, seq: int) -> list[Change]:
        """Returns the changes of a record, as far as it was not purged."""
        if seq not in self.read:
            given = {"project": self.view.project, "seq": seq}
            (values,) = self.view.session.all("journal_at", given)
            self.read[seq] = changes_of(record_from(values, self.view), self.kept)
            by_key = self.read_by_key[seq] = defaultdict(list)
            for change in self.read[seq]:
                by_key[entity(change.table, change.key)].append(change)
        return self.read[seq]

    def rows(self, key: str) -> Iterator[Row]:
        """Yields the rows that hang on a key as they stand in the journal."""
        for seq in self.seqs(key):
            self.changes(seq)
            for change in self.read_by_key[seq].get(key, ()):
                yield from (dict(row) for row in (change.before, change.after) if row)


@dataclass(slots=True)
class Words:
    """The words of what is purged: passages, strategies by the owner of the outcome, errors, and the hashes of texts that may have a vector."""

    passages: set[str] = field(default_factory=set)
    strategies: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)
    hashes: set[bytes] = field(default_factory=set)
    are_of_former: bool = False

    def note(self, row: Mapping[str, Any]) -> None:
        """Notes the words of a logical row, and whether a former version wrote it."""
        self.are_of_former |= bool(row.get(RETIRED_COLUMN))
        if row.get("text_hash"):
            self.hashes.add(bytes.fromhex(row["text_hash"]))
        if row.get("text"):
            self.passages.add(row["text"])
        body = row.get("body", {})
        self.errors |= {text for name in ("error_message", "user_feedback") if (text := body.get(name))}
        if strategy := row.get("strategy") or body.get("strategy_used"):
            self.strategies.add(strategy)
            self.hashes.add(text_hash(matched_text(strategy)))

    def all(self) -> set[str]:
        """Returns all texts that say much by themselves."""
        return {text for text in self.passages | self.strategies | self.errors if len(text) >= LONG_ENOUGH}


def purge(view: View, text: TextIndex, memory_ids: Sequence[str], records: Sequence[str], *, seq: int) -> Purged | None:
    """Erases as part of record `seq`. `None` if nothing of these names was ever there. What is left is not looked for here: that takes long."""
    made = list(purges(view))
    log = Log(view, {seq: changes for _, purge in made for seq, changes in journal.redacted(purge).items()})
    touched = {name: log.seqs(name) for name in (*memory_ids, *_names(log, records))}
    named = [name for name, seqs in touched.items() if seqs]
    if not named:
        return None
    found, words = Counter[str](vectors=0), Words()  # what was erased, by surface; one with nothing is named, too
    for name in named:
        for row in (*_rows_of(view, name), *log.rows(name)):
            words.note(row)
    doomed = {*named, *_retired_with(log, named, words)}
    rules = _quoting_rules(log, doomed, words)
    erased = doomed | rules.keys()
    touched |= {name: log.seqs(name) for name in erased}
    kept = _erase_payloads(log, made, erased, {seq for seqs in touched.values() for seq in seqs}, found)
    _delete_rows(view, text, doomed | {name for name, body in rules.items() if body is None}, seq, found)
    restated = [_restate_rule(view, name, body) for name, body in rules.items() if body is not None]
    found["rules"] += len(rules)
    remaining = owned_strategies(view) if words.strategies else set()
    _drop_vectors(view, words, remaining, found)
    dropped = drop_partitions(view)
    found["names of users"] += len(dropped)
    for name in erased:
        view.session.run("touched_delete", {"of_project": view.project, "of_key": hide_touched(view.seal, name)})
    found["history index"] += sum(map(len, touched.values()))
    salt = os.urandom(journal.SALT_BYTES)
    count = journal.passages_removed(found["passages"])
    entombed = sorted(doomed | {name for name, row in rules.items() if row is None})
    changes = [*kept, number_key(journal.tombstones(entombed, salt), seq), number_key(count, seq), *restated]
    known = [memory_id for memory_id in memory_ids if memory_id in doomed]
    gone = words.strategies - {strategy for _, strategy in remaining}
    signs = [*known, *(text for text in words.passages | gone if len(text) >= LONG_ENOUGH)]
    return Purged(changes, Erased(seq, known, dict(found), ()), signs, dropped)


def _rows_of(view: View, name: str) -> Iterator[Row]:
    """Yields the rows of a memory as they are now."""
    yield from passages_of(view, name).values()
    if (raw := TABLES["memory"].raw(view, name)) is not None:
        yield TABLES["memory"].decoded(view, raw)


def _retired_with(log: Log, named: Collection[str], words: Words) -> set[str]:
    """Returns the retired rows that the journal has of purged memories, where a former version wrote some."""
    if not words.are_of_former and not log.seqs(REPORT):
        return set()
    former = extension("alma_upgrade.purging", "upgrade", "the store is of a former version, whose upgrade is")
    return set(former.retired_with(log, named, words))


def _quoting_rules(log: Log, doomed: Collection[str], words: Words) -> dict[str, Row | None]:
    """Returns the records of rules that name a purged outcome or its words, by name, each with its row as it is to be; `None` if it goes."""
    view, found = log.view, dict[str, Row | None]()
    left: set[tuple[str, str]] | None = None
    for name in log.keys(f"record/{RULE}/"):
        raw = TABLES["record"].raw(view, name.removeprefix("record/"))
        rows = [TABLES["record"].decoded(view, raw)] if raw is not None else list(log.rows(name))
        if name in doomed or not any(_is_quoted(row, doomed, words) for row in rows):
            continue
        if left is None:
            left = owned_strategies(view, without=doomed)
        found[name] = None if raw is None else _without(rows[0], doomed, left)
    return found


def _is_quoted(row: Row, doomed: Collection[str], words: Words) -> bool:
    body = row.get("body", {})
    return body.get("way") in words.strategies or any(anchor in doomed for anchor in body.get("anchors", ()))


def _without(row: Row, doomed: Collection[str], left: Collection[tuple[str, str]]) -> Row | None:
    """Returns the row of a rule's record without purged anchors, and without its wording unless its owner still has an outcome in these words;
    `None` if nothing is left to know it by."""
    body = row["body"]
    anchors = [anchor for anchor in body.get("anchors", ()) if anchor not in doomed]
    kept = {name: value for name, value in body.items() if name != "way" or (body.get("owner"), value) in left}
    if not anchors and "way" not in kept:
        return None
    return {**row, "version": row["version"] + 1, "body": {**kept, "anchors": anchors}}


def _restate_rule(view: View, name: str, row: Row) -> Change:
    """Stores the row of a rule's record in place of the former one. The journal has no former one any more."""
    key = name.removeprefix("record/")
    table = TABLES["record"]
    raw = table.raw(view, key)
    assert raw is not None
    table.update(view, raw, table.encoded(view, key, row))
    return Change("record", key, None, row)


def _names(log: Log, records: Sequence[str]) -> Iterator[str]:
    """Returns the names of the records in the journal; a name that ends in a slash is of all records numbered under it."""
    for record in records:
        name = entity("record", record)
        if not record.endswith("/"):
            yield name
            continue
        yield from (key for key in log.keys(name) if key.removeprefix(name).isdecimal())


def _erase_payloads(
    log: Log, made: Sequence[tuple[int, Sequence[Change]]], doomed: set[str], seqs: set[int], found: Counter[str]
) -> list[Change]:
    """Erases the records that changed what is doomed, and returns what has to be kept of them. `made` are the purge records that are in force."""
    view = log.view
    tombs: list[Change] = []
    for number, purge_changes in made:
        redacted = journal.redacted(purge_changes)
        own = [change for change in purge_changes if change.table != PURGE]
        if any(entity(c.table, c.key) in doomed for changes in (*redacted.values(), own) for c in changes):
            seqs.update({number, *redacted})
            drop = {"of_project": view.project, "of_key": PURGE, "of_seq": number}
            view.session.run("touched_drop", drop)
            tombs += [change for change in purge_changes if change.key.startswith("tombstones")]
    moved = []
    for number in sorted(seqs):
        changes = log.changes(number)
        rest = [c for c in changes if c.table != PURGE and entity(c.table, c.key) not in doomed]
        moved.append(journal.redaction(number, rest))
        view.session.run("journal_erase", {"of_project": view.project, "of_seq": number})
    found["journal payloads"] += len(seqs)
    return [*moved, *tombs]


def _delete_rows(view: View, text: TextIndex, doomed: set[str], seq: int, found: Counter[str]) -> None:
    changes = [change for name in doomed for change in _deletions(view, name)]
    for surface, table in (("memory rows", "memory"), ("passages", "passage"), ("usage", "usage"), ("small records", "record")):
        found[surface] += sum(change.table == table for change in changes)
    live = [change for change in changes if change.table == "memory" and (change.before or {})["archived_at"] is None]
    found["full text"] += len(live)
    apply_changes(view, text, changes, {}, seq=seq)


def _deletions(view: View, name: str) -> list[Change]:
    """The changes that delete a memory with all that hangs on it, or a small record."""
    places: list[tuple[str, str]] = [("passage", key) for key in passages_of(view, name)]
    places += [("usage", name), ("memory", name), ("record", name.removeprefix("record/"))]
    return [
        Change(table, key, TABLES[table].decoded(view, raw), None)
        for table, key in places
        if entity(table, key) == name and (raw := TABLES[table].raw(view, key)) is not None
    ]


def _drop_vectors(view: View, words: Words, remaining: Collection[tuple[str, str]], found: Counter[str]) -> None:
    """Deletes the vectors of the texts, where no other memory says the same and no outcome names a strategy that is compared by it."""
    stored = view.session.all("hashes", {"project": view.project})
    used = {view.seal.reveal(digest, place=TEXT) for (digest,) in stored}
    used |= {text_hash(matched_text(strategy)) for _, strategy in remaining}
    for digest in words.hashes - used:
        place = {"of_project": view.project, "of_text_hash": view.seal.hide(digest, place=TEXT)}
        found["vectors"] += view.session.run("vector_drop", place)


def drop_partitions(view: View) -> list[int]:
    """Deletes the partitions of users in which nothing is left, for they name the user. A nameless new one makes other processes read all again."""
    unused = [row for row in view.all("partitions_used") if not row["is_used"]]
    former = [row["row"] for row in unused if not row["kind"]]
    of_users = [row["row"] for row in unused if row["kind"] and (row["is_user"] or user_in(row["owner"]) is not None)]
    if not of_users:
        return []
    for number in (*former, *of_users):
        view.session.run("partition_delete", {"of_row": number})
    view.session.insert("partition_insert", {"project": view.project, "is_user": 0, "owner": "", "kind": ""})
    return of_users


def number_key(change: Change, seq: int) -> Change:
    """Returns a change of a purge under a key that no other record has."""
    return Change(change.table, f"{change.key}/{seq}", change.before, change.after)


_WORD = re.compile(r"\w+")


def traces(view: View, signs: Iterable[str]) -> list[str]:
    """The rows that hold one of the signs anywhere, by table and key. They are not the memory's, so they are left and named.

    A sign is compared with the rows that have one of its inner words, which are whole wherever it stands: the word that the fewest signs have.
    One without an inner word is compared with all rows. So the cost hardly grows with the number of signs.
    """
    inner_words = {sign[1:-1]: _WORD.findall(sign)[1:-1] for sign in map(written, signs)}
    counts = Counter(chain.from_iterable(inner_words.values()))
    signs_by_word = defaultdict[str, list[str]](list)
    for sign, inner in inner_words.items():
        signs_by_word[min(inner, key=counts.__getitem__, default="")].append(sign)
    found = []
    for stored in read_rows(view):
        if stored.row is None or stored.table == "usage":  # numbers only
            continue
        text = written(stored.row)
        words = {"", *_WORD.findall(text)} & signs_by_word.keys()
        if any(sign in text for word in words for sign in signs_by_word[word]):
            found.append(f"{stored.table} {stored.key}")
    return found


def written(value: object) -> str:
    """Returns a value as it stands in JSON."""
    return json.dumps(value, ensure_ascii=False)
