"""Memories as LangChain's documents, and a retriever of them for chains."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, SkipValidation, model_validator

from alma.errors import ConfigurationError, ScopeViolationError, ValidationError
from alma.types.prompt import REQUEST, note
from alma.types.recalled import Recalled
from alma.types.slice import MemorySlice
from alma.types.tags import parts_of
from alma_integration import (
    Identity,
    Integration,
    Options,
    check_identity,
    checked_count,
    checked_kinds,
    defused,
    document_metadata,
    documented,
    fenced,
    way_metadata,
)
from alma_langchain.recorder import run_context


class ALMARetriever(BaseRetriever):
    """The best memories for a query, as documents: `ALMARetriever(alma=alma, agent="…", k=5)`.

    `memory_types` restricts the kinds, `min_score` the score; `include_shared=False` leaves out what other agents share. `filter` is a
    mapping of metadata, of fields or of a memory's own metadata, that documents must match, or a function of the document. `agent`,
    `user_id` and `tenant_id` are names or functions of the `RunContext`; users and tenants are by default the run's own values of these
    names. With a filter, the best `10 * k` of each kind are examined. `invoke(query, k=3, filter=…)` overrides the settings. Errors of
    ALMA are raised, as a retriever's are.

    In a run of the same agent that this package follows, a document whose `tag` the model cites counts as used; tags differ from those of
    the run's notes.
    """

    model_config = ConfigDict(extra="forbid")

    alma: Any = Field(exclude=True, repr=False)
    agent: SkipValidation[Identity]
    k: int = 5
    memory_types: list[str] | None = None
    min_score: float | None = None
    filter: dict[str, Any] | Callable[[Document], bool] | None = Field(default=None, exclude=True, repr=False)
    user_id: SkipValidation[Identity] = Field(default=None, exclude=True, repr=False)
    tenant_id: SkipValidation[Identity] = Field(default=None, exclude=True, repr=False)
    include_shared: bool = True

    if not TYPE_CHECKING:  # a type checker reads the fields

        def __init__(self, alma: Any = None, **given: Any) -> None:
            super().__init__(alma=alma, **given)

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        try:
            checked_count(self.k, "k")
            check_identity(self.agent, "agent", is_optional=False)
            self._integration()
            checked_kinds(self.memory_types or (), "memory_types", self.alma)
        except (ConfigurationError, ScopeViolationError, ValidationError) as error:  # pydantic expects a ValueError
            raise ValueError(str(error)) from error
        return self

    def __getstate__(self) -> dict[Any, Any]:
        raise TypeError("an ALMARetriever holds an open store and cannot be pickled; make it anew in the other process")

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any) -> list[Document]:
        return self._found(query, run_manager, **given)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, run_manager, **given)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="alma", ls_vector_store_provider="alma")

    def _found(self, query: str, manager: Any, k: int | None = None, filter: Any = None) -> list[Document]:  # noqa: A002 - LangChain's name
        limit, asked = checked_count(self.k if k is None else k, "k"), self.filter if filter is None else filter
        integration, context = self._integration(), run_context(metadata=manager.metadata)
        found = integration.retrieve(
            query,
            integration.agent_of(context),
            context,
            top_k=limit,
            include_shared=self.include_shared,
            kinds=self.memory_types,
            wanted=None if asked is None else lambda item: _matches(_document(item), asked),
        )
        for handler in manager.handlers:
            if hasattr(handler, "tag_found"):  # a handler of this package, which need not be loaded
                found = handler.tag_found(self.alma, manager.run_id, found)
        return FoundDocuments(memory_to_documents(found)[:limit])

    def _integration(self) -> Integration:
        options = Options(user_id=self.user_id, tenant_id=self.tenant_id, min_score=self.min_score)
        return Integration(self.alma, agent=self.agent, options=options)


class FoundDocuments(list[Document]):
    """Documents that a prompt template shows as notes, where a chain passes them on without `format_notes`."""

    def __str__(self) -> str:
        return format_notes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def memory_to_documents(memories: MemorySlice) -> list[Document]:
    """Returns the memories of a slice, best first: the note without ages as content, so that it stays the same over time. Where there is none, the
    ways that were tried on such tasks.

    The metadata is that of `alma.integration.document_metadata`: score, confidence, the memory's own fields and metadata.
    """
    shown = documented(memories)
    ways = (
        Document(id=way.id, page_content=way.line(None, parts_of(way.tag or "")[0]), metadata=way_metadata(way))
        for way in shown.strategies
    )
    return [*map(_document, shown.recalled), *ways]


def format_notes(documents: Iterable[Document]) -> str:
    """Returns documents as text for a prompt, each with its tag, so that an answer can cite it: `retriever | format_notes`.

    The notes are fenced as data, not instructions; "" if there are none. Documents that are no memories have no tag.
    """
    lines = [_line(document) for document in documents]
    return fenced([*lines, REQUEST]) if lines else ""


def _line(document: Document) -> str:
    tag = document.metadata.get("tag") if "memory_type" in document.metadata else None
    return f"[{tag}] {document.page_content}" if tag else defused(document.page_content)


def _document(item: Recalled) -> Document:
    return Document(
        id=item.memory.id, page_content=note(item.memory, None, parts_of(item.tag)[0]), metadata=document_metadata(item)
    )


def _matches(document: Document, wanted: Any) -> bool:
    if callable(wanted):
        return bool(wanted(document))
    if not isinstance(wanted, Mapping):
        raise ValidationError("filter must be a mapping of metadata or a function of the document")
    known = {**document.metadata["metadata"], **document.metadata["fields"], **document.metadata}
    return all(name in known and known[name] == value for name, value in wanted.items())
