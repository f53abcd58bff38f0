"""Resources and prompts of the server."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from alma import ALMA
from alma_mcp import NONE, Access, create_server

pytestmark = pytest.mark.anyio


async def read(alma: ALMA, uri: str, access: Access | None = None) -> Any:
    async with Client(create_server(alma, access=access)) as client:
        return json.loads((await client.read_resource(uri)).contents[0].text)


async def prompt(alma: ALMA, name: str, access: Access | None = None, **arguments: str) -> str:
    async with Client(create_server(alma, access=access)) as client:
        return str((await client.get_prompt(name, arguments)).messages[0].content.text)


async def refused(alma: ALMA, access: Access | None, ask: Callable[[Client], Awaitable[object]]) -> str:
    async with Client(create_server(alma, access=access)) as client:
        with pytest.raises(MCPError) as refusal:
            await ask(client)
    return str(refusal.value)


async def test_the_resources_are_listed_with_what_they_are(alma: ALMA) -> None:
    async with Client(create_server(alma)) as client:
        fixed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
    assert [str(each.uri) for each in fixed] == ["alma://config", "alma://agents"]
    assert [each.uri_template for each in templates] == ["alma://memory/{memory_id}", "alma://wakeup/{agent}"]
    assert all(each.description and each.mime_type in {"application/json", "text/plain"} for each in [*fixed, *templates])


async def test_the_configuration_says_whom_a_client_acts_as(alma: ALMA) -> None:
    told = await read(alma, "alma://config", Access("helena", NONE))
    assert (told["project_id"], told["acts_as"]) == ("shop", "agent helena, no user")


async def test_the_agents_are_listed_with_rules_and_counts_and_no_users(alma: ALMA) -> None:
    alma.learn("helena", "Test", "success", "Slowly")
    alma.add_user_preference("maria", "reports", "Short")
    told = await read(alma, "alma://agents")
    assert set(told) == {"helena", "junior"}
    assert told["helena"]["memories"] == {"outcome": 1}
    assert told["junior"]["rules"]["cannot_learn"] == ["payments"]


async def test_a_client_for_one_user_is_told_of_no_memories_of_others(alma: ALMA) -> None:
    alma.learn("helena", "Test", "success", "Slowly")
    alma.learn("helena", "Test", "success", "Slowly", user_id="tom")
    alma.learn("of-tom", "Test", "success", "Slowly", user_id="tom")
    told = await read(alma, "alma://agents", Access("*", "maria"))
    assert (set(told), told["helena"]["memories"]) == ({"helena", "junior"}, {"outcome": 1})


async def test_a_memory_is_read_whole(alma: ALMA) -> None:
    memory = alma.learn("helena", "Test", "success", "Slowly")
    assert (await read(alma, f"alma://memory/{memory.id}"))["strategy_used"] == "Slowly"
    assert (await read(alma, f"alma://memory/{memory.id}", Access("helena")))["id"] == memory.id


FOREIGN = [
    ("outcome", Access("victor")),
    *(
        (kind, access)
        for kind in ("outcome", "preference")
        for access in (Access("*", "otto"), Access("*", NONE), Access("helena", "otto"))
    ),
]


@pytest.mark.parametrize(("kind", "access"), FOREIGN, ids=[f"{kind}, {access}" for kind, access in FOREIGN])
async def test_a_memory_of_somebody_else_is_not_found(alma: ALMA, kind: str, access: Access) -> None:
    learned = alma.learn("helena", "Test", "success", "Slowly", user_id="maria")
    memory = learned if kind == "outcome" else alma.add_user_preference("maria", "a", "b")
    assert memory.id in await refused(alma, access, lambda client: client.read_resource(f"alma://memory/{memory.id}"))


@pytest.mark.parametrize("uri", ["alma://memory/none", "alma://memory/..%2Fconfig", "alma://nothing"])
async def test_what_is_not_there_is_an_error(alma: ALMA, uri: str) -> None:
    assert await refused(alma, None, lambda client: client.read_resource(uri))


async def test_the_prompt_before_a_task_has_the_notes_for_it(alma: ALMA) -> None:
    alma.learn("helena", "Test the login form", "success", "Empty fields first")
    told = await prompt(alma, "before_task", task="Test the login form", agent="helena")
    assert "[S1] Empty fields first: worked 1 of 1" in told
    assert "alma_learn" in told


async def test_the_prompts_of_a_bound_client_need_no_agent(alma: ALMA) -> None:
    assert "'helena'" in await prompt(alma, "after_task", Access("helena"), task="Test the login form")
    assert "nothing" in (await prompt(alma, "before_task", Access("helena"), task="Test the login form")).casefold()


@pytest.mark.parametrize("name", ["before_task", "after_task"])
async def test_a_prompt_for_another_agent_is_refused(alma: ALMA, name: str) -> None:
    asked = {"task": "Test", "agent": "victor"}
    assert "cannot act as" in await refused(alma, Access("helena"), lambda client: client.get_prompt(name, asked))
