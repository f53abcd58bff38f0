"""A store in a folder of each test, and no learner left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher

from alma import ALMA
from alma_llamaindex.handler import LEARNERS, SpanHandler


def pytest_configure(config: pytest.Config) -> None:
    """LlamaIndex leaves the in-memory database of a chat to the garbage collector; aiosqlite minds from 0.22 on.

    It closes such a one in the loop that runs just then, which may be that of another test and over before the thread has closed it.
    """
    config.addinivalue_line("filterwarnings", "ignore:<aiosqlite:ResourceWarning")
    for message in (
        "unclosed event loop",
        "unclosed <socket",
    ):  # of the loop that a synchronous call of LlamaIndex makes and leaves
        config.addinivalue_line("filterwarnings", f"ignore:{message}:ResourceWarning")
    thread = r"Exception in thread Thread-\d+ \(_connection_worker_thread\)"
    config.addinivalue_line("filterwarnings", f"ignore:{thread}:pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    """An empty store. Closing it takes the learners off that tests install."""
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as opened:
        yield opened
    assert LEARNERS.known() == []
    assert not any(isinstance(handler, SpanHandler) for handler in get_dispatcher().span_handlers)


class Counting:
    """An ALMA whose retrievals are counted."""

    def __init__(self, alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str]] = []
        retrieve = alma.retrieve

        def counted(**given: Any) -> Any:
            self.asked.append((given["agent"], given["task"]))
            return retrieve(**given)

        monkeypatch.setattr(alma, "retrieve", counted)


@pytest.fixture
def retrievals(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """For whom and for what `alma` was asked, call by call."""
    return Counting(alma, monkeypatch).asked
