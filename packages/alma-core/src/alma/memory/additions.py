"""Methods of `ALMA` that add memories, and record how they were used: one line per method."""

from collections.abc import Sequence

from alma.memory import kinds
from alma.memory.administration import Admin
from alma.memory.episodes import usage
from alma.memory.learn import adding, conversations, record
from alma.memory.operation import forwarded, operation
from alma.types.custom import CustomMemoryType
from alma.types.kinds import FeedbackSignal, MemoryType
from alma.types.reports import FeedbackReport, UsageReport


class Additions(Admin):
    """What is recorded beside outcomes."""

    add_user_preference = forwarded(record.add_user_preference)
    add_domain_knowledge = forwarded(record.add_domain_knowledge)
    add_anti_pattern = forwarded(record.add_anti_pattern)
    add_conversation = forwarded(conversations.add_conversation)
    add_heuristic = forwarded(record.add_heuristic)
    add = forwarded(adding.add)
    add_many = forwarded(record.add_many)

    @operation
    def register_memory_type(self, kind: CustomMemoryType) -> CustomMemoryType:
        """Registers a kind with this project, permanently and for every process. Returns the definition in force.

        Registering the same again changes nothing. A kind may gain optional fields, and change its weights; any other difference from the
        registered definition is a `ConflictError`.
        """
        return kinds.register(self._room, kind)

    @operation
    def memory_types(self) -> dict[str, CustomMemoryType]:
        """Returns the kinds that were registered in this project, by name."""
        return kinds.registered(self._room)

    @operation
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

    @operation
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
