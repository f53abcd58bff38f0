"""`ALMAUsagePostprocessor`: which memories survived what stands between a retriever and a model."""

import asyncio
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, PrivateAttr

from alma import ALMA
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_name
from alma_llamaindex.nodes import SHOWN_WITH, MemoryNode


class ALMAUsagePostprocessor(BaseNodePostprocessor):
    """Counts the memories that reach it as used, and those that came with them and were dropped on the way as passed over.

    Put it last, behind a reranker: then its judgement is what moves the usefulness of memories. Without one everything would count as used,
    which teaches nothing. It changes no node; a failure to count is kept in `errors` and reaches nobody.
    """

    model_config = ConfigDict(extra="forbid")

    _alma: ALMA = PrivateAttr()
    _agent: str = PrivateAttr()
    _errors: list[Exception] = PrivateAttr(default_factory=list)

    def __init__(self, alma: ALMA, agent: str, **options: Any) -> None:
        super().__init__(**options)
        self._alma = checked_alma(alma)
        self._agent = checked_name(agent, "agent")

    @classmethod
    def class_name(cls) -> str:
        return "ALMAUsagePostprocessor"

    @property
    def errors(self) -> list[Exception]:
        """What could not be counted, and why."""
        return self._errors

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> list[NodeWithScore]:
        memories = [found.node for found in nodes if isinstance(found.node, MemoryNode)]
        if memories:
            self._count([memory.id_ for memory in memories], [id_ for memory in memories for id_ in memory.metadata[SHOWN_WITH]])
        return nodes

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._postprocess_nodes, nodes, query_bundle)

    def _count(self, survivors: list[str], shown: list[str]) -> None:
        try:
            self._alma.record_usage(list(dict.fromkeys([*shown, *survivors])), survivors, agent=self._agent)
        except Exception as error:  # noqa: BLE001 - an answer is worth more than a count
            self._errors.append(error)
