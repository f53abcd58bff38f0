"""ALMA as a retriever, for chains."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from alma import ALMA, MemoryType
from alma.errors import ConfigurationError, ScopeViolationError
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count, checked_name
from alma_langchain.documents import memory_to_documents
from alma_langchain.options import check_identity, check_score
from alma_langchain.scope import Scope
from alma_langchain.settings import Identity, run_context

T = TypeVar("T")


class ALMARetriever(BaseRetriever):
    """The best memories for a query, as documents: `ALMARetriever(alma=alma, agent="…", k=5)`.

    `memory_types` keeps to some kinds, `min_score` to a least score; `include_shared=False` leaves out what other agents share. `user_id` and
    `tenant_id` are as in `Settings`: by default what the run calls so, in the runtime's `context`, in `configurable` or in `metadata`.
    `invoke(query, k=3)` asks for another number. Errors of ALMA are raised, as a retriever's are.
    """

    model_config = ConfigDict(extra="forbid")

    alma: Any = Field(exclude=True, repr=False)
    agent: str
    k: int = 5
    memory_types: list[str] | None = None
    min_score: float | None = None
    user_id: Identity = Field(default=None, exclude=True, repr=False)
    tenant_id: Identity = Field(default=None, exclude=True, repr=False)
    include_shared: bool = True

    if not TYPE_CHECKING:  # a type checker reads the fields

        def __init__(self, alma: Any = None, **given: Any) -> None:
            super().__init__(alma=alma, **given)

    @field_validator("alma")
    @classmethod
    def _is_alma(cls, value: Any) -> ALMA:
        return _checked(checked_alma, value)

    @field_validator("agent")
    @classmethod
    def _is_name(cls, value: str) -> str:
        return _checked(checked_name, value, "agent")

    @field_validator("k")
    @classmethod
    def _is_count(cls, value: int) -> int:
        return checked_count(value, "k")

    @field_validator("min_score")
    @classmethod
    def _is_score(cls, value: float | None) -> float | None:
        _checked(check_score, value)
        return value

    @field_validator("user_id", "tenant_id", mode="before")
    @classmethod
    def _is_identity(cls, value: Any, info: ValidationInfo) -> Any:
        _checked(check_identity, value, str(info.field_name))
        return value

    @field_validator("memory_types")
    @classmethod
    def _are_kinds(cls, value: list[str] | None, info: ValidationInfo) -> list[str] | None:
        known = {str(kind) for kind in MemoryType}
        if value is not None and not known.issuperset(value) and "alma" in info.data:
            known |= info.data["alma"].memory_types().keys()
            if unknown := [kind for kind in value if kind not in known]:
                raise ValueError(f"memory_types holds {unknown}; there are {', '.join(sorted(known))}")
        return value

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
            task=query, agent=self.agent, top_k=limit, user_id=scope.user(context), include_shared=self.include_shared
        )
        return [document for document in memory_to_documents(found) if self._is_wanted(document)][:limit]

    def _is_wanted(self, document: Document) -> bool:
        if self.memory_types is not None and document.metadata["memory_type"] not in self.memory_types:
            return False
        return self.min_score is None or document.metadata["score"] >= self.min_score


def _checked(check: Callable[..., T], *given: Any) -> T:
    """What a check gives, its error as pydantic takes it."""
    try:
        return check(*given)
    except (ConfigurationError, ScopeViolationError) as error:
        raise ValueError(str(error)) from error
