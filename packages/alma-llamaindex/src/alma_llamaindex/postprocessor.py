"""`ALMAUsagePostprocessor`: counts the memories that pass from a retriever to a model."""

from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, PrivateAttr

from alma import ALMA
from alma_integration import Integration, checked_name
from alma_llamaindex.retriever import SHOWN_WITH, MemoryNode


class ALMAUsagePostprocessor(BaseNodePostprocessor):
    """Counts the memories that reach it as used, and those retrieved with them but dropped on the way as ignored.

    Put it last, behind a reranker, whose judgement then changes the usefulness of memories. Without one everything would count as used,
    which teaches nothing. It changes no node; a failure to count is kept in `errors` and not raised.
    """

    model_config = ConfigDict(extra="forbid")

    _integration: Integration = PrivateAttr()
    _agent: str = PrivateAttr()

    def __init__(self, alma: ALMA, agent: str, **options: Any) -> None:
        super().__init__(**options)
        self._integration, self._agent = Integration(alma), checked_name(agent, "agent")

    @classmethod
    def class_name(cls) -> str:
        return "ALMAUsagePostprocessor"

    @property
    def errors(self) -> list[Exception]:
        """Errors of counting, last ones only."""
        return list(self._integration.errors)

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> list[NodeWithScore]:
        survivors = {found.node.id_: found.node for found in nodes if isinstance(found.node, MemoryNode)}
        shown = dict.fromkeys(id_ for node in survivors.values() for id_ in (*node.metadata[SHOWN_WITH], node.id_))
        with self._integration.guard("the use of memories could not be counted"):
            if survivors:
                self._integration.alma.record_usage(list(shown), list(survivors), agent=self._agent)
        return nodes
