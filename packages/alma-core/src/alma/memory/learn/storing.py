"""Storing checked memories: all texts are embedded in one batch before the lock is taken, and all rows are one write. An outcome that is
learned under one idempotency key counts once, however often it is sent."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, TypeVar

from alma.errors import ConflictError, ScopeViolationError, ValidationError
from alma.memory import quarantine
from alma.memory.arguments import KEY_OF_REPETITION
from alma.memory.learn.sessions import Sessions, passages_by_kind, put_session, session_of
from alma.memory.room import Room
from alma.protocols import Write
from alma.text import matched_text
from alma.types.memories import Conversation, Memory, Outcome, Passage, embedded, passages_of
from alma.types.provenance import IMPORTED

LEARNED = "learned"
"""The kind of the small records that say what was learned under which key. Keys may be secrets, so only their digests name a record."""

KEY = KEY_OF_REPETITION
"""The argument, and the key of the outcome's metadata that keeps it."""


def first_numbers(entries: Mapping[int, "Entry"]) -> dict[int, int]:
    """Returns the number of the entry that counts for each entry: its own, or that of the first one with its key. `ConflictError` if they differ."""
    firsts: dict[str, int] = {}
    counting = {}
    for number, entry in entries.items():
        counting[number] = first = number if entry.key is None else firsts.setdefault(entry.key, number)
        if first != number:
            _check_same(_said(entries[first].memory), entry)
    return counting


def find_learned(room: Room, entries: Mapping[int, "Entry"]) -> dict[int, Outcome]:
    """Returns the outcomes that were learned under the keys of entries before. `ConflictError` if one is gone, or differs from its entry."""
    keyed = {_digest(entry.key): number for number, entry in entries.items() if entry.key is not None}
    noted = {keyed[key]: body for key, (version, body) in room.project.record(LEARNED, keyed).items() if version} if keyed else {}
    kept = room.project.named(str(body.get("outcome_id")) for body in noted.values()) if noted else {}
    found = {}
    for number, body in noted.items():
        _check_same(body, entries[number])
        outcome = kept.get(str(body.get("outcome_id")))
        if not isinstance(outcome, Outcome):
            raise ConflictError(f"{KEY} {entries[number].key!r} was used for an outcome that is gone; use another key")
        found[number] = outcome
    return found


def put_key(write: Write, key: str, outcome: Memory) -> None:
    """Stores that an outcome was learned under a key. `ConflictError` if something was meanwhile."""
    write.put_record(LEARNED, _digest(key), {"outcome_id": outcome.id, **_said(outcome)}, version=0)


def notes_of(room: Room, outcome_id: str, key: str | None) -> Iterator[str]:
    """Yields the name of the small record that keeps an outcome's key, which goes when the outcome is purged."""
    if key is not None and room.project.record(LEARNED, [_digest(key)])[_digest(key)][1].get("outcome_id") == outcome_id:
        yield f"{LEARNED}/{_digest(key)}"


def with_task(body: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Returns the body of a note whose outcome has another task now, since a secret in it was replaced."""
    return {**body, "task": _digest(task)}


def _check_same(said: Mapping[str, Any], entry: "Entry") -> None:
    differing = [name for name, value in _said(entry.memory).items() if said.get(name) != value]
    if differing:
        raise ConflictError(
            f"{KEY} {entry.key!r} was used for an outcome that differs in its {', '.join(differing)}; use another key"
        )


def _said(outcome: Memory) -> dict[str, str]:
    """Returns what has to be equal under one key. Of the task only a digest, so that its words are in no record but its own."""
    assert isinstance(outcome, Outcome)
    said = {"agent": outcome.agent, "task": _digest(outcome.task_description), "outcome": outcome.outcome.value}
    return said if outcome.user_id is None else {**said, "user": outcome.user_id}


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


Item = TypeVar("Item")
Result = TypeVar("Result")
OnError = Callable[[int, Exception], object]
"""Takes the number of an item that cannot be stored, and the reason. It raises where all or none is stored."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked memory to store, with its passages. `key` is the idempotency key of an outcome. A conversation without passages joins its
    session."""

    memory: Memory
    passages: Sequence[Passage]
    key: str | None = None


def fail(number: int, error: Exception) -> NoReturn:
    """Raises the error of the only item as it is."""
    raise error


def fail_by_number(number: int, error: Exception) -> NoReturn:
    """Raises the error with the number of its item."""
    raise type(error)(f"item {number}: {error}; nothing was stored") from error


def make_each(items: Mapping[int, Item], make: Callable[[Item], Result], on_error: OnError = fail_by_number) -> dict[int, Result]:
    """Returns the results of `make` for each item, without those that `on_error` was called for."""
    made = {}
    for number, item in items.items():
        try:
            made[number] = make(item)
        except (ValidationError, ScopeViolationError) as error:
            on_error(number, error)
    return made


def _keep_joining(room: Room, found: Mapping[int, Conversation]) -> dict[int, Conversation]:
    """Returns the conversations that join their session: none from a foreign file, or with the id of something else."""
    known = room.project.named([memory.id for memory in found.values()])
    return {
        number: memory
        for number, memory in found.items()
        if IMPORTED not in memory.metadata and session_of(known.get(memory.id, memory)) == session_of(memory)
    }


def store(
    room: Room,
    entries: Mapping[int, Entry],
    *,
    operation: str,
    actor: str | None = None,
    on_error: OnError = fail_by_number,
    dry_run: bool = False,
) -> dict[int, Memory]:
    """Stores memories in one transaction, and returns them as they are stored. Without an `actor`, it is the agent of all of them, if one is.

    A conversation of a known session is added to the conversations of that. With `dry_run` only the categories are decided.
    """
    ungrown = {
        number: entry.memory for number, entry in entries.items() if isinstance(entry.memory, Conversation) and not entry.passages
    }
    joining = _keep_joining(room, ungrown) if ungrown and not dry_run else {}
    others = {
        number: entry if entry.passages else replace(entry, passages=passages_by_kind(entry.memory))
        for number, entry in entries.items()
        if number not in joining
    }
    by = common_actor(entry.memory.agent for entry in entries.values()) if actor is None else actor
    kept: dict[int, Entry] | None = None
    while True:
        sessions = Sessions(room.project, joining, room.store.clock()) if joining else None
        changed = sessions.changed() if sessions else ()
        grown = [(memory, Entry(memory, passages_by_kind(memory)), number) for memory, number in changed]
        vectors = embed(room, [*others.values(), *(entry for _, entry, _ in grown)], only_categories=dry_run)
        if kept is None:  # a session that another caller changed meanwhile is looked at again, the others are not
            kept = make_each(others, partial(categorise, room, vectors=vectors), on_error)
        made = {number: entry.memory for number, entry in kept.items()} | (sessions.results if sessions else {})
        if not dry_run and (kept or grown):
            compared, at = comparison_vectors(room), room.now()
            with room.project.write(actor=by, operation=operation, at=at) as write:
                if sessions and sessions.is_stale(write.stored):
                    continue
                write.keep_vectors(compared)
                for entry in kept.values():
                    put(write, entry, vectors, at=at)
                for conversation, entry, number in grown:
                    if number is None:
                        put_corrected(write, entry, vectors, at=at)
                    else:
                        put(write, entry, vectors, at=at)
                        put_session(write, conversation, number)
        return {number: made[number] for number in entries if number in made}


def embed(room: Room, entries: Iterable[Entry], *, only_categories: bool = False) -> Mapping[str, bytes]:
    """Returns the vectors of all that is stored and compared of the entries, or only of the texts that decide their categories."""
    texts: list[str] = []
    for entry in entries:
        texts += _texts_of_category(room, entry.memory)
        if not only_categories:
            texts += [passage.text for passage in embedded(entry.passages)]
            texts += _texts_of_strategy(entry.memory)
    return room.store.texts.of(texts, room.project) if texts else {}


def categorise(room: Room, entry: Entry, vectors: Mapping[str, bytes]) -> Entry:
    """Returns the entry, with the nearest of its agent's categories if it needs one. `ScopeViolationError` if the agent may not learn in it."""
    memory, texts = entry.memory, _texts_of_category(room, entry.memory)
    nearest = room.scopes.nearest_category(memory.agent, texts[0], vectors) if texts else None
    if nearest is None:
        return entry
    room.scopes.check_may_learn(memory.agent, nearest, is_inferred=True)
    metadata = {**memory.metadata, "task_type_inferred": True}
    return replace(entry, memory=memory.model_copy(update={"task_type": nearest, "metadata": metadata}))


def comparison_vectors(room: Room) -> Mapping[str, bytes]:
    """Returns the vectors that a project keeps to compare outcomes by. Asked for before a write: the embedder may be asked for them."""
    texts = room.store.texts
    texts.scale(room.project)
    return {**texts.background(room.project), **texts.compared}


def put(write: Write, entry: Entry, vectors: Mapping[str, bytes], *, at: int) -> None:
    """Stores a memory, the vector that its strategy is compared by, and its key. A suspicious one goes into quarantine."""
    write.add(entry.memory, entry.passages, vectors)
    _keep_strategy(write, entry.memory, vectors)
    quarantine.screen_new(write, entry.memory, at=at)
    if entry.key is not None:
        put_key(write, entry.key, entry.memory)


def put_corrected(write: Write, entry: Entry, vectors: Mapping[str, bytes], *, at: int) -> None:
    """Stores a memory in place of the one with its id."""
    memory = entry.memory
    was_archived = write.stored.find([memory.id])[memory.id].is_archived
    write.replace(memory, entry.passages, vectors)
    _keep_strategy(write, memory, vectors)
    quarantine.screen_corrected(write, memory, at=at, was_archived=was_archived)


def common_actor(agents: Iterable[str]) -> str:
    """Returns the agent that a write is by: the agent of all its items, or none."""
    distinct = set(agents)
    return distinct.pop() if len(distinct) == 1 else ""


def _texts_of_category(room: Room, memory: Memory) -> list[str]:
    """Returns the texts whose vectors decide the category of an outcome that has none: the start of its task, then its agent's categories."""
    if not isinstance(memory, Outcome) or memory.task_type is not None:
        return []
    categories = room.scopes.category_texts(memory.agent)
    return [passages_of(memory)[0].text, *categories] if categories else []


def _texts_of_strategy(memory: Memory) -> list[str]:
    return [matched_text(memory.strategy_used)] if isinstance(memory, Outcome) and memory.strategy_used else []


def _keep_strategy(write: Write, memory: Memory, vectors: Mapping[str, bytes]) -> None:
    kept = {text: vectors[text] for text in _texts_of_strategy(memory) if text in vectors}
    if kept:
        write.keep_vectors(kept)
