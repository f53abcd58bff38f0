"""Tool calls in words: what is told is what the agent chose, not what the task or the run brought along."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.integration import call_with_arguments, call_with_choices, choices_of, named_call, tool_use

WAYS = {"properties": {"way": {"enum": ["rolling", "blue-green", "42"]}, "level": {"anyOf": [{"const": 3}, {"type": "null"}]}}}


def named(arguments: object, task: str = "Deploy the auth service", **given: Any) -> str:
    return named_call(tool_use("deploy", arguments, task=task, **given))


def test_a_short_choice_is_told_and_what_the_task_names_is_not() -> None:
    assert named({"service": "auth", "way": "rolling"}) == 'deploy(service, way="rolling")'


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-22",
        "17",
        17,
        3.5,
        "/srv/app/run.sh",
        "9f8e7d6c5b4a",
        "ann@corp.com",
        "https://example.com",
        "a b c d",
        "x" * 41,
        "",
        None,
        ["a"],
        "two\nlines",
    ],
    ids=repr,
)
def test_what_varies_from_task_to_task_is_left_out(value: object) -> None:
    assert named({"given": value}) == "deploy(given)"


@pytest.mark.parametrize("value", ["eu-west-1", "gpt-4o", "python3.11", "blue-green", "utf8"])
def test_a_name_with_a_short_number_is_a_choice(value: str) -> None:
    assert named({"given": value}) == f'deploy(given="{value}")'


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"properties": {"a": {"anyOf": [True]}}},
        {"properties": {"a": {"enum": None}}},
        {"properties": ["a"]},
        {"properties": {"a": {"$ref": "x"}}, "$defs": None},
    ],
    ids=str,
)
def test_a_schema_that_is_none_lists_no_choices(schema: Any) -> None:
    assert named({"a": "x"}, schema=schema) == 'deploy(a="x")'


def test_flags_and_what_the_schema_lists_are_always_told() -> None:
    assert named({"force": True, "way": "42", "level": 3}, schema=WAYS) == 'deploy(force=true, level=3, way="42")'


def test_the_order_in_which_a_model_writes_arguments_does_not_matter() -> None:
    assert named({"b": "x", "a": "y"}) == named({"a": "y", "b": "x"})


def test_arguments_may_be_the_text_that_the_model_wrote() -> None:
    assert named('{"way": "rolling"}') == 'deploy(way="rolling")'
    assert named("rolling") == 'deploy(input="rolling")'
    assert named(None) == "deploy"


@pytest.mark.parametrize("text", ["{broken", '{"password": "hunter2"', ' [1, "hunter2'])
def test_nothing_is_named_of_json_that_cannot_be_read(text: str) -> None:
    """A secret in it has no name by which it could be masked."""
    assert call_with_arguments(tool_use("deploy", text)) == named(text) == "deploy"


def test_secrets_are_shown_nowhere() -> None:
    use = tool_use("login", {"user": "ann", "password": "hunter2", "options": {"api_key": "sk-1"}})
    for words in (named_call(use), call_with_choices(use), call_with_arguments(use)):
        assert "hunter2" not in words
        assert "sk-1" not in words


@pytest.mark.parametrize("name", ["password", "db_passwd", "token", "accessToken", "X-API-Key", "apikey", "key", "credentials"])
def test_a_value_that_is_named_like_a_secret_is_masked_inside_of_others_too(name: str) -> None:
    use = tool_use("login", {"calls": [{"with": [{name: {"a": "hunter2"}}]}]})
    assert call_with_arguments(use) == f'login(calls=[{{"with": [{{"{name}": "***"}}]}}])'


def test_a_value_whose_name_only_sounds_like_a_secret_is_shown() -> None:
    use = tool_use("ask", {"max_tokens": 500, "monkey": "Anna", "keyboard": True, "author": None})
    assert call_with_arguments(use) == 'ask(author=null, keyboard=true, max_tokens=500, monkey="Anna")'


def test_the_choices_of_a_tool_are_those_that_its_schema_lists() -> None:
    schema = {
        "properties": {
            "way": {"$ref": "#/$defs/Way"},
            "note": {"type": "string"},
            "other": {"anyOf": [{"const": 1}, {"type": "string"}]},
        },
        "$defs": {"Way": {"enum": ["a", "b"]}},
    }
    assert choices_of(schema) == {"way": ["a", "b"]}
    assert choices_of({"properties": None}) == {}


def test_other_ways_of_telling_tell_less_and_more() -> None:
    use = tool_use("deploy", {"way": "rolling", "note": "a long note of many words"}, schema=WAYS)
    assert call_with_choices(use) == 'deploy(note, way="rolling")'
    assert call_with_arguments(use) == 'deploy(note="a long note of many words", way="rolling")'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.slow
@given(JSON)
def test_any_arguments_give_a_name(arguments: Any) -> None:
    assert named(arguments).startswith("deploy")
