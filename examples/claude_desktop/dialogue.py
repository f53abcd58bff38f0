"""A dialogue by MCP in which the self-model of a user grows, played by a scripted client: no model is asked."""

import asyncio
import tempfile
from typing import Any

from mcp.client import Client

from alma import ALMA
from alma.mcp import Access, create_server

CLAUDE, CURSOR = Access(agent="claude", user_id="me"), Access(agent="cursor", user_id="me")
STRANGER = Access(agent="claude", user_id="somebody else")

DIALOGUE: list[tuple[str, str, dict[str, Any]]] = [
    ("Hello.", "get_self_model", {}),
    ("I prefer concise replies.", "update_self_model", {"new_data": ["User prefers concise replies."]}),
    ("I live in Toronto, by the way.", "update_self_model", {"new_data": ["User lives in Toronto."]}),
    (
        "I am building a shop in Go; it should be live by Christmas.",
        "update_self_model",
        {
            "nodes": [
                {"type": "Project", "name": "shop", "facts": {"language": "Go"}},
                {"type": "Goal", "name": "live by Christmas"},
            ],
            "links": [
                {"source": "User", "relation": "works on", "target": "Project:shop"},
                {"source": "Project:shop", "relation": "serves", "target": "Goal:live by Christmas"},
            ],
        },
    ),
    (
        "We moved the shop to Rust.",
        "update_self_model",
        {"nodes": [{"type": "Project", "name": "shop", "facts": {"language": "Rust"}}]},
    ),
    ("Which language is the shop in again?", "query_memory", {"question": "Which language is the shop in?"}),
]


async def call(alma: ALMA, who: Access, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of a tool, called as a client that is bound to an agent and a user."""
    async with Client(create_server(alma, profile="self", access=who)) as client:
        answer = await client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content or {}


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="me") as alma:
        for said, tool, arguments in DIALOGUE:
            print(f"user: {said}")
            answer = await call(alma, CLAUDE, tool, arguments)
            print(f"  {tool}: {len(answer.get('nodes', answer.get('memories', [])))} found")
        print(answer["notes"])
        assert "shop: language Rust" in answer["notes"]

        seen = await call(alma, CURSOR, "get_self_model", {})
        links = {(one["source"], one["relation"], one["target"]) for one in seen["links"]}
        print("cursor knows:", *sorted(" ".join(link) for link in links), sep="\n  ")
        assert ("User:me", "prefers", "Preference:concise replies") in links
        assert ("User:me", "works on", "Project:shop") in links
        (shop,) = [node for node in seen["nodes"] if node["type"] == "Project"]
        assert shop["facts"]["language"]["former"] == ["Go"]

        task = {"task": "Answer a question"}
        assert "concise replies" in (await call(alma, CURSOR, "alma_retrieve", task))["notes"]
        assert (await call(alma, STRANGER, "get_self_model", {}))["nodes"] == []


asyncio.run(main())
