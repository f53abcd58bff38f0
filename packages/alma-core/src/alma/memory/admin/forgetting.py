"""Forgetting: archives stale or unwanted memories, and erases memories and users irrevocably."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.admin.forgetting_policies import Limits, choose
from alma.memory.episodes.records import run_key, several
from alma.memory.learn.storing import KEY, notes_of
from alma.memory.room import Room
from alma.memory.rules import Rule, anchors_without, archive_rule, find_rules, put_record, rows_behind
from alma.protocols import Erased
from alma.text import composed, quoted
from alma.types.episodes import END, EPISODE, LEASE, RUN, STEP, EpisodeStatus
from alma.types.identity import agent_in, user_in
from alma.types.kinds import KINDS
from alma.types.package_records import MADE, is_of_package, references_in
from alma.types.reports import CompactReport, ForgetReport, PurgeReceipt, Surface
from alma.types.stored import QUARANTINE, Change, RowValues
from alma.types.strategies import RULE, RuleRecord

LONGEST_AGE = 365_000.0

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
        chosen = _choose_named(room, args.checked_ids(memory_ids, "memory_ids"), owner, with_former=purge)
    else:
        chosen = _choose_by_policy(room, owner, older_than_days, below_confidence)
    named = list(_package_records(room)) if purge and chosen.kinds else []
    chosen.kinds.update(_made_of(room, chosen.kinds, named))
    report = _report_of(chosen.kinds, dry_run=dry_run).model_copy(update={"unknown": tuple(chosen.unknown)})
    if dry_run or not chosen.kinds:
        return report
    stored = {key: kind for key, kind in chosen.kinds.items() if key not in chosen.rules}
    if not purge:
        return report.model_copy(update={"seq": _archive(room, stored, owner or "", chosen.rules.values())})
    if chosen.rules:  # what was learned follows from outcomes, which stay: a rule is put away, and none of its words is kept
        _archive(room, (), owner or "", chosen.rules.values(), without_words=True)
    if not stored:
        return report.model_copy(update={"seq": room.project.head()})
    purged = _purge(room, stored, _small_records(room, stored, named), report, actor=owner or "")
    return purged.model_copy(update={"memory_ids": (*purged.memory_ids, *chosen.rules)})


def forget_user(room: Room, user_id: str, *, dry_run: bool = False) -> ForgetReport:
    """Erases all that was recorded for a user, irrevocably: memories of every agent, preferences, episodes, what was learned from them alone,
    and the payload of every journal record about them, under each Unicode form of the name.

    The receipt lists every surface, as that of `purge` does. A rule of several users goes, too, if it would rest on the words of a single one.
    Counts that other users' outcomes made stay. `compact` then removes the last bytes from the files. A user of whom nothing is known is an
    empty report.
    """
    user, kinds, records = args.checked_name(user_id, "user_id"), dict[str, str](), list[str]()
    for table, key, row in _rows_and_former_rows(room):
        if table == "memory" and "owner" in row:
            if user == composed((row["owner"] if row["is_user"] else user_in(row["owner"])) or ""):
                kinds[key] = str(row["kind"])
        elif table == "record" and composed((row.get("body") or {}).get("user_id") or "") == user:
            kind, _, name = key.partition("/")
            if kind == EPISODE:
                records += _records_of_episode(name, row["body"].get("run_id"))
            elif is_of_package(kind):
                records.append(key)
    named = list(_package_records(room))
    kinds |= _made_of(room, kinds, named)
    report = _report_of(kinds, dry_run=dry_run)
    if dry_run or not (kinds or records):
        return report
    return _purge(room, kinds, [*_small_records(room, kinds, named), *records], report, actor="")


def users(room: Room) -> list[str]:
    """Returns the users for whom anything was recorded in the project, by name."""
    return sorted({one.user_id for one in room.project.partitions().values() if one.user_id is not None})


def compact(room: Room) -> CompactReport:
    """Rewrites the files of the whole store without deleted content, and empties the write-ahead log. Other writers wait
    meanwhile."""
    store = room.store
    before, snapshots = store.storage.size(), store.drop_snapshots()
    is_whole = store.storage.compact()
    return CompactReport(bytes_before=before, bytes_after=store.storage.size(), snapshots_deleted=snapshots, is_whole=is_whole)


def _report_of(kinds: Mapping[str, str], *, dry_run: bool) -> ForgetReport:
    by_kind = dict(sorted(Counter(kinds.values()).items()))
    return ForgetReport(dry_run=dry_run, seq=None, memory_ids=tuple(kinds), by_kind=by_kind)


def _choose_by_policy(room: Room, owner: str | None, older_than_days: object, below_confidence: object) -> _Chosen:
    """Selects outcomes by age and other kinds by confidence. A preference holds until the user says otherwise."""
    days = _checked_limit(older_than_days, "older_than_days", LONGEST_AGE)
    below = _checked_limit(below_confidence, "below_confidence", 1.0)
    by_age: Limits = {} if days is None else {"max_age_days": days}
    by_confidence: Limits = {} if below is None else {"min_confidence": below}
    limits = {kind.value: {"age": by_age, "confidence": by_confidence}.get(spec.forgotten_by, {}) for kind, spec in KINDS.items()}
    choices = choose(room, lambda kind: limits.get(kind, by_confidence), owner=owner)
    rules = {choice.memory_id: choice.learned for choice in choices if choice.learned is not None}
    return _Chosen({choice.memory_id: choice.kind for choice in choices}, rules)


def _checked_limit(value: object, name: str, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValidationError(f"{name} must be a number from 0 to {most:g}, or None, not {quoted(value)}")
    return float(value)


def _choose_named(room: Room, ids: Sequence[str], owner: str | None, *, with_former: bool, user: object = None) -> _Chosen:
    """Returns the memories of these ids that may be forgotten, those in quarantine among them; with `with_former` also those that are
    archived or only in the journal; with `user` that user's preferences besides those of the owner."""
    places = room.project.find(ids)
    archived = [memory_id for memory_id, place in places.items() if place.is_archived]
    doubtful = {memory_id for memory_id, (version, _) in room.project.record(QUARANTINE, archived).items() if version}
    found = {
        memory_id: place.partition.kind
        for memory_id, place in places.items()
        if (owner in (None, place.partition.agent) or (place.partition.agent is None and place.partition.user_id == user))
        and (with_former or not place.is_archived or memory_id in doubtful)
    }
    gone = [memory_id for memory_id in ids if memory_id not in places]
    known = find_rules(room, gone, with_archived=with_former)
    rules = {key: rule for key, rule in known.items() if owner in (None, agent_in(rule.record.owner))}
    if with_former:
        found |= _former_kinds(room, [key for key in gone if key not in rules], owner, user)
    found |= {key: rule.kind.value for key, rule in rules.items()}
    kinds = {memory_id: found[memory_id] for memory_id in ids if memory_id in found}
    return _Chosen(kinds, rules, [memory_id for memory_id in ids if memory_id not in found])


_Named = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and bodies of records of packages."""


def _made_of(room: Room, kinds: Mapping[str, str], named: _Named) -> dict[str, str]:
    """Returns the kinds of the memories that were made of these, and of those in turn, as records of packages say. A record speaks only for
    memories of its own agent, and preferences of its own user."""
    records = [body for _, body in named if MADE in body]
    found, known = dict(kinds), dict(kinds)
    while known:
        made = defaultdict[tuple[str, object], set[str]](set)
        for body in records:
            if not known.keys().isdisjoint(references_in(body)):
                made[str(body.get("agent")), body.get("user_id")].update({*references_in(body, MADE)} - found.keys())
        known = {}
        for (agent, user), ids in made.items():
            known |= _choose_named(room, sorted(ids), agent, with_former=True, user=user).kinds
        found |= known
    return {key: kind for key, kind in found.items() if key not in kinds}


def _former_kinds(room: Room, ids: Sequence[str], owner: str | None, user: object) -> dict[str, str]:
    """Returns the kinds of memories whose creation was undone, as far as they were the owner's, or preferences of the user."""
    first: dict[str, RowValues] = {}
    for change in _memory_changes(room, ids):
        row = change.after or change.before
        if row and "kind" in row:
            first.setdefault(change.key, row)
    return {
        memory_id: str(row["kind"])
        for memory_id, row in first.items()
        if owner is None or (row["owner"] == user if row["is_user"] else agent_in(row["owner"]) == owner)
    }


def _memory_changes(room: Room, ids: Collection[str]) -> Iterator[Change]:
    """Yields the journal's changes of the rows of these memories. Each record is read once."""
    for entry in room.project.entries(memory_ids=list(ids)) if ids else ():
        yield from (change for change in entry.changes if change.table == "memory" and change.key in ids)


def _rows_and_former_rows(room: Room) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yields rows as they are stored and as the journal has them: table, key, and the row, whole or the columns that a change names."""
    yield from ((stored.table, stored.key, stored.row) for stored in room.project.rows() if stored.row is not None)
    yield from _former_rows(room)


def _former_rows(room: Room) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for entry in room.project.entries():
        for change in entry.changes:
            yield from ((change.table, change.key, row) for row in (change.before, change.after) if row)


def _archive(room: Room, ids: Iterable[str], actor: str, rules: Iterable[Rule], *, without_words: bool = False) -> int:
    """Archives memories, and learned rules by their records, in one call."""
    at = room.now()
    with room.project.write(actor=actor, operation="forget", at=at) as write:
        for memory_id, (version, body) in write.stored.record(QUARANTINE, ids).items():
            if version:  # forgotten, it is in quarantine no more, and cannot be released
                write.drop_record(QUARANTINE, memory_id, body, version=version)
            write.change_memory(memory_id, archived_at=at)
        for rule in rules:
            archive_rule(write, rule, at, without_words=without_words)
        return write.seq


def _purge(room: Room, kinds: Mapping[str, str], records: Iterable[str], report: ForgetReport, *, actor: str) -> ForgetReport:
    """Purges memories, given with their kinds, and small records, and reports it. Memories that another caller purged meanwhile are unknown."""
    kept = _rules_to_keep(room, kinds)
    erased = room.project.purge(list(kinds), records=list(dict.fromkeys(records)), actor=actor, at=room.now())
    if erased is not None and kept:
        with room.project.write(actor=actor, operation="purge_rules", at=room.now()) as write:
            stored = write.stored.record(RULE, [record.id for record in kept])
            for record in kept:
                put_record(write, replace(record, version=stored[record.id][0]))
    known = () if erased is None else tuple(erased.known)
    purged = _report_of({memory_id: kinds[memory_id] for memory_id in known}, dry_run=False)
    unknown = (*report.unknown, *(memory_id for memory_id in kinds if memory_id not in set(known)))
    if erased is None:
        return purged.model_copy(update={"unknown": unknown})
    return purged.model_copy(update={"unknown": unknown, "seq": erased.seq, "receipt": _receipt(room, erased)})


def _rules_to_keep(room: Room, ids: Collection[str]) -> list[RuleRecord]:
    """Returns the records of rules that rest on outcomes among these memories, resting on others from now on: what a caller archived stays so."""
    records = [
        RuleRecord.read(key, version, body)
        for key, version, body in room.project.records(RULE)
        if not set(ids).isdisjoint(body.get("anchors", ()))
    ]
    rows = rows_behind(room, records)
    left = [(one, anchors_without(one, rows[one.id], ids)) for one in records if one.id in rows]
    return [replace(record, anchors=anchors, way=None) for record, anchors in left if anchors]


def _receipt(room: Room, erased: Erased) -> PurgeReceipt:
    room.forget_texts()
    dropped = room.index.drop_snapshot()
    surfaces = [
        Surface(name=name, found=count, done="erased" if count else "nothing was there") for name, count in erased.counts.items()
    ]
    done = "deleted" if dropped is not None else "could not be deleted, see the log; delete it yourself"
    surfaces.append(Surface(name="vector snapshot", found=int(dropped is not False), done=done))
    return PurgeReceipt(seq=erased.seq, surfaces=(*surfaces, *_UNCOUNTED), left=tuple(erased.left))


def _small_records(room: Room, ids: Collection[str], named: _Named) -> Iterator[str]:
    """Yields the keys of small records that repeat the memories: those of their ended episodes (an open one still needs them), the
    idempotency keys that they were learned under, and records of packages that refer to them."""
    origins = {(change.key, *_origin(change)): None for change in _memory_changes(room, ids)}
    for episode in dict.fromkeys(episode for _, episode, _ in origins):
        if episode is not None and not _is_open(room, episode):
            _, begun = room.project.record(EPISODE, [episode])[episode]
            yield from _records_of_episode(episode, begun.get("run_id"))
    for memory_id, _, key in origins:
        yield f"{QUARANTINE}/{memory_id}"
        yield from notes_of(room, memory_id, key)
    yield from (name for name, body in named if not set(ids).isdisjoint(references_in(body)))


def _package_records(room: Room) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the names and bodies of records of packages, as they are and as they ever were: the journal keeps the words of former ones."""
    with room.project.snapshot() as stored:
        yield from ((f"{each.kind}/{each.key}", each.body) for each in stored.records() if is_of_package(each.kind))
    for table, name, row in _former_rows(room):
        if table == "record" and is_of_package(name.partition("/")[0]) and row.get("body"):
            yield name, row["body"]


def _records_of_episode(episode: str, run_id: object) -> Iterator[str]:
    yield from (f"{kind}/{episode}" for kind in (EPISODE, END, LEASE))
    yield f"{STEP}/{episode}/"
    if isinstance(run_id, str):
        yield f"{RUN}/{run_key(run_id, episode)}"


def _origin(change: Change) -> tuple[str | None, str | None]:
    """Returns the episode that a memory comes from, and its idempotency key."""
    metadata = (change.after or {}).get("body", {}).get("metadata", {})
    episode, key = metadata.get("episode_id"), metadata.get(KEY)
    return episode if isinstance(episode, str) else None, key if isinstance(key, str) else None


def _is_open(room: Room, episode: str) -> bool:
    if room.project.record(END, [episode])[episode][0]:
        return False
    return any(found.status is EpisodeStatus.OPEN for found in several(room, [episode]))
