"""Options that cannot be used are told where they are given, not by the first run."""

from typing import Any

import pytest

from alma import ALMA, ConfigurationError
from alma_langchain import (
    ALMACallbackHandler,
    ALMAMemory,
    ALMAMiddleware,
    ALMARetriever,
    AsyncALMACallbackHandler,
    create_alma_tools,
)
from alma_langchain.settings import Settings

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
    ("action_from", "deploy"),
    ("outcome_from", True),
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
    assert all(getattr(Settings(**given), name) == value for name, value in given.items())


def test_tools_and_retrievers_say_so_as_well(alma: ALMA) -> None:
    for given in ({"top_k": 0}, {"user_id": ""}, {"tenant_id": 1.5}):
        with pytest.raises(Exception, match=next(iter(given))):
            create_alma_tools(alma, "dev", **given)
    with pytest.raises(ValueError, match="k is 0"):
        ALMARetriever(alma=alma, agent="dev", k=0)
