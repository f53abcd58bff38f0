"""Memories as LlamaIndex nodes."""

from hashlib import sha256
from typing import Any

from llama_index.core.schema import NodeWithScore, TextNode

from alma import MemorySlice
from alma.types.recalled import Recalled

SHOWN_WITH = "shown_with"
"""The key of a node's metadata that names all memories of the same retrieval."""


class MemoryNode(TextNode):
    """A memory. Its id is ALMA's, and two nodes of one memory are the same node, however they were asked for and scored."""

    @property
    def hash(self) -> str:
        """The same for the same memory: fusion retrievers fold by it."""
        return sha256(self.id_.encode()).hexdigest()

    @classmethod
    def class_name(cls) -> str:
        return "MemoryNode"


def nodes_of(memories: MemorySlice, kept: list[Recalled], *, with_tags: bool) -> list[NodeWithScore]:
    """The memories that were kept of a slice, as nodes. A model sees the note alone; the rest is metadata that it is not shown."""
    notes = dict(zip(memories.ids, memories.notes(), strict=True))
    ids = [item.memory.id for item in kept]
    return [NodeWithScore(node=_node(item, notes[item.memory.id], ids, with_tags), score=item.score) for item in kept]


def _node(item: Recalled, note: str, ids: list[str], with_tags: bool) -> MemoryNode:
    metadata = _metadata(item, ids)
    return MemoryNode(
        id_=item.memory.id,
        text=f"[{item.tag}] {note}" if with_tags else note,
        extra_info=metadata,  # its alias, which type checkers know
        excluded_llm_metadata_keys=list(metadata),
        excluded_embed_metadata_keys=list(metadata),
    )


def _metadata(item: Recalled, ids: list[str]) -> dict[str, Any]:
    memory = item.memory
    factors = item.factors.model_dump(include={"similarity", "recency", "success", "confidence", "usefulness"})
    shared = memory.metadata.get("shared_from")
    return {
        "kind": memory.kind,
        "agent": memory.agent,
        **({"shared_from": shared} if shared else {}),
        "tag": item.tag,
        "created_at": memory.created_at.isoformat(),
        **factors,
        SHOWN_WITH: ids,
    }
