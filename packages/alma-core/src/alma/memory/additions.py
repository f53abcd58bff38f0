"""Methods of `ALMA` that add memories, and record how they were used: one line per method."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from alma.flags import checks_flags
from alma.memory import kinds
from alma.memory.administration import Admin
from alma.memory.episodes import usage
from alma.memory.learn import adding
from alma.types.custom import CustomMemoryType
from alma.types.kinds import FeedbackSignal, MemoryType
from alma.types.memories import (
    AntiPattern,
    AnyMemory,
    Conversation,
    DomainKnowledge,
    Heuristic,
    Memory,
    UserPreference,
)
from alma.types.passages import Draft, Passage
from alma.types.reports import FeedbackReport, UsageReport


@checks_flags
class Additions(Admin):
    """What is recorded beside outcomes."""

    def add_user_preference(
        self,
        user_id: str,
        category: str,
        preference: str,
        source: str = "explicit_instruction",
        *,
        agent: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> UserPreference:
        """Records a preference of a user. It is read only with that `user_id`, by any agent of the project."""
        return adding.add_user_preference(
            self._room, user_id=user_id, category=category, preference=preference, source=source, agent=agent, metadata=metadata
        )

    def add_domain_knowledge(
        self,
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
        return adding.add_domain_knowledge(
            self._room,
            agent=agent,
            domain=domain,
            fact=fact,
            source=source,
            metadata=metadata,
            passages=passages,
            user_id=user_id,
        )

    def add_anti_pattern(
        self,
        agent: str,
        pattern: str,
        why_bad: str,
        better_alternative: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> AntiPattern:
        """Records a way that fails, why, and what to do instead."""
        return adding.add_anti_pattern(
            self._room,
            agent=agent,
            pattern=pattern,
            why_bad=why_bad,
            better_alternative=better_alternative,
            metadata=metadata,
            user_id=user_id,
        )

    def add_conversation(
        self,
        messages: Iterable[Mapping[str, Any] | tuple[str, str]],
        agent: str,
        session_id: str,
        *,
        at: datetime | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """Stores a conversation, searched by its sentences. A message is `{"role": …, "content": …}`, as model APIs have it, or (speaker, text).

        What people say is found by meaning and by words; what has the role of an assistant or a tool, by words, which weigh half. Messages of a
        system are left out.
        `at` is when the conversation took place, now by default. In a slice `metadata["hits"]` lists what of it is nearest to the question.
        """
        return adding.add_conversation(
            self._room, messages=messages, agent=agent, session_id=session_id, at=at, metadata=metadata, user_id=user_id
        )

    def add_heuristic(
        self,
        agent: str,
        condition: str,
        strategy: str,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Heuristic:
        """Records a strategy that a person or a program states. It has no record of successes yet."""
        return adding.add_heuristic(
            self._room, agent=agent, condition=condition, strategy=strategy, metadata=metadata, user_id=user_id
        )

    def add(
        self,
        /,
        kind: str,
        agent: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> AnyMemory:
        """Records a memory of any kind: of a registered one with the fields of its definition, of a built-in one with the arguments of
        its own method (`learn` for an outcome). `ValidationError` names the field that is wrong, missing or unknown.
        """
        return adding.add(self._room, kind, agent=agent, user_id=user_id, metadata=metadata, **fields)

    def register_memory_type(self, kind: CustomMemoryType) -> CustomMemoryType:
        """Registers a kind with this project, permanently and for every process. Returns the definition in force.

        Registering the same again changes nothing. A kind may gain optional fields, and change its weights; any other difference from the
        registered definition is a `ConflictError`.
        """
        return kinds.register(self._room, kind)

    def memory_types(self) -> dict[str, CustomMemoryType]:
        """Returns the kinds that were registered in this project, by name."""
        return kinds.registered(self._room)

    def add_many(self, memories: Iterable[Memory | Draft]) -> list[str]:
        """Records memories of any kinds in one transaction, all or none, and returns their ids."""
        return adding.add_many(self._room, memories)

    def record_usage(
        self,
        retrieved_memory_ids: Sequence[str],
        used_memory_ids: Sequence[str] | None = None,
        memory_type: MemoryType | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> UsageReport:
        """Counts which of the memories shown were used; the others count as ignored.

        With `used_memory_ids=None` the usage is unknown, and nothing is counted. Ids that the agent cannot see are reported and logged,
        not raised. `memory_type` and `query` are not needed: ids are unique.
        """
        return usage.record_usage(self._room, retrieved=retrieved_memory_ids, used=used_memory_ids, agent=agent, user_id=user_id)

    def record_feedback(
        self,
        memory_id: str,
        memory_type: MemoryType | str | None = None,
        signal: FeedbackSignal | str | None = None,
        agent: str | None = None,
        *,
        query: str = "",
        user_id: str | None = None,
    ) -> FeedbackReport:
        """Counts one signal about a memory: "used", "ignored", "thumbs_up" or "thumbs_down".

        An id that the agent cannot see is reported and logged, not raised, as by `record_usage`. `memory_type` and `query` are not
        needed.
        """
        return usage.record_feedback(self._room, memory_id=memory_id, signal=signal, agent=agent, user_id=user_id)

    # Names that alma-memory has for these; docs/guides/migrating.md maps the others.
    add_preference = add_user_preference
    add_knowledge = add_domain_knowledge
