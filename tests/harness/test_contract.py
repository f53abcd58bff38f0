"""Plain functions in a harness, decorated functions and chat loops pass the contract of all adapters.

What they leave out, because the form itself has no such thing:

- interrupts: a plain function, and a loop around an API, are not put aside while a person decides;
- in chat loops a guardrail: a message of the user after an answer begins a new run, whoever wrote it;
- in chat loops one verdict for a hand-off: each agent holds a conversation of its own, which is judged by itself.
"""

import pytest

from alma import ALMA
from alma.testing import IntegrationContract
from alma_testing.contracts.integration import Played, Scene
from chat_scenes import ChatContract, play_chats
from chat_server import plain_client
from harness_scenes import play_function, play_harness


class Harnesses(IntegrationContract):
    """An agent that is a function, in a harness."""

    has_interrupts = False
    kind = "plain"

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play_harness(alma, scene, kind=self.kind)


class TestHarness(Harnesses):
    """By `run`; in an event loop by `arun`."""


class TestHarnessOfACoroutineFunction(Harnesses):
    kind = "async"


class TestHarnessOfAGenerator(Harnesses):
    kind = "stream"


class TestHarnessOfAnAsynchronousGenerator(Harnesses):
    kind = "async stream"


class TestDecoratedFunctions(IntegrationContract):
    has_interrupts = False
    is_async = False

    def play(self, alma: ALMA, scene: Scene) -> Played:
        return play_function(alma, scene, is_async=self.is_async or scene.is_async)


class TestDecoratedCoroutineFunctions(TestDecoratedFunctions):
    is_async = True


class Chats(ChatContract):
    client = staticmethod(plain_client)


class TestOpenAIChats(Chats):
    pass


class TestOpenAIStreams(Chats):
    is_stream = True


class TestAwaitedOpenAIStreams(Chats):
    is_stream = is_async = True


class TestAnthropicChats(Chats):
    family = "anthropic"


class TestAwaitedAnthropicChats(Chats):
    family, is_async = "anthropic", True


class TestAnthropicStreams(Chats):
    family, is_stream = "anthropic", True


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("family", ["openai", "anthropic"])
def test_a_client_is_shown_no_notes_where_none_are_to_be_injected(alma: ALMA, family: str, stream: bool) -> None:
    """Checks that the scenes see what a model is sent."""
    alma.add_heuristic("worker", "Deploy the auth service", "blue-green")
    for inject, is_shown in (("message", True), ("none", False)):
        scene = Scene(["It is live."], options={"inject": inject})
        played = play_chats(
            alma, scene, family, lambda name, url: plain_client(name, url, is_async=False), is_async=False, is_stream=stream
        )
        assert ("blue-green" in played.prompts[0]) is is_shown
