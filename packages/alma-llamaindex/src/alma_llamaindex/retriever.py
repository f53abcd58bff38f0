"""`ALMARetriever`: ALMA's memories for query engines, retriever tools and fusion retrievers."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from alma import ALMA, MemorySlice, MemoryType
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count, checked_name, checked_time
from alma.types.recalled import Recalled
from alma_llamaindex.given import checked_kinds, checked_names, checked_score, checked_user
from alma_llamaindex.learner import learners
from alma_llamaindex.nodes import nodes_of
from alma_llamaindex.runs import Part, as_task

WIDER = 10
"""With a filter that ALMA does not search by, so many times `top_k` is looked through."""
WIDEST = 1_000


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories are wanted. `agents` are their owners; the times are those that their recency counts from."""

    kinds: frozenset[str] | None = None
    agents: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_score: float | None = None

    @property
    def are_narrow(self) -> bool:
        """Whether more has to be looked through than is wanted. Kinds have places of their own in a slice."""
        return self.agents is not None or self.since is not None or self.until is not None

    def allow(self, item: Recalled) -> bool:
        """Whether a memory is wanted."""
        memory = item.memory
        return (
            (self.kinds is None or memory.kind in self.kinds)
            and (self.agents is None or memory.agent in self.agents)
            and (self.since is None or memory.seen_at >= self.since)
            and (self.until is None or memory.seen_at < self.until)
            and (self.min_score is None or item.score >= self.min_score)
        )


class ALMARetriever(BaseRetriever):
    """The memories that matter for a query, best first, at most `top_k` of each kind that `agent` may read.

    A node's id is the memory's; its text is the note that ALMA's prompts show, with its record in words; its metadata (kind, owner, parts
    of the score) is kept from models. `kinds`, `agents` (the owners), `since` and `until` (before it) narrow it; by owner and time, the
    best `10 * top_k` of each kind are looked through. `with_tags` puts [H1] and the like before each text, so that an answer can cite it.
    Works without an event loop and, natively, in one.
    """

    def __init__(
        self,
        alma: ALMA,
        agent: str,
        *,
        user_id: str | None = None,
        top_k: int = 5,
        kinds: Collection[MemoryType | str] | None = None,
        agents: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        min_score: float | None = None,
        with_tags: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._alma = checked_alma(alma)
        self._agent = checked_name(agent, "agent")
        self._user_id = checked_user(user_id)
        self._top_k = checked_count(top_k, "top_k")
        self._with_tags = with_tags
        self._filters = Filters(
            kinds=None if kinds is None else checked_kinds(kinds, self._alma),
            agents=None if agents is None else checked_names(agents, "agents"),
            since=checked_time(since, "since"),
            until=checked_time(until, "until"),
            min_score=checked_score(min_score),
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        for learner in learners(self._alma):
            learner.settle()
        return self._answer(query_bundle.query_str)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        for learner in learners(self._alma):
            await learner.asettle()
        return await asyncio.to_thread(self._answer, query_bundle.query_str)

    def _answer(self, query: str) -> list[NodeWithScore]:
        task = as_task(query)
        if not task:
            return []
        wanted = min(self._top_k * WIDER, WIDEST) if self._filters.are_narrow else self._top_k
        memories = self._alma.retrieve(task=task, agent=self._agent, user_id=self._user_id, top_k=wanted)
        kept = self._kept(memories)
        self._show(memories.model_copy(update={"recalled": tuple(kept)}))
        return nodes_of(memories, kept, with_tags=self._with_tags)

    def _kept(self, memories: MemorySlice) -> list[Recalled]:
        """What the filters leave, at most `top_k` of each kind."""
        counts: dict[str, int] = {}
        kept = []
        for item in filter(self._filters.allow, memories.recalled):
            kind = item.memory.kind
            counts[kind] = counts.get(kind, 0) + 1
            if counts[kind] <= self._top_k:
                kept.append(item)
        return kept

    def _show(self, memories: MemorySlice) -> None:
        """Tells a learner that sees the query engine which asks."""
        for learner in learners(self._alma):
            span = learner.current_span()
            run = span.run if span else None
            if run is not None and run.is_query and run.task:
                learner.take(run, Part(run.first, self._agent, run.task, memories, self._user_id))
