"""Forgetting: archives stale or unwanted memories, and erases irrevocably."""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.episodes.records import END, EPISODE, LEASE, RUN, STEP, run_key, several
from alma.memory.learn.idempotency import KEY, notes_of
from alma.memory.room import Room
from alma.memory.rules import (
    KIND_OF_SIDE,
    Rule,
    anchors_without,
    archive_rule,
    find_rules,
    owners_with_outcomes,
    put_record,
    rows_behind,
    rules_of,
)
from alma.protocols import Erased
from alma.text import quoted
from alma.types.episodes import EpisodeStatus
from alma.types.history import CompactReport, ForgetReport, PurgeReceipt, Surface
from alma.types.identity import to_micros
from alma.types.kinds import KINDS
from alma.types.package_records import is_of_package, references_in
from alma.types.partition import Partition, agent_in
from alma.types.rules import RULE, RuleRecord
from alma.types.stored import QUARANTINE, Change, RowValues

_LOG = logging.getLogger("alma")

LONGEST_AGE = 365_000.0

_BY_AGE = frozenset(kind.value for kind, spec in KINDS.items() if spec.forgotten_by == "age")
_NEVER = frozenset(kind.value for kind, spec in KINDS.items() if spec.forgotten_by == "nothing")
"""Kinds that the policy never selects: a preference holds until the user says otherwise."""


@dataclass(slots=True)
class _Chosen:
    """The memories to forget, with their kinds, the learned rules among them, and ids that cannot be forgotten."""

    kinds: dict[str, str] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def forget(
    room: Room,
    agent: str | None = None,
    older_than_days: float | None = 90,
    below_confidence: float | None = 0.3,
    *,
    memory_ids: Sequence[str] | None = None,
    dry_run: bool = False,
    purge: bool = False,
) -> ForgetReport:
    """Archives stale memories, or the ones named: they leave every search at once, and `undo` brings them back.

    The policy selects outcomes by age (older than `older_than_days`), and heuristics, anti-patterns, knowledge and memories of the
    user's kinds by confidence (below `below_confidence`); `None` disables either; preferences are never selected. `memory_ids`
    selects exactly these instead. With `agent`, only that agent's own memories are affected. `purge` erases instead of archiving, see
    there.
    """
    owner = None if agent is None else args.checked_name(agent, "agent")
    if memory_ids is not None:
        chosen = _named(room, args.checked_ids(memory_ids, "memory_ids"), owner, with_former=purge)
    else:
        chosen = _choose_by_policy(room, owner, older_than_days, below_confidence)
    ids = list(chosen.kinds)
    report = ForgetReport(
        dry_run=dry_run,
        seq=None,
        memory_ids=tuple(ids),
        by_kind=dict(sorted(Counter(chosen.kinds.values()).items())),
        unknown=tuple(chosen.unknown),
    )
    if dry_run or not ids:
        return report
    if purge:
        return _purge_chosen(room, chosen, report, actor=owner or "")
    stored = [key for key in ids if key not in chosen.rules]
    return report.model_copy(update={"seq": _archive(room, stored, owner or "", chosen.rules)})


def _choose_by_policy(room: Room, owner: str | None, older_than_days: object, below_confidence: object) -> _Chosen:
    below = _limit(below_confidence, "below_confidence", 1.0)
    rules = {} if below is None else _doubtful_rules(room, owner, below)
    stale = dict(_stale(room, owner, older_than_days, below))
    return _Chosen({**stale, **{key: _kind_of(rule) for key, rule in rules.items()}}, rules)


def _purge_chosen(room: Room, chosen: _Chosen, report: ForgetReport, *, actor: str) -> ForgetReport:
    kinds = {key: kind for key, kind in chosen.kinds.items() if key not in chosen.rules}
    if chosen.rules:  # what was learned follows from outcomes, which stay: a rule is put away, and none of its words is kept
        _archive(room, [], actor, chosen.rules, without_words=True)
    if not kinds:
        return report.model_copy(update={"seq": room.project.head()})
    records = list(dict.fromkeys(small_records(room, list(kinds))))
    purged = purged_report(room, kinds, records, report, actor=actor)
    return purged.model_copy(update={"memory_ids": (*purged.memory_ids, *chosen.rules)}) if chosen.rules else purged


def _kind_of(rule: Rule) -> str:
    return KIND_OF_SIDE[rule.record.side].value


def _doubtful_rules(room: Room, owner: str | None, below: float) -> dict[str, Rule]:
    """The learned rules in which confidence is below a limit."""
    found: dict[str, Rule] = {}
    for agent, user in owners_with_outcomes(room):
        if owner in (None, agent):
            for rule in rules_of(room, agent, user):
                if rule.confidence < below:
                    found.setdefault(rule.id, rule)
    return found


def compact(room: Room) -> CompactReport:
    """Rewrites the files of the whole store without deleted content, and empties the write-ahead log. Other writers wait
    meanwhile."""
    store = room.store
    before, snapshots = store.storage.size(), store.drop_snapshots()
    is_whole = store.storage.compact()
    return CompactReport(bytes_before=before, bytes_after=store.storage.size(), snapshots_deleted=snapshots, is_whole=is_whole)


def _named(room: Room, ids: Sequence[str], owner: str | None, *, with_former: bool) -> _Chosen:
    """Returns the memories of these ids that may be forgotten, those in quarantine among them; with `with_former` also those that are
    archived or only in the journal."""
    chosen = _Chosen()
    found = room.project.find(ids)
    archived = [memory_id for memory_id, place in found.items() if place.is_archived]
    doubtful = {memory_id for memory_id, (version, _) in room.project.record(QUARANTINE, archived).items() if version}
    places = {memory_id: found.get(memory_id) for memory_id in ids}
    gone = [memory_id for memory_id, place in places.items() if place is None]
    rules = {
        key: rule
        for key, rule in (find_rules(room, gone, with_archived=with_former) if gone else {}).items()
        if owner in (None, agent_in(rule.record.owner))
    }
    chosen.rules.update(rules)
    former = _former_kinds(room, [key for key in gone if key not in rules], owner) if gone and with_former else {}
    former |= {key: _kind_of(rule) for key, rule in rules.items()}
    for memory_id, place in places.items():
        if place is not None and (with_former or not place.is_archived or memory_id in doubtful):
            kind = place.partition.kind if _owns(place.partition, owner) else None
        else:
            kind = former.get(memory_id)
        if kind is None:
            chosen.unknown.append(memory_id)
        else:
            chosen.kinds[memory_id] = kind
    return chosen


def _owns(partition: Partition, owner: str | None) -> bool:
    return owner is None or partition.agent == owner


def _former_kinds(room: Room, ids: Collection[str], owner: str | None) -> dict[str, str]:
    """Returns the kinds of memories whose creation was undone, as far as they were the owner's."""
    first: dict[str, RowValues] = {}
    for change in _memory_changes(room, ids):
        row = change.after or change.before
        if row and "kind" in row:
            first.setdefault(change.key, row)
    return {
        memory_id: str(row["kind"])
        for memory_id, row in first.items()
        if owner is None or (agent_in(row["owner"]) == owner and not row["is_user"])
    }


def _memory_changes(room: Room, ids: Collection[str]) -> Iterator[Change]:
    """Yields the journal's changes of the rows of these memories. Each record is read once."""
    wanted = set(ids)
    for entry in room.project.entries(memory_ids=list(wanted)):
        yield from (change for change in entry.changes if change.table == "memory" and change.key in wanted)


def _stale(room: Room, owner: str | None, older_than_days: object, below: float | None) -> Iterator[tuple[str, str]]:
    """Yields the ids and kinds that the policy selects: outcomes by age, other kinds by confidence, preferences never."""
    days = _limit(older_than_days, "older_than_days", LONGEST_AGE)
    oldest = None if days is None else to_micros(room.store.clock() - timedelta(days=days))
    for partition in room.project.partitions().values():
        if partition.kind in _NEVER or not _owns(partition, owner):
            continue
        seen_before, confidence = (oldest, None) if partition.kind in _BY_AGE else (None, below)
        if seen_before is not None or confidence is not None:
            for memory_id in room.project.stale([partition.row], seen_before=seen_before, below=confidence):
                yield memory_id, partition.kind


def _limit(value: object, name: str, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValidationError(f"{name} must be a number from 0 to {most:g}, or None, not {quoted(value)}")
    return float(value)


def _archive(
    room: Room, ids: Sequence[str], actor: str, rules: Mapping[str, Rule] | None = None, *, without_words: bool = False
) -> int:
    """Archives memories, and learned rules by their records, in one call."""
    at = room.now()
    with room.project.write(actor=actor, operation="forget", at=at) as write:
        doubtful = write.stored.record(QUARANTINE, ids)
        for memory_id in ids:
            version, body = doubtful[memory_id]
            if version:  # forgotten, it is in quarantine no more, and cannot be released
                write.drop_record(QUARANTINE, memory_id, body, version=version)
            write.change_memory(memory_id, archived_at=at)
        for rule in (rules or {}).values():
            archive_rule(write, rule, at, without_words=without_words)
        return write.seq


def purged_report(
    room: Room, kinds: Mapping[str, str], records: Sequence[str], report: ForgetReport, *, actor: str
) -> ForgetReport:
    """Purges memories, given with their kinds, and small records, and reports it. Those that another caller purged meanwhile are unknown."""
    ids = list(kinds)
    erased = _purged(room, ids, records, actor)
    known = () if erased is None else tuple(erased.known)
    purged = set(known)
    purged_fields = {
        "memory_ids": known,
        "by_kind": dict(sorted(Counter(kinds[memory_id] for memory_id in known).items())),
        "unknown": (*report.unknown, *(memory_id for memory_id in ids if memory_id not in purged)),
    }
    if erased is None:
        return report.model_copy(update=purged_fields)
    return report.model_copy(update={**purged_fields, "seq": erased.seq, "receipt": _receipt(room, erased)})


def _purged(room: Room, ids: Sequence[str], records: Sequence[str], actor: str) -> Erased | None:
    kept = _rules_to_keep(room, ids)
    erased = room.project.purge(ids, records=records, actor=actor, at=room.now())
    if erased is not None and kept:
        with room.project.write(actor=actor, operation="purge_rules", at=room.now()) as write:
            stored = write.stored.record(RULE, [record.id for record in kept])
            for record in kept:
                put_record(write, replace(record, version=stored[record.id][0]))
    return erased


def _rules_to_keep(room: Room, ids: Sequence[str]) -> list[RuleRecord]:
    """The records of rules that rest on outcomes among these memories, resting on others from now on: what a caller archived stays so."""
    gone = set(ids)
    records = [
        RuleRecord.read(key, version, body)
        for key, version, body in room.project.records(RULE)
        if gone.intersection(body.get("anchors", ()))
    ]
    rows = rows_behind(room, records)
    left = [(one, anchors_without(one, rows[one.id], gone)) for one in records if one.id in rows]
    return [replace(record, anchors=anchors, way=None) for record, anchors in left if anchors]


def _receipt(room: Room, erased: Erased) -> PurgeReceipt:
    room.forget_texts()
    return PurgeReceipt(seq=erased.seq, surfaces=(*_counted(erased), _snapshot(room), *_UNCOUNTED), left=tuple(erased.left))


def _snapshot(room: Room) -> Surface:
    found = room.index.drop_snapshot()
    done = "deleted" if found is not None else "could not be deleted, see the log; delete it yourself"
    return Surface(name="vector snapshot", found=int(found is not False), done=done)


def _counted(erased: Erased) -> Iterator[Surface]:
    for name, count in erased.counts.items():
        yield Surface(name=name, found=count, done="erased" if count else "nothing was there")


_UNCOUNTED = (
    Surface(name="free pages", found=None, done="overwritten as the rows were deleted"),
    Surface(name="full-text segments", found=None, done="no longer found; the words leave the file with `alma compact`"),
    Surface(name="write-ahead log", found=None, done="may hold former pages until `alma compact`"),
    Surface(
        name="running processes",
        found=None,
        done="search no more for it; others, and embedders, may keep its texts until they end",
    ),
    Surface(name="exports, backups", found=None, done="not known to ALMA; delete them yourself"),
)


def small_records(room: Room, ids: Sequence[str]) -> Iterator[str]:
    """Yields the keys of small records that repeat the memories: those of their ended episodes (an open one still needs them), the
    idempotency keys that they were learned under, and records of packages that refer to them."""
    origins = {(change.key, *_origin(change)): None for change in _memory_changes(room, ids)}
    for episode in dict.fromkeys(episode for _, episode, _ in origins):
        if episode is not None and not _is_open(room, episode):
            yield from (f"{kind}/{episode}" for kind in (EPISODE, END, LEASE))
            yield f"{STEP}/{episode}/"
            _, begun = room.project.record(EPISODE, [episode])[episode]
            if isinstance(run_id := begun.get("run_id"), str):
                yield f"{RUN}/{run_key(run_id, episode)}"
    for memory_id, _, key in origins:
        yield f"{QUARANTINE}/{memory_id}"
        yield from notes_of(room, memory_id, key)
    yield from _records_about(room, ids)


def _records_about(room: Room, ids: Sequence[str]) -> Iterator[str]:
    wanted = set(ids)
    with room.project.snapshot() as stored:
        for record in stored.records():
            if is_of_package(record.kind) and wanted.intersection(references_in(record.body)):
                yield f"{record.kind}/{record.key}"


def _origin(change: Change) -> tuple[str | None, str | None]:
    """Returns the episode that a memory comes from, and its idempotency key."""
    metadata = (change.after or {}).get("body", {}).get("metadata", {})
    episode, key = metadata.get("episode_id"), metadata.get(KEY)
    return episode if isinstance(episode, str) else None, key if isinstance(key, str) else None


def _is_open(room: Room, episode: str) -> bool:
    if room.project.record(END, [episode])[episode][0]:
        return False
    return any(found.status is EpisodeStatus.OPEN for found in several(room, [episode]))
