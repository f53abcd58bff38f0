"""Memories for query engines, tools and fusion: ALMA's ids, ALMA's order, and nothing shown but the note."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms.mock import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.core.tools import RetrieverTool
from pydantic import Field

from alma import ALMA, MemoryType
from alma.integration import Integration
from alma.types.prompt import note
from alma_llamaindex import ALMALearner, ALMAMemory, ALMARetriever, ALMAUsagePostprocessor
from alma_llamaindex.testing import ScriptedLLM
from llama_runs import TASK, agent_of, episodes, run

NUMBERS = ("score_breakdown", "confidence", "created_at", "shown_with")


@pytest.fixture
def taught(alma: ALMA) -> ALMA:
    alma.add_heuristic("dev", TASK, "roll out blue-green")
    alma.add_heuristic("dev", "Deploy the web shop", "roll out at night")
    alma.add_anti_pattern("dev", "Deploy the auth service by hand", "It was forgotten twice", "the pipeline")
    alma.learn("dev", TASK, "failure", "rolling update", error_message="502")
    alma.add_heuristic("ops", TASK, "ask the ops team")
    return alma


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.node_id for found in nodes]


def test_with_and_without_an_event_loop_it_gives_almas_memories_in_almas_order(taught: ALMA) -> None:
    retriever = ALMARetriever(taught, "dev")
    found = retriever.retrieve(TASK)
    assert ids(found) == ids(asyncio.run(retriever.aretrieve(TASK))) == taught.retrieve(TASK, "dev").ids
    scores = [node.score for node in found]
    assert scores == sorted(scores, reverse=True)
    assert len(found) == 4


def test_in_an_event_loop_it_does_not_hold_it_up(taught: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    retrieve = taught.retrieve

    def noted(**given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return retrieve(**given)

    monkeypatch.setattr(taught, "retrieve", noted)
    asyncio.run(ALMARetriever(taught, agent="dev").aretrieve(TASK))
    assert threads != ["MainThread"]


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_it_waits_for_what_an_earlier_run_taught(alma: ALMA, monkeypatch: pytest.MonkeyPatch, in_a_loop: bool) -> None:
    """The run is not judged before the retrieval waits for it."""
    is_awaited = threading.Event()
    catch_up = Integration.catch_up
    monkeypatch.setattr("alma_integration.kit.JUDGING_SECONDS", 10)
    monkeypatch.setattr(Integration, "catch_up", lambda self: (is_awaited.set(), catch_up(self))[1])
    with ALMALearner(alma, evaluator=lambda run: is_awaited.wait(10)):
        run(agent_of([[("ok", {})], "done"]), ALMAMemory.from_defaults(alma, agent="dev", inject="none"))
        retriever = ALMARetriever(alma, "dev", kinds=["outcome"])
        found = asyncio.run(retriever.aretrieve(TASK)) if in_a_loop else retriever.retrieve(TASK)
        assert len(found) == 1


def test_a_model_sees_the_note_alone(taught: ALMA) -> None:
    for found, memory in zip(ALMARetriever(taught, agent="dev").retrieve(TASK), taught.retrieve(TASK, "dev"), strict=True):
        said = found.node.get_content(MetadataMode.LLM)
        assert said == found.node.get_content(MetadataMode.EMBED) == note(memory, None)
        assert "just now" not in said
        assert set(NUMBERS) <= set(found.node.metadata)


def test_a_query_engine_names_the_memories_that_it_answered_from(taught: ALMA) -> None:
    engine = RetrieverQueryEngine.from_args(ALMARetriever(taught, agent="dev"), llm=MockLLM())
    response = asyncio.run(engine.aquery(TASK))
    assert ids(response.source_nodes) == taught.retrieve(TASK, "dev").ids


def test_a_retriever_tool_shows_the_lesson_and_no_numbers(taught: ALMA) -> None:
    tool = RetrieverTool.from_defaults(ALMARetriever(taught, agent="dev"))
    for output in (tool.call(TASK), asyncio.run(tool.acall(TASK))):
        assert "roll out blue-green" in output.content
        assert [name for name in NUMBERS if name in output.content] == []


def test_an_agent_that_asks_the_retriever_of_another_one_is_recorded(taught: ALMA) -> None:
    tool = RetrieverTool.from_defaults(ALMARetriever(taught, agent="dev"), name="look_up", description="Looks things up.")
    memory = ALMAMemory.from_defaults(taught, agent="web")
    run(agent_of([[("look_up", {"input": TASK})], "done [H1]"], name="web", tools=[tool]), memory)
    assert [(record.agent, record.shown) for record in episodes(taught)] == [("web", ())]


class Events(BaseEventHandler):
    seen: list[str] = Field(default_factory=list)

    def handle(self, event: Any, **given: Any) -> None:
        self.seen.append(event.class_name())


def test_the_events_of_a_retrieval_are_seen(taught: ALMA) -> None:
    handler = Events()
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    try:
        ALMARetriever(taught, agent="dev").retrieve(TASK)
        asyncio.run(ALMARetriever(taught, agent="dev").aretrieve(TASK))
    finally:
        dispatcher.event_handlers.remove(handler)
    assert handler.seen == ["RetrievalStartEvent", "RetrievalEndEvent"] * 2


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        ({"kinds": [MemoryType.ANTI_PATTERN]}, {"anti_pattern"}),
        ({"kinds": ["heuristic", "outcome"]}, {"heuristic", "outcome"}),
        ({"kinds": []}, set()),
        ({"agents": ["ops"]}, set()),
        ({"since": datetime.now(UTC) + timedelta(days=1)}, set()),
        ({"until": datetime.now(UTC) - timedelta(days=1)}, set()),
        ({"since": datetime.now(UTC) - timedelta(days=1)}, {"heuristic", "outcome", "anti_pattern"}),
        ({"min_score": 2.0}, set()),
    ],
)
def test_what_is_not_wanted_is_left_out(taught: ALMA, filters: dict[str, Any], kinds: set[str]) -> None:
    found = ALMARetriever(taught, agent="dev", **filters).retrieve(TASK)
    assert {node.node.metadata["memory_type"] for node in found} == kinds


def test_a_memory_of_the_very_moment_is_since_it_and_not_until_it(alma: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "roll out blue-green")
    for limits, found in (({"since": rule.seen_at}, [rule.id]), ({"until": rule.seen_at}, [])):
        assert ids(ALMARetriever(alma, agent="dev", **limits).retrieve(TASK)) == found


def test_what_another_agent_shares_says_so_and_can_be_asked_for_alone(tmp_path: Path) -> None:
    rules = {"dev": {"inherit_from": ["ops"]}}
    with ALMA.open(tmp_path / "s", project_id="shop", embedding_provider="hash", agents=rules) as alma:
        for number in range(3):
            alma.add_heuristic("dev", TASK, f"own way {number}")
        shared = alma.add_heuristic("ops", TASK, "ask the ops team")
        (found,) = ALMARetriever(alma, agent="dev", agents=["ops"], top_k=1).retrieve(TASK)
    assert found.node.node_id == shared.id
    assert (found.node.metadata["agent"], found.node.metadata["shared_from"]) == ("ops", "ops")


def test_at_most_so_many_of_each_kind_are_given(taught: ALMA) -> None:
    found = ALMARetriever(taught, agent="dev", top_k=1, agents=["dev"]).retrieve(TASK)
    assert sorted(node.node.metadata["memory_type"] for node in found) == ["anti_pattern", "heuristic", "outcome"]


def test_an_empty_question_has_an_empty_answer(taught: ALMA) -> None:
    assert ALMARetriever(taught, agent="dev").retrieve(" ") == []


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "simple"])
def test_fusion_folds_one_memory_found_by_several_questions(taught: ALMA, mode: Any) -> None:
    retriever = ALMARetriever(taught, agent="dev")
    fusion = QueryFusionRetriever(
        [retriever, ALMARetriever(taught, agent="dev", kinds=["heuristic"])],
        llm=ScriptedLLM(["Deploy auth\nDeploy the service", "Deploy auth\nDeploy the service"]),
        num_queries=3,
        mode=mode,
        use_async=False,
        similarity_top_k=20,
    )
    found = fusion.retrieve(TASK)
    assert set(ids(found)) == set(ids(retriever.retrieve(TASK)))
    if mode == "reciprocal_rerank":  # a place among the first five of one list gives at most 1/60
        assert found[0].score > 3 / 60


class KeepFirst(BaseNodePostprocessor):
    """A reranker that is content with the first."""

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
        return nodes[:1]


def usefulness(alma: ALMA) -> dict[str, float]:
    return {item.memory.id: item.factors.usefulness for item in alma.retrieve(TASK, "dev").recalled}


def test_what_a_reranker_keeps_is_used_and_what_it_drops_is_passed_over(taught: ALMA) -> None:
    best = taught.retrieve(TASK, "dev").recalled[0]
    counter = ALMAUsagePostprocessor(taught, agent="dev")
    engine = RetrieverQueryEngine.from_args(
        ALMARetriever(taught, agent="dev"), llm=MockLLM(), node_postprocessors=[KeepFirst(), counter]
    )
    asked = [asyncio.run(engine.aquery(TASK)), engine.query(TASK), engine.query(TASK)]
    assert [ids(response.source_nodes) for response in asked] == [[best.memory.id]] * 3
    after = usefulness(taught)
    assert after.pop(best.memory.id) > 1
    assert max(after.values()) < 1
    assert counter.errors == []


def test_a_count_that_cannot_be_written_costs_no_answer(taught: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*args: object, **given: object) -> None:
        raise OSError("locked")

    monkeypatch.setattr(taught, "record_usage", locked)
    counter = ALMAUsagePostprocessor(taught, agent="dev")
    found = ALMARetriever(taught, agent="dev").retrieve(TASK)
    assert counter.postprocess_nodes(found) == found
    assert [str(error) for error in counter.errors] == ["locked"]


def test_nodes_of_others_are_no_memories(taught: ALMA) -> None:
    counter = ALMAUsagePostprocessor(taught, agent="dev")
    foreign = [NodeWithScore(node=TextNode(text="a page"), score=1.0)]
    assert counter.postprocess_nodes(foreign) == foreign
    assert counter.errors == []


def test_answers_of_query_engines_are_learned_from_on_request(taught: ALMA) -> None:
    retriever = ALMARetriever(taught, agent="dev", kinds=["heuristic"], with_tags=True)
    llm = ScriptedLLM(["By [H1].", "Without.", "Not seen."])
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
    with ALMALearner(taught, query_engines=True, evaluator=lambda run: "By" in run.output) as learner:
        engine.query(TASK)
        asyncio.run(engine.aquery(TASK))
    with ALMALearner(taught):
        engine.query(TASK)
    first, second = episodes(taught)
    assert "[H1] Deploy the auth service: roll out blue-green" in llm.prompts[0][-1].content
    assert (first.agent, first.task, first.outcome) == ("dev", TASK, "success")
    assert first.used == (first.shown[0].memory_id,)
    assert (second.outcome, second.used) == ("failure", None)
    assert learner.errors == []


def test_a_query_engine_that_fails_is_a_failure(taught: ALMA) -> None:
    engine = RetrieverQueryEngine.from_args(ALMARetriever(taught, agent="dev"), llm=ScriptedLLM([RuntimeError("no tokens left")]))
    with ALMALearner(taught, query_engines=True), pytest.raises(RuntimeError, match="no tokens left"):
        engine.query(TASK)
    assert [(record.outcome, record.error) for record in episodes(taught)] == [("failure", "RuntimeError: no tokens left")]


def test_a_query_engine_without_alma_is_not_learned_from(taught: ALMA) -> None:
    class Empty(ALMARetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            return []

    with ALMALearner(taught, query_engines=True):
        RetrieverQueryEngine.from_args(Empty(taught, agent="dev"), llm=MockLLM()).query(TASK)
    assert episodes(taught) == []
