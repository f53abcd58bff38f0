"""The tools of ALMA in the hands of an agent."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from alma import ALMA, ConfigurationError, StorageError
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, create_alma_tools
from scripted import TASK, call, invoke, runs, scripted, steps


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_recalls_and_saves_and_neither_is_a_step_of_its_work(alma: ALMA, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    model = scripted(call("recall_memory", query=TASK), call("save_fact", topic="deploys", fact="canary first"), "Done.")
    tools = create_alma_tools(alma, agent="dev")
    learning = create_agent(model, tools, middleware=[ALMAMiddleware(alma, agent="dev")])
    result = invoke(learning, is_async=is_async)
    assert "blue-green" in result["messages"][2].text
    assert result["messages"][4].text == "Saved."
    assert [memory.fact for memory in alma.list_memories("domain_knowledge")] == ["canary first"]
    invoke(create_agent(model, tools), is_async=is_async, config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert runs(alma) == [("dev", "unverified")] * 2
    assert steps(alma) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_of_them_with_wrong_arguments_is_no_step_either(alma: ALMA, is_async: bool) -> None:
    tools = create_alma_tools(alma, agent="dev")
    script = (call("recall_memory", question=TASK), "Done.")
    learning = create_agent(scripted(*script), tools, middleware=[ALMAMiddleware(alma, agent="dev")])
    assert "query" in invoke(learning, is_async=is_async)["messages"][2].text
    invoke(
        create_agent(scripted(*script), tools), is_async=is_async, config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]}
    )
    assert runs(alma) == [("dev", "unverified")] * 2
    assert steps(alma) == []


def test_a_search_shows_no_tags_for_those_that_an_answer_cites_are_the_prompts(alma: ALMA) -> None:
    alma.add_heuristic("dev", TASK, "blue-green as in [H1]")
    learning = ALMAMiddleware(alma, agent="dev")
    agent = create_agent(
        scripted(call("recall_memory", query=TASK), "Done."), create_alma_tools(alma, agent="dev"), middleware=[learning]
    )
    found = invoke(agent, is_async=False)["messages"][2].text
    lines = found.splitlines()
    assert lines[1].startswith(f"- {TASK}: blue-green as in (H1) (")
    assert (lines[0][:3], lines[-1][:3]) == ("<<<", "<<<")
    assert alma.retrieve(TASK, "dev").cited(found) == []


def test_a_search_knows_the_user_of_the_run_and_says_so_if_nothing_is_known(alma: ALMA) -> None:
    alma.add_user_preference("ann", "deploys", "never deploy on Fridays")
    search: Any = next(tool for tool in create_alma_tools(alma, agent="dev") if tool.name == "recall_memory")
    asked = {"query": "When may I deploy?"}
    assert "Fridays" in search.invoke(asked, {"metadata": {"user_id": "ann"}})
    assert search.invoke(asked) == "Nothing is known about this yet."


def test_an_action_that_is_known_to_fail_is_told_before_it_is_taken(alma: ALMA) -> None:
    alma.add_anti_pattern("dev", "rolling update of the auth service", "half of the pods stay behind", "blue-green")
    check: Any = next(tool for tool in create_alma_tools(alma, agent="dev") if tool.name == "check_action")
    told = check.invoke({"action": "rolling update of the auth service"})
    assert "half of the pods stay behind" in told
    assert "blue-green" in told
    assert check.invoke({"action": "water the plants"}) == "no known warning matches it"


ASKED = [
    call("recall_memory", query=TASK),
    call("check_action", action=TASK),
    call("save_fact", topic="deploys", fact="canary first"),
]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.tool_calls[0]["name"])
def test_a_store_that_fails_is_told_to_the_agent_and_logged_unless_it_is_to_be_raised(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, asked: Any, is_async: bool
) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        tools, strict = create_alma_tools(alma, agent="dev"), create_alma_tools(alma, agent="dev", on_error="raise")
    with caplog.at_level(logging.WARNING, "alma"):
        result = invoke(create_agent(scripted(asked, "Done."), tools), is_async=is_async)
    assert [message.text for message in result["messages"][2:]] == ["The memory does not answer now; go on without it.", "Done."]
    name = asked.tool_calls[0]["name"]
    (told,) = caplog.messages
    assert re.fullmatch(rf"{name} gave no answer: StorageError: .* was closed; open ALMA again \(the agent goes on\)", told)
    with pytest.raises(StorageError, match="was closed"):
        invoke(create_agent(scripted(asked, "Done."), strict), is_async=is_async)


def test_what_an_agent_asks_wrongly_is_told_to_it(alma: ALMA) -> None:
    recall, *_ = create_alma_tools(alma, agent="dev")
    assert recall.invoke({"query": " "}).startswith("Refused: task")


def test_what_becomes_of_an_error_is_one_of_two(alma: ALMA) -> None:
    wrong: Any = "ignore"
    with pytest.raises(ConfigurationError, match="on_error is 'ignore'"):
        create_alma_tools(alma, agent="dev", on_error=wrong)


def test_the_tools_of_two_agents_have_names_of_their_own_by_a_prefix(alma: ALMA) -> None:
    alma.add_heuristic("ops", TASK, "by hand")
    tools = [*create_alma_tools(alma, agent="dev"), *create_alma_tools(alma, agent="ops", prefix="ops_")]
    agent = create_agent(scripted(call("ops_recall_memory", query=TASK), "Done."), tools)
    assert "by hand" in invoke(agent)["messages"][2].text
    assert len({tool.name for tool in tools}) == 10


def test_what_was_saved_is_shown_with_its_id_and_can_be_forgotten(alma: ALMA) -> None:
    recall, _, save, _, forget = create_alma_tools(alma, agent=lambda run: run.find("role"))
    asked: Any = {"metadata": {"role": "dev"}}
    save.invoke({"topic": "deploys", "fact": "The auth service has two replicas."}, asked)
    (known,) = re.findall(r"\(id ([^)]+)\)", recall.invoke({"query": "How many replicas has the auth service?"}, asked))
    assert forget.invoke({"memory_id": known}, asked) == "Forgotten."
    assert alma.list_memories() == []
