"""The tools of ALMA in the hands of an agent."""

from typing import Any

import pytest
from langchain.agents import create_agent

from alma import ALMA
from alma_langchain import ALMACallbackHandler, ALMAMiddleware, create_alma_tools
from scripted import TASK, call, invoke, runs, scripted, steps


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_searches_and_records_and_neither_is_a_step_of_its_work(alma: ALMA, is_async: bool) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    model = scripted(
        call("search_memory", query=TASK), call("record_outcome", task=TASK, outcome="success", strategy="canary"), "Done."
    )
    tools = create_alma_tools(alma, "dev")
    learning = create_agent(model, tools, middleware=[ALMAMiddleware(alma, agent="dev")])
    result = invoke(learning, is_async=is_async)
    assert "blue-green" in result["messages"][2].text
    assert result["messages"][4].text == "Recorded as success."
    assert [memory.strategy_used for memory in alma.list_memories("outcome") if memory.outcome == "success"] == ["canary"]
    invoke(create_agent(model, tools), is_async=is_async, config={"callbacks": [ALMACallbackHandler(alma, agent="dev")]})
    assert runs(alma) == [("dev", "unverified")] * 2
    assert steps(alma) == []


def test_a_search_knows_the_user_of_the_run_and_says_so_if_nothing_is_known(alma: ALMA) -> None:
    alma.add_user_preference("ann", "deploys", "never deploy on Fridays")
    search: Any = next(tool for tool in create_alma_tools(alma, "dev") if tool.name == "search_memory")
    asked = {"query": "When may I deploy?"}
    assert "Fridays" in search.invoke(asked, {"metadata": {"user_id": "ann"}})
    assert search.invoke(asked) == "Nothing is known about this yet."


def test_an_action_that_is_known_to_fail_is_told_before_it_is_taken(alma: ALMA) -> None:
    alma.add_anti_pattern("dev", "rolling update of the auth service", "half of the pods stay behind", "blue-green")
    check: Any = next(tool for tool in create_alma_tools(alma, "dev") if tool.name == "check_action")
    told = check.invoke({"action": "rolling update of the auth service"})
    assert "half of the pods stay behind" in told
    assert "blue-green" in told
    assert check.invoke({"action": "water the plants"}) == "nothing known speaks against it"
