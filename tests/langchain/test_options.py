"""Options that cannot be used are told where they are given, not by the first run."""

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from alma import ALMA, AsyncALMA, ConfigurationError, StorageError
from alma.integration import Options
from alma_langchain import (
    ALMACallbackHandler,
    ALMAMemory,
    ALMAMiddleware,
    ALMARetriever,
    AsyncALMACallbackHandler,
    create_alma_tools,
)
from scripted import deploy, invoke, scripted

pytestmark = pytest.mark.any_version

WRONG: list[tuple[str, Any]] = [
    ("top_k", 0),
    ("top_k", "5"),
    ("max_tokens", -1),
    ("max_tokens", "x"),
    ("max_tokens", True),
    ("min_score", "x"),
    ("min_score", float("nan")),
    ("user_id", ""),
    ("tenant_id", 1.5),
    ("task_type", "two\nlines"),
    ("task_from", None),
    ("action", "deploy"),
    ("evaluator", True),
    ("redact", "hunter2"),
    ("on_error", "ignore"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
@pytest.mark.parametrize("made", [ALMAMiddleware, ALMACallbackHandler, AsyncALMACallbackHandler, ALMAMemory])
def test_an_option_that_cannot_be_used_is_told_at_once(alma: ALMA, made: Any, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        made(alma, agent="dev", **{name: value})


@pytest.mark.parametrize(
    "given", [{"max_tokens": 0}, {"min_score": 1}, {"user_id": 7, "tenant_id": lambda run: None}, {"task_type": None}]
)
def test_what_can_be_used_is_taken(given: dict[str, Any]) -> None:
    assert all(getattr(Options(**given), name) == value for name, value in given.items())


def test_tools_say_so_as_well(alma: ALMA) -> None:
    for given in ({"top_k": 0}, {"user_id": ""}, {"tenant_id": 1.5}):
        with pytest.raises(Exception, match=next(iter(given))):
            create_alma_tools(alma, agent="dev", **given)


@pytest.mark.parametrize(
    "made",
    [ALMAMiddleware, ALMACallbackHandler, AsyncALMACallbackHandler, ALMAMemory, ALMARetriever, create_alma_tools],
)
def test_what_is_no_open_memory_is_told_at_once(tmp_path: Path, made: Any) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        for wrong in (None, AsyncALMA(alma), ".alma"):
            with pytest.raises((ConfigurationError, ValueError), match=f"must be an open ALMA, not {type(wrong).__name__}"):
                made(wrong, agent="dev")
    with pytest.raises(StorageError, match="was closed"):
        made(alma, agent="dev")


def test_memory_in_the_place_of_middleware_says_what_belongs_there(alma: ALMA) -> None:
    for wrong in (ALMAMemory(alma, agent="dev"), ALMACallbackHandler(alma, agent="dev")):
        with pytest.raises(ConfigurationError, match=r"ALMAMiddleware|as_middleware\(\)"):
            create_agent(scripted("Done."), [deploy], middleware=[wrong])


@pytest.mark.parametrize("is_async", [False, True])
def test_memory_and_middleware_in_the_place_of_a_handler_say_what_belongs_there(alma: ALMA, is_async: bool) -> None:
    agent = create_agent(scripted("Done."), [deploy])
    for wrong, right in (
        (ALMAMemory(alma, agent="dev"), r"callback_handler\(\)"),
        (ALMAMiddleware(alma, agent="dev"), "ALMACallbackHandler"),
    ):
        with pytest.raises(AttributeError, match=right):
            invoke(agent, is_async=is_async, config={"callbacks": [wrong]})


def test_what_is_not_there_is_still_told_by_its_name(alma: ALMA) -> None:
    for made in (ALMAMiddleware, ALMACallbackHandler, AsyncALMACallbackHandler, ALMAMemory):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = made(alma, agent="dev").no_such_name
