"""Wrong options are errors when they are given."""

import inspect
import math
from typing import Any

import pytest

from alma import ALMA
from alma.errors import ConfigurationError
from alma.integration import Options, Toolkit, check_identity, taken
from alma_integration.options import ToolkitArguments


@pytest.mark.parametrize(
    "given",
    [
        {"top_k": 0},
        {"top_k": True},
        {"max_tokens": -1},
        {"max_tokens": "many"},
        {"min_score": math.nan},
        {"min_score": "high"},
        {"user_id": ""},
        {"user_id": 1.5},
        {"tenant_id": ["a"]},
        {"task_type": ""},
        {"evaluator": "success"},
        {"usage": 1},
        {"strategy": None},
        {"action": None},
        {"tool_outcome": None},
        {"redact": "x"},
        {"on_run": []},
        {"on_error": "ignore"},
        {"lock_timeout": -1},
        {"lock_timeout": math.inf},
        {"lock_timeout": True},
        {"inject": "user"},
        {"strip_tags": "yes"},
        {"strip_tags": 1},
    ],
    ids=str,
)
def test_an_option_that_cannot_be_used_is_an_error_that_names_it(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(given))):
        Options(**given)


def test_options_are_taken_out_of_other_arguments() -> None:
    given = {"top_k": 3, "name": "x"}
    assert Options.taken(given).top_k == 3
    assert given == {"name": "x"}


def test_options_and_further_names_are_taken_as_they_are_given() -> None:
    given = {"top_k": 3, "name": "x", "task_from": str}
    assert taken(given, "task_from") == {"top_k": 3, "task_from": str}
    assert given == {"name": "x"}


def test_an_identity_that_is_not_optional_has_to_be_given() -> None:
    check_identity(None, "agent")
    check_identity("dev", "agent", is_optional=False)
    with pytest.raises(ConfigurationError, match="agent"):
        check_identity(None, "agent", is_optional=False)


def test_a_toolkit_takes_the_arguments_that_adapters_hand_on(alma: ALMA) -> None:
    given: ToolkitArguments = {"agent": "dev", "top_k": 1, "prefix": "team_", "redact": str.lower, "on_error": "raise"}
    assert Toolkit(alma, **given).tools()[0].name == "team_recall_memory"
    assert ToolkitArguments.__annotations__.keys() < inspect.signature(Toolkit).parameters.keys()
