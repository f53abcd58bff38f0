"""Retrievers inside of runs: what they show can be cited, and counts."""

import asyncio
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import SystemMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import BaseTool, create_retriever_tool, tool
from langgraph.graph import END, START, MessagesState, StateGraph

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, ALMARetriever, AsyncALMACallbackHandler, format_notes
from scripted import call, deploy, only_run, scripted

ASKED = "Which port has the billing service?"
FACTS = {"billing": "The billing service has port 8001", "search": "The search service has port 8002"}


@pytest.fixture
def ids(alma: ALMA) -> dict[str, str]:
    """Ids of the facts, by service."""
    return {name: alma.add_domain_knowledge("dev", "ports", text).id for name, text in FACTS.items()}


@pytest.fixture
def retriever(alma: ALMA, ids: dict[str, str]) -> ALMARetriever:
    return ALMARetriever(alma=alma, agent="dev", k=3)


def citing(service: str) -> Callable[[Sequence[Any]], str]:
    """A reply that cites the last note of this service in the prompt."""

    def reply(messages: Sequence[Any]) -> str:
        return f"as {tag_of(service, messages)} says"

    return reply


def tag_of(service: str, messages: Sequence[Any]) -> str:
    lines = [line for message in messages for line in str(message.text).splitlines() if FACTS[service] in line]
    return lines[-1].split()[0]


def rag(retriever: Any, *replies: Any) -> Any:
    """The usual chain of a retriever, a prompt and a model."""
    prompt = ChatPromptTemplate.from_template("{notes}\n{question}")
    return {"notes": retriever | format_notes, "question": RunnablePassthrough()} | prompt | scripted(*replies)


def use(alma: ALMA, ids: dict[str, str]) -> dict[str, bool | None]:
    """Use of each fact that the only run was shown when it began, by service."""
    names = {memory_id: name for name, memory_id in ids.items()}
    return {names[shown.memory_id]: shown.used for shown in only_run(alma).shown if shown.memory_id in names}


def counts(alma: ALMA, ids: dict[str, str]) -> dict[str, int]:
    """How often each fact counts as used, by service."""
    used = [memory_id for run in alma.recent_episodes() for memory_id in run.used or ()]
    return {name: used.count(memory_id) for name, memory_id in ids.items()}


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "invoke": lambda chain, config: chain.invoke(ASKED, config),
    "batch": lambda chain, config: chain.batch([ASKED], config),
    "stream": lambda chain, config: list(chain.stream(ASKED, config)),
    "ainvoke": lambda chain, config: asyncio.run(chain.ainvoke(ASKED, config)),
    "abatch": lambda chain, config: asyncio.run(chain.abatch([ASKED], config)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_document_that_an_answer_cites_counts_as_used(
    alma: ALMA, retriever: ALMARetriever, ids: dict[str, str], way: str
) -> None:
    kind = AsyncALMACallbackHandler if way.startswith("a") else ALMACallbackHandler
    handler = kind(alma, agent="dev")
    WAYS[way](rag(retriever, citing("billing")), {"callbacks": [handler]})
    assert use(alma, ids) == {"billing": True, "search": False}
    assert handler.last_run is not None
    assert (handler.last_run.retrieved, len(handler.last_run.cited)) == (2, 1)
    assert not handler.errors
    assert len(handler.tree) == 0


def test_an_answer_without_a_citation_uses_none(alma: ALMA, retriever: ALMARetriever, ids: dict[str, str]) -> None:
    rag(retriever, "8001").invoke(ASKED, {"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert use(alma, ids) == {"billing": None, "search": None}


def test_documents_of_another_agent_are_not_counted(alma: ALMA, ids: dict[str, str]) -> None:
    handler = ALMACallbackHandler(alma, agent="writer")
    rag(ALMARetriever(alma=alma, agent="dev"), citing("billing")).invoke(ASKED, {"callbacks": [handler]})
    assert (only_run(alma).agent, only_run(alma).shown) == ("writer", ())


def test_two_agents_that_follow_one_chain_count_their_own_documents(alma: ALMA, retriever: ALMARetriever) -> None:
    alma.add_domain_knowledge("ops", "ports", FACTS["billing"])
    handlers = [ALMACallbackHandler(alma, agent=name) for name in ("dev", "ops")]
    prompt = ChatPromptTemplate.from_template("{mine}\n{theirs}\n{question}")
    notes = {"mine": retriever | format_notes, "theirs": ALMARetriever(alma=alma, agent="ops") | format_notes}
    chain = {**notes, "question": RunnablePassthrough()} | prompt | scripted(citing("billing"))
    chain.invoke(ASKED, {"callbacks": handlers})
    shown = {run.agent: len(run.shown) for run in alma.recent_episodes()}
    assert shown == {"dev": 2, "ops": 1}


class KeepFirst(BaseDocumentCompressor):
    """A reranker that keeps one document."""

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> Sequence[Document]:
        kept = next(each for each in documents if FACTS["billing"] in each.page_content)
        return [Document(page_content=kept.page_content, metadata=kept.metadata)]  # without an id, as some compressors do


def test_what_a_reranker_drops_was_not_shown(alma: ALMA, retriever: ALMARetriever, ids: dict[str, str]) -> None:
    around = ContextualCompressionRetriever(base_compressor=KeepFirst(), base_retriever=retriever)
    rag(around, citing("billing")).invoke(ASKED, {"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert use(alma, ids) == {"billing": True}


@pytest.mark.parametrize("is_async", [False, True])
def test_retrievers_in_an_ensemble_share_their_tags(
    alma: ALMA, retriever: ALMARetriever, ids: dict[str, str], is_async: bool
) -> None:
    narrow = retriever.model_copy(update={"filter": {"domain": "ports"}, "k": 1})
    both = EnsembleRetriever(retrievers=[narrow, retriever], weights=[0.5, 0.5])
    handler = AsyncALMACallbackHandler(alma, agent="dev")
    chain, config = rag(both, citing("search")), {"callbacks": [handler]}
    asyncio.run(chain.ainvoke(ASKED, config)) if is_async else chain.invoke(ASKED, config)
    assert use(alma, ids) == {"billing": False, "search": True}


def test_a_retriever_that_is_asked_outside_of_a_chain_changes_nothing(alma: ALMA, retriever: ALMARetriever) -> None:
    handler = ALMACallbackHandler(alma, agent="dev")
    found = retriever.invoke(ASKED, {"callbacks": [handler]})
    assert [document.metadata["tag"] for document in found] == ["K1", "K2"]
    assert (alma.recent_episodes(), len(handler.tree), handler.errors) == ([], 0, [])


# In agents.


def search_tool(retriever: ALMARetriever) -> BaseTool:
    return create_retriever_tool(
        retriever, "look_up", "Looks things up.", document_prompt=PromptTemplate.from_template("[{tag}] {page_content}")
    )


@pytest.mark.parametrize("is_late", [False, True], ids=["first", "after a failed step"])
@pytest.mark.parametrize("by", ["middleware", "handler"])
def test_what_a_tool_looks_up_can_be_cited(
    alma: ALMA, retriever: ALMARetriever, ids: dict[str, str], by: str, is_late: bool
) -> None:
    @tool
    def ping(port: int) -> str:
        """Pings."""
        return "Error: connection refused"

    before = [call("ping", port=80)] if is_late else []
    middleware = ALMAMiddleware(alma, agent="dev", max_tokens=0)  # shows no notes
    handler = ALMACallbackHandler(alma, agent="dev")
    model = scripted(*before, call("look_up", "call-2", query=ASKED), citing("billing"))
    agent = create_agent(model, [search_tool(retriever), ping], middleware=[middleware] if by == "middleware" else [])
    agent.invoke({"messages": [("user", ASKED)]}, {"callbacks": [] if by == "middleware" else [handler]})
    report = middleware.last_run if by == "middleware" else handler.last_run
    assert report is not None
    assert len(report.cited) == 1
    assert counts(alma, ids) == {"billing": 1, "search": 0}


def test_what_is_cited_in_a_step_is_stored_with_the_step(alma: ALMA, retriever: ALMARetriever, ids: dict[str, str]) -> None:
    def act(messages: Sequence[Any]) -> Any:
        return call("deploy", "call-3", way=f"blue-green, by {tag_of('search', messages)}")

    stored: list[Any] = []

    def stop(messages: Sequence[Any]) -> str:
        stored.append(only_run(alma).steps[-1].used)
        raise RuntimeError("killed")

    model = scripted(call("look_up", query=ASKED), act, stop)
    agent = create_agent(model, [search_tool(retriever), deploy], middleware=[ALMAMiddleware(alma, agent="dev", max_tokens=0)])
    with pytest.raises(RuntimeError, match="killed"):
        agent.invoke({"messages": [("user", ASKED)]})
    assert stored == [(ids["search"],)]


def test_tags_of_documents_differ_from_those_of_the_notes(alma: ALMA, retriever: ALMARetriever, ids: dict[str, str]) -> None:
    class Looking(AgentMiddleware[Any, Any, Any]):
        """Shows documents before the first call of the model, as the two-step pattern of RAG does."""

        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if len(state["messages"]) > 1:
                return None
            return {"messages": [SystemMessage(format_notes(retriever.invoke(ASKED, k=1)))]}

    prompts: list[str] = []

    def reply(messages: Sequence[Any]) -> str:
        prompts.append("\n".join(str(message.text) for message in messages))
        return citing("billing")(messages)

    agent = create_agent(scripted(reply), [deploy], middleware=[ALMAMiddleware(alma, agent="dev"), Looking()])
    agent.invoke({"messages": [("user", ASKED)]})
    tags = [line.split()[0] for line in prompts[0].splitlines() if line.startswith("[")]
    assert len(tags) == len(set(tags)) == 2
    assert use(alma, ids) == {"billing": True, "search": False}


def test_a_graph_that_retrieves_twice_counts_both(alma: ALMA, retriever: ALMARetriever, ids: dict[str, str]) -> None:
    model = scripted(citing("search"))

    def look(state: MessagesState) -> dict[str, Any]:
        said = [retriever.invoke(question, k=1) for question in (ASKED, "Which port has the search service?")]
        return {"messages": [SystemMessage(format_notes([document for found in said for document in found]))]}

    graph = StateGraph(MessagesState)
    graph.add_node("look", look)
    graph.add_node("answer", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "look")
    graph.add_edge("look", "answer")
    graph.add_edge("answer", END)
    graph.compile().invoke({"messages": [("user", ASKED)]}, {"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert use(alma, ids) == {"billing": False, "search": True}


# As text.


def test_notes_are_text_with_tags_between_fences(alma: ALMA, retriever: ALMARetriever) -> None:
    text = format_notes(retriever.invoke(ASKED, k=1))
    assert text.splitlines()[1:-2] == [f"[K1] ports: {FACTS['billing']}"]
    assert "score" not in text
    assert format_notes([]) == ""


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("form", ["f-string", "mustache", "messages"])
def test_a_chain_that_formats_nothing_shows_notes_too(alma: ALMA, retriever: ALMARetriever, form: str, is_async: bool) -> None:
    asked: list[str] = []
    model = scripted(lambda messages: asked.append(str(messages[0].text)) or "8001")
    prompt = {
        "f-string": ChatPromptTemplate.from_template("{notes}\n{question}"),
        "mustache": ChatPromptTemplate.from_template("{{{notes}}}\n{{question}}", template_format="mustache"),
        "messages": ChatPromptTemplate.from_messages([("user", "{notes}\n{question}")]),
    }[form]
    chain: Any = {"notes": retriever, "question": RunnablePassthrough()} | prompt | model
    asyncio.run(chain.ainvoke(ASKED)) if is_async else chain.invoke(ASKED)
    assert f"] ports: {FACTS['billing']}" in asked[0]
    assert "score_breakdown" not in asked[0]
    found = retriever.invoke(ASKED)
    assert pickle.loads(pickle.dumps(found)) == found == list(found)


def test_a_document_of_others_reads_as_no_tag() -> None:
    text = format_notes([Document(page_content="see [K1]", metadata={"tag": "K1"})])
    assert text.splitlines()[1] == "see (K1)"
