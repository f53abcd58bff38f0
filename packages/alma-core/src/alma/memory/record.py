"""Recording: what happened, what is known, what is wanted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any, TypeVar

from alma.errors import ScopeViolationError, ValidationError
from alma.learning.suspicion import flagged
from alma.memory import arguments as args
from alma.memory import kinds, repeating
from alma.memory.learning import strategy_texts, writing
from alma.memory.room import Room
from alma.memory.scopes import category_texts, check_may_learn, nearest_category
from alma.memory.swaps import check_order
from alma.text import quoted
from alma.types.identity import new_id
from alma.types.memories import (
    MEMORY_CLASSES,
    AntiPattern,
    CustomMemory,
    DomainKnowledge,
    Heuristic,
    Memory,
    Outcome,
    UserPreference,
)
from alma.types.passages import Draft, Passage, embedded, passages_of

STATED_CONFIDENCE = 1.0
GUESSED_CONFIDENCE = 0.8
STATED_SOURCES = frozenset({"user_stated", "explicit_instruction"})
LABELS = frozenset({"category", "domain", "source", "task_type"})

Item = TypeVar("Item")
Result = TypeVar("Result")
Checked = TypeVar("Checked", bound=Memory)


@dataclass(frozen=True, slots=True)
class _Entry:
    memory: Memory
    passages: Sequence[Passage]
    key: str | None = None


def outcome_from(room: Room, now: datetime, given: Mapping[str, Any]) -> Outcome:
    """The outcome that the arguments of `learn` describe, with the nearest of its agent's categories if it has none.

    `ScopeViolationError` if the agent may not learn it.
    """
    outcome = _outcome(room, now, given)
    texts = _texts_to_judge(room, outcome)
    return _categorised(room, outcome, room.store.texts.of(texts, room.project) if texts else {})


def _outcome(room: Room, now: datetime, given: Mapping[str, Any]) -> Outcome:
    """The outcome that the arguments of `learn` describe. If a category is given, it is one that the agent may learn."""
    agent = args.checked_name(given.get("agent"), "agent")
    outcome = Outcome(
        id=new_id(now),
        agent=agent,
        project_id=room.name,
        metadata=_metadata(given),
        created_at=now,
        updated_at=now,
        task_type=args.optional_label(given.get("task_type"), "task_type"),
        task_id=args.optional_label(given.get("task_id"), "task_id"),
        difficulty=args.optional_label(given.get("difficulty"), "difficulty"),
        verdict_source=args.checked_source(given.get("verdict_source")),
        task_description=args.checked_text(given["task"], "task"),
        outcome=args.checked_verdict(given["outcome"]),
        strategy_used=args.optional_text(given.get("strategy_used"), "strategy_used") or "",
        duration_ms=args.checked_duration(given.get("duration_ms")),
        error_message=args.optional_text(given.get("error_message"), "error_message"),
        user_feedback=args.optional_text(given.get("feedback"), "feedback"),
        timestamp=args.checked_time(given.get("timestamp"), "timestamp") or now,
    )
    if outcome.task_type is not None:
        check_may_learn(room, agent, outcome.task_type)
    return outcome


def _metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    key = repeating.checked_key(given)
    metadata = flagged(args.checked_metadata(given.get("metadata")), *(given.get(name) for name in _FREE_TEXTS))
    return metadata if key is None else {**metadata, repeating.KEY: key}


_FREE_TEXTS = ("task", "strategy_used", "error_message", "feedback")


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
    check_may_learn(room, memory.agent, nearest)
    return memory.model_copy(update={"task_type": nearest, "metadata": {**memory.metadata, "task_type_inferred": True}})


def learn(room: Room, given: Mapping[str, Any]) -> Outcome:
    """Stores one outcome and what follows from it, in one transaction. What was learned under its key before is given back."""
    outcome = _outcome(room, room.store.clock(), given)
    check_order(room, given["agent"])
    key = repeating.checked_key(given)
    if key is None:
        return _learned(room, outcome, None)
    return repeating.once(room, [(outcome, key)], lambda _: [_learned(room, outcome, key)])[0]


def _learned(room: Room, outcome: Outcome, key: str | None) -> Outcome:
    passages = passages_of(outcome)
    vectors = _vectors(room, [_Entry(outcome, passages)])
    outcome = _categorised(room, outcome, vectors)
    _store(room, [_Entry(outcome, passages, key)], vectors, actor=outcome.agent, operation="learn")
    return outcome


def learn_many(room: Room, items: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Stores many outcomes in one transaction: all or none. Those that were learned under their key before are given back."""
    now = room.store.clock()
    given = _each(args.checked_items(items, "items"), _arguments)
    asked = _each(given, lambda item: (_outcome(room, now, item), repeating.checked_key(item)))
    return repeating.once(room, asked, lambda places: _learned_many(room, asked, places))


def _learned_many(room: Room, asked: Sequence[tuple[Outcome, str | None]], places: Sequence[int]) -> list[Outcome]:
    """Stores those at the given places."""
    entries = [_Entry(outcome, passages_of(outcome), key) for outcome, key in (asked[place] for place in places)]
    vectors = _vectors(room, entries)
    outcomes = _each((asked[place][0] for place in places), lambda outcome: _categorised(room, outcome, vectors), places)
    entries = [replace(entry, memory=outcome) for entry, outcome in zip(entries, outcomes, strict=True)]
    _store(room, entries, vectors, actor=_common_actor(outcome.agent for outcome in outcomes), operation="learn_many")
    return outcomes


def add_many(room: Room, items: Iterable[Memory | Draft]) -> list[str]:
    """Stores memories of any kinds in one transaction, and gives their ids."""
    entries = _each(args.checked_items(items, "memories"), lambda item: _checked_entry(room, item))
    vectors = _vectors(room, entries)
    entries = _each(entries, lambda entry: replace(entry, memory=_categorised(room, entry.memory, vectors)))
    _store(room, entries, vectors, actor=_common_actor(entry.memory.agent for entry in entries), operation="add_many")
    return [entry.memory.id for entry in entries]


def add(room: Room, memory: Memory, passages: Sequence[Passage] | None = None, *, operation: str) -> None:
    """Stores one memory."""
    given = () if passages is None else checked_passages(passages)
    entry = _checked_entry(room, Draft(memory=memory, passages=given) if given else memory)
    vectors = _vectors(room, [entry])
    entry = replace(entry, memory=_categorised(room, entry.memory, vectors))
    _store(room, [entry], vectors, actor=memory.agent, operation=operation)


def user_preference(
    room: Room, *, user_id: str, category: str, preference: str, source: str, agent: str | None, metadata: Any
) -> UserPreference:
    """A user's preference, stored."""
    source = args.checked_label(source, "source")
    memory = UserPreference(
        **_base(room, "" if agent is None else args.checked_name(agent, "agent"), metadata, source),
        user_id=args.checked_name(user_id, "user_id"),
        category=args.checked_label(category, "category"),
        preference=args.checked_text(preference, "preference"),
        source=source,
        timestamp=room.store.clock(),
    )
    add(room, memory, operation="add_user_preference")
    return memory


def domain_knowledge(
    room: Room, *, agent: str, domain: str, fact: str, source: str, metadata: Any, passages: Sequence[Passage] | None
) -> DomainKnowledge:
    """A fact, stored."""
    source = args.checked_label(source, "source")
    memory = DomainKnowledge(
        **_base(room, args.checked_name(agent, "agent"), metadata, source),
        domain=args.checked_label(domain, "domain"),
        fact=args.checked_text(fact, "fact"),
        source=source,
        last_verified=room.store.clock(),
    )
    add(room, memory, passages, operation="add_domain_knowledge")
    return memory


def anti_pattern(
    room: Room, *, agent: str, pattern: str, why_bad: str, better_alternative: str | None, metadata: Any
) -> AntiPattern:
    """A warning, stored."""
    memory = AntiPattern(
        **_base(room, args.checked_name(agent, "agent"), metadata, "user_stated"),
        pattern=args.checked_text(pattern, "pattern"),
        why_bad=args.checked_text(why_bad, "why_bad"),
        better_alternative=args.optional_text(better_alternative, "better_alternative"),
        last_seen=room.store.clock(),
    )
    add(room, memory, operation="add_anti_pattern")
    return memory


def heuristic(room: Room, *, agent: str, condition: str, strategy: str, metadata: Any) -> Heuristic:
    """A strategy that somebody states, stored without a record."""
    memory = Heuristic(
        **_base(room, args.checked_name(agent, "agent"), metadata, "user_stated"),
        condition=args.checked_text(condition, "condition"),
        strategy=args.checked_text(strategy, "strategy"),
        last_validated=room.store.clock(),
    )
    add(room, memory, operation="add_heuristic")
    return memory


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
        if len(entries) > 1:
            learner.expect((entry.memory, entry.passages) for entry in entries if isinstance(entry.memory, Outcome))
        for entry in entries:
            learner.add(entry.memory, entry.passages, vectors)
            if entry.key is not None and isinstance(entry.memory, Outcome):
                repeating.note(learner.write, entry.key, entry.memory)


def _base(room: Room, agent: str, metadata: Any, source: str) -> dict[str, Any]:
    now = room.store.clock()
    return {
        "id": new_id(now),
        "agent": agent,
        "project_id": room.name,
        "metadata": args.checked_metadata(metadata),
        "confidence": STATED_CONFIDENCE if source in STATED_SOURCES else GUESSED_CONFIDENCE,
        "created_at": now,
        "updated_at": now,
    }


def _each(items: Iterable[Item], make: Callable[[Item], Result], numbers: Iterable[int] | None = None) -> list[Result]:
    """What is made of each item. An error says which item it is about, by its number, which are counted from 0 if not given."""
    made = []
    for number, item in zip(count() if numbers is None else numbers, items, strict=False):
        try:
            made.append(make(item))
        except (ValidationError, ScopeViolationError) as error:
            raise type(error)(f"item {number}: {error}; nothing was stored") from error
    return made


def _arguments(item: object) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise ValidationError(f"a mapping of the arguments of learn() is needed, not {quoted(item)}")
    for name in {"task", "outcome"} - set(item):
        raise ValidationError(f"there is no argument {name!r}")
    for name in set(item) - LEARN_ARGUMENTS:
        raise ValidationError(f"{quoted(name)} is no argument of learn()")
    return item


LEARN_ARGUMENTS = frozenset(
    {
        "agent",
        "task",
        "outcome",
        "strategy_used",
        "task_type",
        "task_id",
        "difficulty",
        "verdict_source",
        "duration_ms",
        "error_message",
        "feedback",
        "metadata",
        "timestamp",
        repeating.KEY,
    }
)


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
    placed = memory.model_copy(update={"project_id": room.name, **checked_fields(memory)})
    if isinstance(placed, DomainKnowledge):
        check_may_learn(room, placed.agent, placed.domain)
    elif isinstance(placed, Outcome) and placed.task_type is not None:
        check_may_learn(room, placed.agent, placed.task_type)
    return _Entry(placed, checked_passages(draft.passages) if draft else passages_of(placed))


def checked_fields(memory: Memory) -> dict[str, Any]:
    """The fields that are put in order: names without space around them, metadata as plain values."""
    args.checked_label(memory.id, "id")
    if not 0 <= memory.confidence <= 1:
        raise ValidationError(f"confidence is {memory.confidence}; it must be from 0 to 1")
    fields: dict[str, Any] = {"metadata": flagged(args.checked_metadata(memory.metadata), memory.text, memory.keywords)}
    if isinstance(memory, UserPreference):
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


def _common_actor(agents: Iterable[str]) -> str:
    distinct = set(agents)
    return distinct.pop() if len(distinct) == 1 else ""
