"""Memories as documents, looked up by chains."""

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.load import dumps

from alma import ALMA, CustomMemoryType, MemoryScope, MemoryType, ValidationError
from alma.types.prompt import note
from alma_langchain import ALMARetriever, memory_to_documents
from facade import ManualClock

QUERY = "deploy the auth service"


@pytest.fixture
def retriever(alma: ALMA) -> ALMARetriever:
    alma.add_heuristic("dev", "deploy the auth service", "blue-green")
    alma.add_domain_knowledge("dev", "deploys", "The auth service has two replicas.")
    alma.add_user_preference("ann", "deploys", "never deploy on Fridays")
    alma.add_heuristic("ops", "deploy the auth service", "by hand")
    return ALMARetriever(alma=alma, agent="dev")


def test_a_document_has_the_note_the_id_and_the_parts_of_the_score(alma: ALMA, retriever: ALMARetriever) -> None:
    found = alma.retrieve(QUERY, "dev")
    documents = memory_to_documents(found)
    assert [document.id for document in retriever.invoke(QUERY)] == [document.id for document in documents]
    first, item = documents[0], found.recalled[0]
    assert (first.id, first.page_content) == (item.memory.id, note(item.memory, None))
    assert first.metadata["memory_type"] == item.memory.kind
    assert first.metadata["score"] == item.score
    assert first.metadata["score_breakdown"]["similarity"] == item.factors.similarity
    assert {"tag", "confidence", "agent", "created_at", "fields", "metadata"} <= first.metadata.keys()
    assert json.loads(json.dumps(first.metadata)) == first.metadata


def test_ways_that_were_tried_are_documents_where_there_is_no_memory(alma: ALMA) -> None:
    newest = alma.learn("dev", QUERY, "success", "blue-green").id
    found = alma.retrieve(QUERY, "dev")
    assert [document.metadata["memory_type"] for document in memory_to_documents(found)] == ["outcome"]
    (document,) = memory_to_documents(found.model_copy(update={"recalled": ()}))
    assert (document.id, document.page_content) == (newest, "blue-green: worked 1 of 1")
    assert document.metadata["memory_type"] == "strategy"


@pytest.mark.parametrize("is_async", [False, True])
def test_kinds_scores_and_numbers_can_be_limited(retriever: ALMARetriever, is_async: bool) -> None:
    def ids(chosen: ALMARetriever, **given: int) -> list[str]:
        found = asyncio.run(chosen.ainvoke(QUERY, **given)) if is_async else chosen.invoke(QUERY, **given)
        return [document.metadata["memory_type"] for document in found]

    assert ids(retriever) == ["domain_knowledge", "heuristic"]
    assert ids(retriever, k=1) == ["domain_knowledge"]
    assert ids(retriever.model_copy(update={"memory_types": ["heuristic"]})) == ["heuristic"]
    assert ids(retriever.model_copy(update={"min_score": 1.0})) == []


def test_preferences_come_with_their_user(retriever: ALMARetriever) -> None:
    def kinds(**metadata: str) -> set[str]:
        return {document.metadata["memory_type"] for document in retriever.invoke(QUERY, {"metadata": metadata})}

    assert "user_preference" in kinds(user_id="ann")
    assert "user_preference" not in kinds() | kinds(user_id="bob")


def test_it_shows_nothing_of_its_store(retriever: ALMARetriever) -> None:
    for text in (repr(retriever), str(retriever), dumps(retriever), retriever.model_dump_json()):
        assert "ALMA project" not in text
        assert "/store" not in text
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(retriever)


WRONG: list[tuple[str, Any]] = [
    ("agent", ""),
    ("alma", "a store"),
    ("top_k", 3),
    ("k", 0),
    ("memory_types", ["heuristics"]),
    ("memory_types", "heuristic"),
    ("min_score", float("nan")),
    ("user_id", ""),
    ("tenant_id", ""),
    ("tenant_id", 1.5),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_wrong_is_told_at_once(alma: ALMA, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        ALMARetriever(**{"alma": alma, "agent": "dev", name: value})


@pytest.mark.parametrize("missing", ["alma", "agent"])
def test_what_is_missing_is_told_at_once(alma: ALMA, missing: str) -> None:
    with pytest.raises(ValueError, match=missing):
        ALMARetriever(**{name: value for name, value in (("alma", alma), ("agent", "dev")) if name != missing})


def test_it_takes_its_memory_first_as_the_other_classes_do(alma: ALMA, retriever: ALMARetriever) -> None:
    positional: Any = ALMARetriever
    assert [found.id for found in positional(alma, agent="dev").invoke(QUERY)] == [found.id for found in retriever.invoke(QUERY)]


def test_kinds_are_those_that_there_are(alma: ALMA) -> None:
    with pytest.raises(
        ValueError, match=r"memory_types holds 'runbook', which is no kind in project 'shop'; there are heuristic, "
    ):
        ALMARetriever(alma=alma, agent="dev", memory_types=["runbook"])
    alma.register_memory_type(CustomMemoryType("runbook", {"steps": str}, ["steps"]))
    chosen = [MemoryType.HEURISTIC, "runbook"]
    assert ALMARetriever(alma=alma, agent="dev", memory_types=chosen).memory_types == chosen


@pytest.mark.parametrize("include_shared", [True, False])
def test_what_others_share_may_be_left_out(tmp_path: Path, include_shared: bool) -> None:
    scopes = {"dev": MemoryScope(inherit_from=("ops",)), "ops": MemoryScope(share_with=("dev",))}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=scopes) as alma:
        alma.add_heuristic("ops", QUERY, "by hand")
        found = ALMARetriever(alma=alma, agent="dev", include_shared=include_shared).invoke(QUERY)
    assert [document.metadata["agent"] for document in found] == ["ops"] * include_shared


def test_tracing_is_told_what_sort_of_retriever_it_is(retriever: ALMARetriever) -> None:
    traced: dict[str, Any] = {}

    class Tracer(BaseCallbackHandler):
        def on_retriever_start(self, *given: Any, metadata: dict[str, Any], **told: Any) -> None:
            traced.update(metadata)

    retriever.invoke(QUERY, {"callbacks": [Tracer()]})
    assert {(name, traced[name]) for name in traced if name.startswith("ls_")} == {
        ("ls_retriever_name", "alma"),
        ("ls_vector_store_provider", "alma"),
    }


def test_what_a_document_says_does_not_change_with_the_clock(alma: ALMA, clock: ManualClock, retriever: ALMARetriever) -> None:
    before = [document.page_content for document in retriever.invoke(QUERY)]
    clock.advance(days=30)
    assert [document.page_content for document in retriever.invoke(QUERY)] == before


FILTERS: list[Any] = [{"origin": "wiki"}, {"domain": "pods"}, lambda document: "three" in document.page_content]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("wanted", FILTERS, ids=["learned with", "field", "function"])
def test_documents_can_be_filtered_by_what_a_memory_was_learned_with_and_by_its_fields(
    tmp_path: Path, wanted: Any, is_async: bool
) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for number in range(10):
            alma.add_domain_knowledge("dev", "nodes", f"The auth service runs on node {number}")
        right = alma.add_domain_knowledge("dev", "pods", "The auth service has three pods", metadata={"origin": "wiki"})
        made = ALMARetriever(alma=alma, agent="dev", k=1, filter=wanted)
        bare = ALMARetriever(alma=alma, agent="dev", k=1)
        asked = [made.invoke("auth service"), bare.invoke("auth service", filter=wanted)]
        if is_async:
            asked = [asyncio.run(made.ainvoke("auth service"))]
        assert [[document.id for document in found] for found in asked] == [[right.id]] * len(asked)


def test_a_filter_that_is_none_is_an_error(retriever: ALMARetriever) -> None:
    with pytest.raises(ValidationError, match="filter"):
        retriever.invoke(QUERY, filter="wiki")


def test_the_agent_may_be_what_the_run_calls_so(alma: ALMA, retriever: ALMARetriever) -> None:
    found = ALMARetriever(alma=alma, agent=lambda run: run.find("role"))
    ids = [document.id for document in retriever.invoke(QUERY)]
    assert [document.id for document in found.invoke(QUERY, {"metadata": {"role": "dev"}})] == ids
