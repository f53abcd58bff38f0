"""ALMA as a retriever, for chains."""

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import Field, field_validator

from alma import ALMA
from alma.memory.arguments import checked_count, checked_name
from alma_langchain.documents import memory_to_documents
from alma_langchain.scope import Scope
from alma_langchain.settings import Identity, run_context


class ALMARetriever(BaseRetriever):
    """The best memories for a query, as documents: `ALMARetriever(alma=alma, agent="…", k=5)`.

    `memory_types` keeps to some kinds, `min_score` to a least score. `user_id` and `tenant_id` are as in `Settings`: by default what the run calls
    so, in the runtime's `context`, in `configurable` or in `metadata`.
    `invoke(query, k=3)` asks for another number. Errors of ALMA are raised, as a retriever's are.
    """

    alma: Any = Field(exclude=True, repr=False)
    agent: str
    k: int = 5
    memory_types: list[str] | None = None
    min_score: float | None = None
    user_id: Identity = Field(default=None, exclude=True, repr=False)
    tenant_id: Identity = Field(default=None, exclude=True, repr=False)
    include_shared: bool = True

    @field_validator("alma")
    @classmethod
    def _is_alma(cls, value: Any) -> ALMA:
        if not isinstance(value, ALMA):
            raise ValueError(f"alma must be an open ALMA, not {type(value).__name__}")
        return value

    @field_validator("agent")
    @classmethod
    def _is_name(cls, value: str) -> str:
        try:
            return checked_name(value, "agent")
        except Exception as error:
            raise ValueError(str(error)) from error

    @field_validator("k")
    @classmethod
    def _is_count(cls, value: int) -> int:
        return checked_count(value, "k")

    def __getstate__(self) -> dict[Any, Any]:
        raise TypeError("an ALMARetriever holds an open store and cannot be pickled; make it anew in the other process")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._found(query, run_manager.metadata, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, run_manager.metadata, k)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="alma", ls_vector_store_provider="alma")

    def _found(self, query: str, metadata: dict[str, Any], k: int | None) -> list[Document]:
        limit = checked_count(self.k if k is None else k, "k")
        context = run_context(metadata=metadata)
        scope = Scope(self.alma, user_id=self.user_id, tenant_id=self.tenant_id)
        found = scope.project(context).retrieve(
            query, self.agent, top_k=limit, user_id=scope.user(context), include_shared=self.include_shared
        )
        return [document for document in memory_to_documents(found) if self._is_wanted(document)][:limit]

    def _is_wanted(self, document: Document) -> bool:
        if self.memory_types is not None and document.metadata["memory_type"] not in self.memory_types:
            return False
        return self.min_score is None or document.metadata["score"] >= self.min_score
