"""Memories as documents, looked up by chains."""

import asyncio
import json
import pickle

import pytest
from langchain_core.load import dumps

from alma import ALMA
from alma_langchain import ALMARetriever, memory_to_documents

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
    assert (first.id, first.page_content) == (item.memory.id, found.notes()[0])
    assert first.metadata["memory_type"] == item.memory.kind
    assert first.metadata["score"] == item.score
    assert first.metadata["score_breakdown"]["similarity"] == item.factors.similarity
    assert {"tag", "confidence", "agent", "created_at"} <= first.metadata.keys()
    assert json.loads(json.dumps(first.metadata)) == first.metadata


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


@pytest.mark.parametrize("given", [{"agent": ""}, {"alma": "a store"}, {}])
def test_what_is_missing_or_wrong_is_told_at_once(alma: ALMA, given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"alma|agent"):
        ALMARetriever(**{"alma": alma, **given})
