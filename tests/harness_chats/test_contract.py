"""Chat loops with the vendors' own clients pass the contract of all adapters, over HTTP on loopback."""

from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from alma import ALMA
from alma.harness import remembered_client
from chat_scenes import ChatContract
from chat_server import chat_server


def client_of(family: str, url: str, *, is_async: bool) -> Any:
    """A client of the vendor's library."""
    made: Any
    if family == "openai":
        made = openai.AsyncOpenAI if is_async else openai.OpenAI
        return made(api_key="none", base_url=f"{url}/v1", max_retries=0)
    made = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
    return made(api_key="none", base_url=url, max_retries=0)


class Chats(ChatContract):
    client = staticmethod(client_of)


class TestOpenAI(Chats):
    pass


class TestAwaitedOpenAIStreams(Chats):
    is_async = is_stream = True


class TestAnthropicStreams(Chats):
    family, is_stream = "anthropic", True


class TestAwaitedAnthropic(Chats):
    family, is_async = "anthropic", True


@pytest.mark.parametrize("family", ["openai", "anthropic"])
def test_a_stream_that_is_left_early_in_a_with_block_ends_its_run_without_a_verdict(tmp_path: Path, family: str) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma, chat_server(["It is live."]) as server:
        client = client_of(family, server.url, is_async=False)
        chat = remembered_client(alma, client, "dev", evaluator=lambda run: True)
        create = chat.chat.completions.create if family == "openai" else chat.messages.create
        alma.add_heuristic("dev", "Deploy the auth service", "blue-green")
        with create(
            model="m", max_tokens=9, stream=True, messages=[{"role": "user", "content": "Deploy the auth service"}]
        ) as stream:
            next(iter(stream))
        assert stream.response.is_closed
        assert [episode.outcome for episode in alma.recent_episodes()] == [None]
