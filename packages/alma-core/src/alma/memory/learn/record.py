"""Recording: what happened, what is known, what is wanted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any, TypeVar, cast

from pydantic import ValidationError as PydanticError

from alma.errors import ScopeViolationError, ValidationError
from alma.memory import arguments as args
from alma.memory import kinds
from alma.memory.learn import idempotency
from alma.memory.learn.learner import strategy_texts, writing
from alma.memory.learn.request import LearnRequest
from alma.memory.learn.turns import check_turns, passages_by_kind
from alma.memory.room import Room
from alma.memory.scopes import category_texts, check_may_learn, nearest_category
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.memories import (
    MEMORY_CLASSES,
    AntiPattern,
    AnyMemory,
    Conversation,
    CustomMemory,
    DomainKnowledge,
    Heuristic,
    Memory,
    Outcome,
    UserPreference,
)
from alma.types.passages import Draft, Passage, embedded, passages_of
from alma.types.provenance import flagged

STATED_CONFIDENCE = 1.0
GUESSED_CONFIDENCE = 0.8
STATED_SOURCES = frozenset({"user_stated", "explicit_instruction"})
LABELS = frozenset({"category", "domain", "source", "task_type", "session_id"})

Item = TypeVar("Item")
Result = TypeVar("Result")
Checked = TypeVar("Checked", bound=Memory)
Added = TypeVar("Added", bound=Memory)


@dataclass(frozen=True, slots=True)
class _Entry:
    memory: Memory
    passages: Sequence[Passage]
    key: str | None = None


def outcome_from(room: Room, now: datetime, request: LearnRequest) -> Outcome:
    """Returns the outcome that is asked for, with the nearest of its agent's categories if it has none.

    `ScopeViolationError` if the agent may not learn it.
    """
    outcome = _outcome(room, now, request)
    texts = _texts_to_judge(room, outcome)
    return _categorised(room, outcome, room.store.texts.of(texts, room.project) if texts else {})


def _outcome(room: Room, now: datetime, request: LearnRequest) -> Outcome:
    """The outcome that is asked for. If a category is given, it is one that the agent may learn."""
    agent = args.checked_name(request.agent, "agent")
    outcome = Outcome(
        id=new_id(now),
        agent=agent,
        user_id=args.optional_name(request.user_id, "user_id"),
        project_id=room.name,
        metadata=_metadata(room, request),
        created_at=now,
        updated_at=now,
        task_type=args.optional_label(request.task_type, "task_type"),
        task_id=args.optional_label(request.task_id, "task_id"),
        difficulty=args.optional_label(request.difficulty, "difficulty"),
        verdict_source=args.checked_source(request.verdict_source),
        task_description=args.checked_text(request.task, "task"),
        outcome=args.checked_verdict(request.outcome),
        strategy_used=args.optional_text(request.strategy_used, "strategy_used") or "",
        duration_ms=args.optional_duration(request.duration_ms),
        error_message=args.optional_text(request.error_message, "error_message"),
        user_feedback=args.optional_text(request.feedback, "feedback"),
        timestamp=args.checked_time(request.timestamp, "timestamp") or now,
    )
    redaction = room.store.redaction
    redaction.check_name(agent, "agent")
    redaction.check_name(outcome.user_id or "", "user_id")
    outcome = redaction.value(outcome)
    if outcome.task_type is not None:
        check_may_learn(room, agent, outcome.task_type)
    return outcome


def _metadata(room: Room, request: LearnRequest) -> dict[str, Any]:
    key = idempotency.checked_key(room, request)
    texts = (request.task, request.strategy_used, request.error_message, request.feedback)
    metadata = flagged(args.checked_metadata(request.metadata), *texts)
    return metadata if key is None else {**metadata, idempotency.KEY: key}


def _texts_to_judge(room: Room, memory: Memory) -> list[str]:
    """The texts whose vectors tell the category of a memory that has none: the start of its task first, then the categories."""
    if not isinstance(memory, Outcome) or memory.task_type is not None:
        return []
    categories = category_texts(room, memory.agent)
    return [passages_of(memory)[0].text, *categories] if categories else []


def _categorised(room: Room, memory: Checked, vectors: Mapping[str, bytes]) -> Checked:
    """The memory, with the nearest of its agent's categories if it needs one. `ScopeViolationError` if the agent may not learn in that."""
    texts = _texts_to_judge(room, memory)
    nearest = nearest_category(room, memory.agent, texts[0], vectors) if texts else None
    if nearest is None:
        return memory
    check_may_learn(room, memory.agent, nearest, is_inferred=True)
    return memory.model_copy(update={"task_type": nearest, "metadata": {**memory.metadata, "task_type_inferred": True}})


def learn(room: Room, request: LearnRequest) -> Outcome:
    """Stores one outcome and what follows from it, in one transaction. What was learned under its key before is given back."""
    outcome = _outcome(room, room.store.clock(), request)
    key = idempotency.checked_key(room, request)
    if key is None:
        return _learned(room, outcome, None)
    return idempotency.once(room, [(outcome, key)], lambda _: [_learned(room, outcome, key)])[0]


def _learned(room: Room, outcome: Outcome, key: str | None) -> Outcome:
    passages = passages_of(outcome)
    vectors = _vectors(room, [_Entry(outcome, passages)])
    outcome = _categorised(room, outcome, vectors)
    _store(room, [_Entry(outcome, passages, key)], vectors, actor=outcome.agent, operation="learn")
    return outcome


def learn_many(room: Room, items: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Records many outcomes in one transaction, all or none. Each item has the arguments of `learn`, its `idempotency_key` too.

    Evidence and `strategies` are those of as many calls of `learn`. Rules are judged once, by all of the outcomes: one may name another
    of its tasks as its condition, and one that held only for a while in between is not formed.
    """
    now = room.store.clock()
    requests = _each(args.checked_items(items, "items"), LearnRequest.of)
    asked = _each(requests, lambda request: (_outcome(room, now, request), idempotency.checked_key(room, request)))
    return idempotency.once(room, asked, lambda places: _learned_many(room, asked, places))


def _learned_many(room: Room, asked: Sequence[tuple[Outcome, str | None]], places: Sequence[int]) -> list[Outcome]:
    """Stores those at the given places."""
    entries = [_Entry(outcome, passages_of(outcome), key) for outcome, key in (asked[place] for place in places)]
    vectors = _vectors(room, entries)
    outcomes = _each((asked[place][0] for place in places), lambda outcome: _categorised(room, outcome, vectors), places)
    entries = [
        entry if entry.memory is outcome else replace(entry, memory=outcome)
        for entry, outcome in zip(entries, outcomes, strict=True)
    ]
    _store(room, entries, vectors, actor=common_actor(outcome.agent for outcome in outcomes), operation="learn_many")
    return outcomes


def add_many(room: Room, memories: Iterable[Memory | Draft]) -> list[str]:
    """Records memories of any kinds in one transaction, all or none, and returns their ids."""
    entries = _each(args.checked_items(memories, "memories"), lambda item: _checked_entry(room, item))
    vectors = _vectors(room, entries)
    entries = _each(entries, lambda entry: replace(entry, memory=_categorised(room, entry.memory, vectors)))
    _store(room, entries, vectors, actor=common_actor(entry.memory.agent for entry in entries), operation="add_many")
    return [entry.memory.id for entry in entries]


def add_each(room: Room, memories: Sequence[Memory], *, operation: str, dry_run: bool = False) -> dict[int, str]:
    """Stores those of the memories that can be stored, in one transaction, and returns why the others cannot, by their places.

    The write has no actor. With `dry_run` nothing is stored, and only the texts that decide a category are embedded.
    """
    refused: dict[int, str] = {}
    entries = _possible(dict(enumerate(memories)), lambda memory: _checked_entry(room, memory), refused)
    vectors = (_vectors_to_judge if dry_run else _vectors)(room, list(entries.values()))
    entries = _possible(entries, lambda entry: replace(entry, memory=_categorised(room, entry.memory, vectors)), refused)
    if not dry_run:
        _store(room, list(entries.values()), vectors, actor="", operation=operation)
    return refused


def _possible(items: Mapping[int, Item], make: Callable[[Item], Result], refused: dict[int, str]) -> dict[int, Result]:
    """Returns what is made of those items of which it can be, by their places; `refused` receives the reasons of the others."""
    made = {}
    for place, item in items.items():
        try:
            made[place] = make(item)
        except (ValidationError, ScopeViolationError) as error:
            refused[place] = str(error)
    return made


def add(room: Room, memory: Added, passages: Sequence[Passage] | None = None, *, operation: str) -> Added:
    """Stores one memory, and returns it as it is stored."""
    given = () if passages is None else checked_passages(passages)
    entry = _checked_entry(room, Draft(memory=memory, passages=given) if given else memory)
    vectors = _vectors(room, [entry])
    entry = replace(entry, memory=_categorised(room, entry.memory, vectors))
    _store(room, [entry], vectors, actor=memory.agent, operation=operation)
    return cast(Added, entry.memory)


def add_user_preference(
    room: Room,
    user_id: str,
    category: str,
    preference: str,
    source: str = "explicit_instruction",
    *,
    agent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> UserPreference:
    """Records a preference of a user. It is read only with that `user_id`, by any agent of the project."""
    source = args.checked_label(source, "source")
    memory = UserPreference(
        **_base(
            room,
            "" if agent is None else args.checked_name(agent, "agent"),
            args.checked_name(user_id, "user_id"),
            metadata,
            source,
        ),
        category=args.checked_label(category, "category"),
        preference=args.checked_text(preference, "preference"),
        source=source,
        timestamp=room.store.clock(),
    )
    return add(room, memory, operation="add_user_preference")


def add_domain_knowledge(
    room: Room,
    agent: str,
    domain: str,
    fact: str,
    source: str = "user_stated",
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    passages: Sequence[Passage] | None = None,
) -> DomainKnowledge:
    """Records a fact. `passages` gives the pieces to search it by, say the turns of a conversation; by default it is split
    automatically.

    With a `user_id` it is read only with that `user_id`. `ScopeViolationError` if the agent may not learn in that domain.
    """
    source = args.checked_label(source, "source")
    memory = DomainKnowledge(
        **_base(room, args.checked_name(agent, "agent"), args.optional_name(user_id, "user_id"), metadata, source),
        domain=args.checked_label(domain, "domain"),
        fact=args.checked_text(fact, "fact"),
        source=source,
        last_verified=room.store.clock(),
    )
    return add(room, memory, passages, operation="add_domain_knowledge")


def add_anti_pattern(
    room: Room,
    agent: str,
    pattern: str,
    why_bad: str,
    better_alternative: str | None = None,
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> AntiPattern:
    """Records a way that fails, why, and what to do instead."""
    memory = AntiPattern(
        **_base(room, args.checked_name(agent, "agent"), args.optional_name(user_id, "user_id"), metadata, "user_stated"),
        pattern=args.checked_text(pattern, "pattern"),
        why_bad=args.checked_text(why_bad, "why_bad"),
        better_alternative=args.optional_text(better_alternative, "better_alternative"),
        last_seen=room.store.clock(),
    )
    return add(room, memory, operation="add_anti_pattern")


def add_heuristic(
    room: Room,
    agent: str,
    condition: str,
    strategy: str,
    *,
    user_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Heuristic:
    """Records a strategy that a person or a program states. It has no record of successes yet."""
    memory = Heuristic(
        **_base(room, args.checked_name(agent, "agent"), args.optional_name(user_id, "user_id"), metadata, "user_stated"),
        condition=args.checked_text(condition, "condition"),
        strategy=args.checked_text(strategy, "strategy"),
        last_validated=room.store.clock(),
    )
    return add(room, memory, operation="add_heuristic")


def stated(
    room: Room, cls: type[Memory], *, agent: object, user_id: object, metadata: Any, fields: Mapping[str, Any]
) -> AnyMemory:
    """Stores a memory of a built-in kind that has no method of its own. `ValidationError` names the field that is wrong."""
    base = _base(room, args.checked_name(agent, "agent"), args.optional_name(user_id, "user_id"), metadata, "user_stated")
    for name in base.keys() & fields:
        raise ValidationError(f"{cls.model_fields['kind'].default}.{name} is set by the memory itself")
    try:
        memory = cls(**base, **fields)
    except PydanticError as error:
        first = error.errors()[0]
        raise ValidationError(
            f"{cls.model_fields['kind'].default}.{first['loc'][0] if first['loc'] else ''}: {first['msg']}"
        ) from error
    return add(room, memory, operation="add")  # type: ignore[return-value] # the classes are the members of the union


def _vectors_to_judge(room: Room, entries: Sequence[_Entry]) -> Mapping[str, bytes]:
    """The vectors that tell the categories of memories that have none, made in one batch."""
    judged = dict.fromkeys(text for entry in entries for text in _texts_to_judge(room, entry.memory))
    return room.store.texts.of(list(judged), room.project) if judged else {}


def _vectors(room: Room, entries: Sequence[_Entry]) -> Mapping[str, bytes]:
    """The vectors of all that is stored and judged, made in one batch."""
    judged = dict.fromkeys(text for entry in entries for text in _texts_to_judge(room, entry.memory))
    texts = [passage.text for entry in entries for passage in embedded(entry.passages)]
    texts += [text for entry in entries if isinstance(entry.memory, Outcome) for text in strategy_texts(entry.memory)]
    return room.store.texts.of([*texts, *judged], room.project) if texts else {}


def _store(room: Room, entries: Sequence[_Entry], vectors: Mapping[str, bytes], *, actor: str, operation: str) -> None:
    """All of it in one transaction."""
    if not entries:
        return
    with writing(room, actor=actor, operation=operation, at=room.now()) as learner:
        for entry in entries:
            learner.add(entry.memory, entry.passages, vectors)
            if entry.key is not None and isinstance(entry.memory, Outcome):
                idempotency.note(learner.write, entry.key, entry.memory)


def _base(room: Room, agent: str, user: str | None, metadata: Any, source: str) -> dict[str, Any]:
    now = room.store.clock()
    return {
        "id": new_id(now),
        "agent": agent,
        "user_id": user,
        "project_id": room.name,
        "metadata": args.checked_metadata(metadata),
        "confidence": STATED_CONFIDENCE if source in STATED_SOURCES else GUESSED_CONFIDENCE,
        "created_at": now,
        "updated_at": now,
    }


def _each(items: Iterable[Item], make: Callable[[Item], Result], numbers: Iterable[int] | None = None) -> list[Result]:
    """Returns what is made of each item. An error says which item it is about, by its number, which are counted from 0 if not given."""
    made = []
    for number, item in zip(count() if numbers is None else numbers, items, strict=False):
        try:
            made.append(make(item))
        except (ValidationError, ScopeViolationError) as error:
            raise type(error)(f"item {number}: {error}; nothing was stored") from error
    return made


def _checked_entry(room: Room, item: object) -> _Entry:
    """A memory that a caller made, held to the same rules as one that ALMA makes, and put into this project."""
    draft = item if isinstance(item, Draft) else None
    memory = draft.memory if draft else item
    if isinstance(memory, CustomMemory):
        memory = kinds.placed(room, memory)
    elif not isinstance(memory, Memory) or MEMORY_CLASSES.get(memory.kind) is not type(memory):
        raise ValidationError(f"a memory of a known kind or a draft is needed, not {quoted(item)}")
    if memory.project_id not in ("", room.name):
        raise ValidationError(f"memory {quoted(memory.id)} belongs to project {quoted(memory.project_id)}, not to {room.name!r}")
    redaction = room.store.redaction
    for name in ("agent", "user_id", "id", "session_id"):
        redaction.check_name(getattr(memory, name, None) or "", name)
    placed = redaction.value(memory.model_copy(update={"project_id": room.name, **checked_fields(memory)}))
    if isinstance(placed, DomainKnowledge):
        check_may_learn(room, placed.agent, placed.domain)
    elif isinstance(placed, Outcome) and placed.task_type is not None:
        check_may_learn(room, placed.agent, placed.task_type)
    return _Entry(placed, redaction.value(checked_passages(draft.passages)) if draft else passages_by_kind(placed))


def checked_fields(memory: Memory) -> dict[str, Any]:
    """The fields that are put in order: names without space around them, metadata as plain values."""
    args.checked_label(memory.id, "id")
    if not 0 <= memory.confidence <= 1:
        raise ValidationError(f"confidence is {memory.confidence}; it must be from 0 to 1")
    texts = [memory.text, memory.keywords]
    if isinstance(memory, Conversation):
        check_turns(memory)
        texts += sorted(memory.names)  # a prompt shows them beside what they said
    fields: dict[str, Any] = {"metadata": flagged(args.checked_metadata(memory.metadata), *texts)}
    if memory.user_id is not None:
        fields["user_id"] = args.checked_name(memory.user_id, "user_id")
    if memory.agent or not isinstance(memory, UserPreference):
        fields["agent"] = args.checked_name(memory.agent, "agent")
    for name, field in type(memory).model_fields.items():
        value = getattr(memory, name)
        if isinstance(value, str) and (value or field.is_required()):
            (args.checked_label if name in LABELS else args.checked_text)(value, name)
    return fields


def checked_passages(passages: object) -> tuple[Passage, ...]:
    """The passages, each with a text that can be stored, no two at one position."""
    found = tuple(args.checked_items(passages, "passages"))
    for passage in found:
        if not isinstance(passage, Passage):
            raise ValidationError(f"passages must hold passages, not {quoted(passage)}")
        args.checked_text(passage.text, "the text of a passage")
        args.optional_text(passage.keywords, "the keywords of a passage")
        args.optional_label(passage.speaker, "the speaker of a passage")
    if len({passage.position for passage in found}) != len(found):
        raise ValidationError("two passages of one memory have the same position")
    return found


def common_actor(agents: Iterable[str]) -> str:
    """The agent that a write is by: the one of all its items, or none."""
    distinct = set(agents)
    return distinct.pop() if len(distinct) == 1 else ""
