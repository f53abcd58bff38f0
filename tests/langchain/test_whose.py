"""Whose memories a run reads and writes: of its tenant and its user, whatever of this package does it."""

from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool

from alma import ALMA
from alma_langchain import ALMAMemory, ALMAMiddleware, ALMARetriever, RunContext, create_alma_tools
from alma_langchain.recorder import Recorder
from scripted import QUESTION, TASK, call, invoke, scripted

pytestmark = pytest.mark.any_version


@dataclass
class Caller:
    user_id: Any
    tenant_id: str | None = None


def asked_by(caller: Caller, agent: Any, place: str, is_async: bool) -> Any:
    """Runs an agent for a caller who is told by the runtime's context, in `configurable` or in `metadata`."""
    told = {"user_id": caller.user_id, "tenant_id": caller.tenant_id}
    given = {"context": caller} if place == "context" else {"config": {place: told}}
    return invoke(agent, is_async=is_async, **given)


ACME = Caller("ann", "acme")
places = pytest.mark.parametrize("place", ["context", "configurable", "metadata"])
colours = pytest.mark.parametrize("is_async", [False, True])


@pytest.fixture
def acme(alma: ALMA) -> ALMA:
    """Two projects that know different things of one task."""
    alma.add_heuristic("dev", TASK, "what the base knows")
    alma.add_anti_pattern("dev", "rolling update", "what the base fears", "wait")
    tenants = alma.for_project("shop:acme")
    tenants.add_heuristic("dev", TASK, "what acme knows")
    tenants.add_anti_pattern("dev", "rolling update", "what acme fears", "wait")
    tenants.add_user_preference("ann", "deploys", "what ann of acme wants")
    return tenants


@places
@colours
def test_tools_work_in_the_project_of_the_tenant_and_for_the_user_of_the_run(
    alma: ALMA, acme: ALMA, place: str, is_async: bool
) -> None:
    replies = (
        call("recall_memory", "1", query=TASK),
        call("check_action", "2", action="rolling update"),
        call("save_fact", "3", topic="deploys", fact="canary first"),
        "Done.",
    )
    learning = ALMAMiddleware(alma, agent="dev")
    agent = create_agent(scripted(*replies), create_alma_tools(alma, agent="dev"), middleware=[learning], context_schema=Caller)
    said = [message.text for message in asked_by(ACME, agent, place, is_async)["messages"] if message.type == "tool"]
    assert "what acme knows" in said[0]
    assert "what ann of acme wants" in said[0]
    assert "what acme fears" in said[1]
    assert not any("base" in text for text in said)
    assert not alma.list_memories("domain_knowledge")
    assert [memory.fact for memory in acme.list_memories("domain_knowledge")] == ["canary first"]


@places
@colours
def test_a_retriever_in_a_tool_looks_in_the_project_of_the_tenant(alma: ALMA, acme: ALMA, place: str, is_async: bool) -> None:
    retriever = ALMARetriever(alma=alma, agent="dev")

    @tool
    def look() -> str:
        """Looks things up."""
        return str([document.page_content for document in retriever.invoke(TASK)])

    agent = create_agent(scripted(call("look"), "Done."), [look], context_schema=Caller)
    found = asked_by(ACME, agent, place, is_async)["messages"][2].text
    assert "what acme knows" in found
    assert "what ann of acme wants" in found
    assert "base" not in found


def test_a_retriever_made_of_a_memory_is_for_the_same_user_tenant_and_scores(alma: ALMA, acme: ALMA) -> None:
    memory = ALMAMemory(alma, agent="dev", user_id="ann", tenant_id=lambda run: "acme", min_score=0.01)
    retriever = memory.as_retriever()
    found = str([document.page_content for document in retriever.invoke(TASK)])
    assert "what acme knows" in found
    assert "what ann of acme wants" in found
    assert "base" not in found
    assert (retriever.min_score, memory.as_retriever(min_score=0.5).min_score) == (0.01, 0.5)


def test_no_tenant_can_name_the_project_of_another(alma: ALMA) -> None:
    recorder = Recorder(alma, agent="dev")
    names = ["a", "a:b", "a%3Ab", "a%253Ab"]
    projects = [recorder.scope.project(RunContext(metadata={"tenant_id": name})).project_id for name in names]
    assert projects == ["shop:a", "shop:a%3Ab", "shop:a%253Ab", "shop:a%25253Ab"]


def test_the_context_goes_before_configurable_and_that_before_metadata() -> None:
    places: dict[str, Any] = {"context": Caller("1"), "configurable": {"user_id": "2"}, "metadata": {"user_id": "3"}}
    assert RunContext(**places).find("user_id") == "1"
    assert RunContext(**{**places, "context": {"user_id": None}}).find("user_id") == "2"
    assert RunContext(metadata=places["metadata"]).find("user_id") == "3"
    assert RunContext(**places).find("tenant_id") is None


@pytest.mark.parametrize("told", [7, "7", lambda run: 7])
def test_a_user_whose_id_is_a_number_is_a_user(alma: ALMA, told: Any) -> None:
    alma.add_user_preference("7", "deploys", "what seven wants")
    options: dict[str, Any] = {"user_id": told} if callable(told) else {}
    learning = ALMAMiddleware(alma, agent="dev", **options)
    model = scripted("Done.")
    agent = create_agent(model, list[BaseTool](), middleware=[learning], context_schema=Caller)
    agent.invoke(QUESTION, context=Caller(None if options else told))
    assert "what seven wants" in str(model.prompts)
    assert [run.user_id for run in alma.recent_episodes()] == ["7"]
    assert not learning.errors
