"""Memories as LangChain's documents."""

from langchain_core.documents import Document

from alma import MemorySlice
from alma.types import Recalled


def memory_to_documents(memories: MemorySlice) -> list[Document]:
    """The memories of a slice, best first: the note that a prompt would have as content, ids, scores and their parts as metadata."""
    return [_document(item, note) for item, note in zip(memories.recalled, memories.notes(), strict=True)]


def _document(item: Recalled, note: str) -> Document:
    memory = item.memory
    factors = item.factors.model_dump(mode="json")
    return Document(
        id=memory.id,
        page_content=note,
        metadata={
            "memory_type": str(memory.kind),
            "tag": item.tag,
            "score": item.score,
            "score_breakdown": factors,
            "confidence": memory.confidence,
            "agent": memory.agent,
            "created_at": memory.created_at.isoformat(),
        },
    )
