"""Recording: what happened, what is known, what is wanted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.scopes import check_may_learn, inferred_category
from alma.types.identity import new_id
from alma.types.memories import AntiPattern, DomainKnowledge, Heuristic, Memory, Outcome, UserPreference
from alma.types.passages import Draft, Passage, embedded, passages_of

STATED_CONFIDENCE = 1.0
GUESSED_CONFIDENCE = 0.8
STATED_SOURCES = frozenset({"user_stated", "explicit_instruction"})


@dataclass(frozen=True, slots=True)
class _Entry:
    memory: Memory
    passages: Sequence[Passage]


def outcome_from(room: Room, now: datetime, given: Mapping[str, Any]) -> Outcome:
    """The outcome that the arguments of `learn` describe, checked against the agent's rules."""
    agent = args.checked_name(given["agent"], "agent")
    task = args.checked_text(given["task"], "task")
    task_type = args.optional_text(given.get("task_type"), "task_type", limit=args.LONGEST_NAME)
    metadata = args.checked_metadata(given.get("metadata"))
    if task_type is None:
        task_type = inferred_category(room, agent, task)
        metadata = metadata if task_type is None else {**metadata, "task_type_inferred": True}
    if task_type is not None:
        check_may_learn(room, agent, task_type)
    return Outcome(
        id=new_id(now),
        agent=agent,
        project_id=room.name,
        metadata=metadata,
        created_at=now,
        updated_at=now,
        task_type=task_type,
        task_description=task,
        outcome=args.checked_verdict(given["outcome"]),
        strategy_used=args.optional_text(given.get("strategy_used"), "strategy_used") or "",
        duration_ms=args.checked_duration(given.get("duration_ms")),
        error_message=args.optional_text(given.get("error_message"), "error_message"),
        user_feedback=args.optional_text(given.get("feedback"), "feedback"),
        timestamp=args.checked_time(given.get("timestamp"), "timestamp") or now,
    )


def learn(room: Room, given: Mapping[str, Any]) -> Outcome:
    """Stores one outcome and what follows from it, in one transaction."""
    outcome = outcome_from(room, room.store.clock(), given)
    _store(room, [_Entry(outcome, passages_of(outcome))], actor=outcome.agent, operation="learn")
    return outcome


def learn_many(room: Room, items: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """Stores many outcomes in one transaction: all or none."""
    now = room.store.clock()
    outcomes = [outcome_from(room, now, _arguments(item, number)) for number, item in enumerate(items)]
    entries = [_Entry(outcome, passages_of(outcome)) for outcome in outcomes]
    _store(room, entries, actor=_common_actor(outcome.agent for outcome in outcomes), operation="learn_many")
    return outcomes


def add_many(room: Room, items: Iterable[Memory | Draft]) -> list[str]:
    """Stores memories of any kinds in one transaction, and gives their ids."""
    entries = [_checked_entry(room, item) for item in items]
    _store(room, entries, actor=_common_actor(entry.memory.agent for entry in entries), operation="add_many")
    return [entry.memory.id for entry in entries]


def add(room: Room, memory: Memory, passages: Sequence[Passage] | None = None, *, operation: str) -> None:
    """Stores one memory."""
    entry = _checked_entry(room, Draft(memory=memory, passages=tuple(passages)) if passages else memory)
    _store(room, [entry], actor=memory.agent, operation=operation)


def user_preference(
    room: Room, *, user_id: str, category: str, preference: str, source: str, agent: str | None, metadata: Any
) -> UserPreference:
    """A user's preference, stored."""
    source = args.checked_text(source, "source", limit=args.LONGEST_NAME)
    memory = UserPreference(
        **_base(room, args.checked_name(agent, "agent") if agent else "", metadata, source),
        user_id=args.checked_name(user_id, "user_id"),
        category=args.checked_text(category, "category", limit=args.LONGEST_NAME),
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
    source = args.checked_text(source, "source", limit=args.LONGEST_NAME)
    memory = DomainKnowledge(
        **_base(room, args.checked_name(agent, "agent"), metadata, source),
        domain=args.checked_text(domain, "domain", limit=args.LONGEST_NAME),
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


def _store(room: Room, entries: Sequence[_Entry], *, actor: str, operation: str) -> None:
    """One batch through the model, then one transaction."""
    if not entries:
        return
    texts = [passage.text for entry in entries for passage in embedded(entry.passages)]
    vectors = room.store.texts.of(texts, room.project)
    with room.project.write(actor=actor, operation=operation, at=room.now()) as write:
        for entry in entries:
            write.add(entry.memory, entry.passages, vectors)


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


def _arguments(item: object, number: int) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise ValidationError(f"item {number} must be a mapping of the arguments of learn(), not {item!r:.60}")
    unknown = set(item) - LEARN_ARGUMENTS
    missing = {"agent", "task", "outcome"} - set(item)
    if unknown or missing:
        fault = (
            f"has no argument {sorted(missing)[0]!r}" if missing else f"has an argument {sorted(map(str, unknown))[0]!r} too many"
        )
        raise ValidationError(f"item {number} {fault}; nothing was stored")
    return item


LEARN_ARGUMENTS = frozenset(
    {
        "agent",
        "task",
        "outcome",
        "strategy_used",
        "task_type",
        "duration_ms",
        "error_message",
        "feedback",
        "metadata",
        "timestamp",
    }
)


def _checked_entry(room: Room, item: object) -> _Entry:
    """A memory that a caller made, held to the same rules as one that ALMA makes, and put into this project."""
    draft = item if isinstance(item, Draft) else None
    memory = draft.memory if draft else item
    if not isinstance(memory, Memory):
        raise ValidationError(f"a memory or a draft is needed, not {item!r:.60}")
    _check_fields(memory)
    if memory.project_id not in ("", room.name):
        raise ValidationError(
            f"memory {memory.id} belongs to project {memory.project_id!r}, not to {room.name!r}; nothing was stored"
        )
    if isinstance(memory, DomainKnowledge):
        check_may_learn(room, memory.agent, memory.domain)
    elif isinstance(memory, Outcome) and memory.task_type:
        check_may_learn(room, memory.agent, memory.task_type)
    placed = memory.model_copy(update={"project_id": room.name})
    return _Entry(placed, _positions(draft.passages) if draft else passages_of(placed))


def _check_fields(memory: Memory) -> None:
    if not isinstance(memory, UserPreference) or memory.agent:
        args.checked_name(memory.agent, "agent")
    args.checked_text(memory.text, f"the text of a {memory.kind}", limit=2 * args.LONGEST_TEXT)
    args.checked_metadata(memory.metadata)
    for name in type(memory).model_fields:
        value = getattr(memory, name)
        if isinstance(value, str) and value:
            args.checked_text(value, name)


def _positions(passages: Sequence[Passage]) -> Sequence[Passage]:
    positions = [passage.position for passage in passages]
    if len(set(positions)) != len(positions):
        raise ValidationError("two passages of a draft have the same position; nothing was stored")
    for passage in passages:
        args.checked_text(passage.text, "the text of a passage")
    return passages


def _common_actor(agents: Iterable[str]) -> str:
    distinct = set(agents)
    return distinct.pop() if len(distinct) == 1 else ""
