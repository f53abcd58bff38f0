"""`ALMARetriever`: ALMA's memories for query engines, retriever tools and fusion retrievers."""

import asyncio
from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from alma import ALMA, MemorySlice, MemoryType
from alma.types.prompt import note
from alma.types.recalled import Recalled
from alma.types.strategies import StrategyRecord
from alma.types.tags import parts_of
from alma_integration import (
    Identity,
    checked_alma,
    checked_kinds,
    checked_names,
    checked_time,
    document_metadata,
    documented,
    taken,
    way_metadata,
)
from alma_llamaindex.attachment import Attachment
from alma_llamaindex.handler import HANDLER, RunSpan
from alma_llamaindex.learner import ALMALearner
from alma_llamaindex.spans import ENGINES, Kind

SHOWN_WITH = "shown_with"
"""Metadata key of a node that names all memories of the same retrieval."""


class MemoryNode(TextNode):
    """A memory. Its id is ALMA's. Two nodes of one memory are equal, whatever their query and score."""

    @property
    def hash(self) -> str:
        """Equal for nodes of the same memory: fusion retrievers deduplicate by it."""
        return sha256(self.id_.encode()).hexdigest()

    @classmethod
    def class_name(cls) -> str:
        return "MemoryNode"


class ALMARetriever(BaseRetriever):
    """The memories that matter for a query, best first, at most `top_k` of each kind that `agent` may read.

    A node's id is the memory's; its text is the note without ages, the same at any time; its metadata
    (`alma.integration.document_metadata`) is hidden from models. `kinds`, `agents` (the owners), `since` and `until` (before it) narrow
    the result; for filters by owner and time, the best `10 * top_k` of each kind are examined. `with_tags` puts [H1] and the like before
    each text, so that an answer can cite it. As a tool of an agent whose memory is ALMA, it leaves out what the notes show; in a chat
    engine, it shows them in place of the memory. The options are those of `alma.integration.Options`.
    """

    shows_notes = True

    def __init__(
        self,
        alma: ALMA,
        agent: Identity,
        *,
        kinds: Collection[MemoryType | str] | None = None,
        agents: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        with_tags: bool = False,
        **options: Any,
    ) -> None:
        own = taken(options)
        super().__init__(**options)
        self._held = Attachment(checked_alma(alma), agent, own)
        self._with_tags = with_tags
        self._kinds = None if kinds is None else checked_kinds(kinds, "kinds", alma)
        self._agents = None if agents is None else checked_names(agents, "agents")
        self._since, self._until = checked_time(since, "since"), checked_time(until, "until")

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        task = query_bundle.query_str
        if not task.strip():
            return []
        learner, span, context = self._held.learner, HANDLER.here(), HANDLER.context_here()
        integration = self._held.integration(learner)
        is_narrow = any(limit is not None for limit in (self._agents, self._since, self._until))
        wanted = self._is_wanted if is_narrow else None
        found = documented(integration.retrieve(task, integration.agent_of(context), context, kinds=self._kinds, wanted=wanted))
        if span is not None and (learner is not None or span.followed.run_of(self._held.alma) is not None):
            found = self._shown(found, span, learner)
        ids = [*found.ids, *(way.id for way in found.strategies)]
        nodes = [NodeWithScore(node=_node(item, ids, self._with_tags), score=item.score) for item in found.recalled]
        ways = (NodeWithScore(node=_way_node(way, ids, self._with_tags), score=way.expected) for way in found.strategies)
        return [*nodes, *ways]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _is_wanted(self, item: Recalled) -> bool:
        """Returns True when a memory has the owner and the time. The times are those that its recency counts from."""
        memory = item.memory
        return (
            (self._agents is None or memory.agent in self._agents)
            and (self._since is None or memory.seen_at >= self._since)
            and (self._until is None or memory.seen_at < self._until)
        )

    def _shown(self, found: MemorySlice, span: RunSpan, learner: ALMALearner | None) -> MemorySlice:
        """Returns what is shown in a followed run. A query engine's answer can be one, too."""
        followed, alma = span.followed, self._held.alma
        line = followed.lines.get(alma)
        if followed.kind is not Kind.QUERY or (line is not None and not line.is_ended_here):
            is_in_prompt = span.is_in_tool and not span.is_in(*ENGINES) and followed.kind is not Kind.CUSTOM
            return followed.shown_beside(alma, found, is_in_prompt=is_in_prompt)
        if learner is not None and learner.query_engines and followed.task:
            line = line or followed.begin(self._held.integration(learner))
            line.run.show_beside(found)
        return found


def _node(item: Recalled, ids: list[str], with_tags: bool) -> MemoryNode:
    """Returns a memory as a node. A model sees only the note; the rest is hidden metadata."""
    said = note(item.memory, None, parts_of(item.tag)[0])
    shared = item.memory.metadata.get("shared_from")
    metadata = {**document_metadata(item), **({"shared_from": shared} if shared else {}), SHOWN_WITH: ids}
    return _hidden(item.memory.id, f"[{item.tag}] {said}" if with_tags else said, metadata)


def _way_node(way: StrategyRecord, ids: list[str], with_tags: bool) -> MemoryNode:
    """Returns a way that was tried as a node, as its line in a prompt without ages. Its id is that of the newest outcome behind it."""
    said = way.line(None, parts_of(way.tag or "")[0])
    shared = {"shared_from": way.shared_from} if way.shared_from else {}
    return _hidden(way.id, f"[{way.tag}] {said}" if with_tags else said, {**way_metadata(way), **shared, SHOWN_WITH: ids})


def _hidden(node_id: str, text: str, metadata: dict[str, Any]) -> MemoryNode:
    return MemoryNode(
        id_=node_id,
        text=text,
        extra_info=metadata,  # its alias, which type checkers know
        excluded_llm_metadata_keys=list(metadata),
        excluded_embed_metadata_keys=list(metadata),
    )
