"""A repair that reads as the call that failed: the next run is shown the arguments that differ, and no other value."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.integration import Integration, Options, call_with_arguments, call_with_choices, tool_use
from alma_integration.differences import describe_difference

TASK = "Bring the report up to date"


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as opened:
        yield opened


def prompt_after(alma: ALMA, *calls: tuple[str, Any, bool], judged: object = True, **options: Any) -> str:
    run = Integration(alma, agent="dev", options=Options(evaluator=lambda _: judged, **options)).run(TASK)
    for tool, arguments, ok in calls:
        use = tool_use(tool, arguments, task=TASK)
        run.tool_returned(use, "42 rows") if ok else run.tool_failed(use, "it was refused")
    run.end("done")
    return alma.retrieve(TASK, "dev").to_prompt()


CHANGES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"id": 4711, "dry": True}, {"id": 4712, "dry": True}, ["id=4712 instead of 4711"]),
    ({"path": "/srv/a/run.sh"}, {"path": "/srv/b/run.sh"}, ['path="/srv/b/run.sh" instead of "/srv/a/run.sh"']),
    ({"command": "pip install a b c d"}, {"command": "pip install --user a b c d"}, ["--user"]),
    ({"timeout": 1.5}, {"timeout": 30}, ["timeout=30 instead of 1.5"]),
    ({"body": {"a": 1, "to": ["x"]}}, {"body": {"to": ["x", "y"], "a": 1}}, ['["x", "y"]']),
    ({"url": "https://api.test/v1/users"}, {"url": "https://api.test/v2/users"}, ["v2/users", "v1/users"]),
    ({"code": "x = 1\n" * 300 + "print(y)"}, {"code": "x = 1\n" * 300 + "print(x)"}, ["print(x)", "print(y)"]),
    ({"query": "größte Städte im Süden 2024"}, {"query": "größte Städte im Süden 2025"}, ["2025", "2024"]),
    ({"day": None}, {"day": "2026-11-28"}, ['day="2026-11-28" instead of null']),
]


@pytest.mark.parametrize("judged", [True, None], ids=["judged", "unjudged"])
@pytest.mark.parametrize(("failed", "repair", "expected"), CHANGES, ids=lambda value: str(value)[:30])
def test_the_next_run_is_shown_what_differed(
    alma: ALMA, failed: dict[str, Any], repair: dict[str, Any], expected: list[str], judged: object
) -> None:
    prompt = prompt_after(alma, ("run", failed, False), ("run", repair, True), judged=judged)
    assert all(part in prompt for part in expected), prompt
    record = alma.recent_episodes(1)[0]
    assert {step.action for step in record.steps} == {record.strategy}, "the key of both is the same, without values"


def test_an_argument_that_was_added_or_left_out_is_named() -> None:
    assert describe_difference({"a": 1}, {"a": 1, "force": "yes"}, str) == 'with force="yes"'
    assert describe_difference({"a": 1, "b": "x"}, {"a": 1}, str) == "without b"


def test_of_several_failures_the_last_that_differs_is_compared(alma: ALMA) -> None:
    calls = [("ping", {"port": port}, port == 8123) for port in (80, 443, 8123)]
    assert "port=8123 instead of 443" in prompt_after(alma, *calls)


def test_a_call_that_only_worked_the_second_time_has_no_difference(alma: ALMA) -> None:
    assert "instead of" not in prompt_after(alma, ("ping", {"port": 80}, False), ("ping", {"port": 80}, True))


def test_a_later_call_that_repairs_nothing_has_no_difference(alma: ALMA) -> None:
    prompt_after(alma, *(("ping", {"port": port}, port != 80) for port in (80, 81, 99)))
    assert [step.feedback for step in alma.recent_episodes(1)[0].steps] == [None, "port=81 instead of 80", None]


def test_where_both_read_differently_nothing_is_added(alma: ALMA) -> None:
    assert "instead of" not in prompt_after(alma, ("go", {"way": "left"}, False), ("go", {"way": "right"}, True))


def test_of_tools_whose_values_are_private_none_is_stored(alma: ALMA) -> None:
    calls = (("find", {"name": "Ann Example"}, False), ("find", {"name": "Bob Example"}, True))
    for action in (call_with_choices, lambda use: use.name):
        assert "Example" not in prompt_after(alma, *calls, action=action)
        assert "Example" not in str(alma.recent_episodes(1))


SECRETS = [
    ({"password": "hunter2"}, {"password": "hunter3"}),
    ({"headers": {"Authorization": "Basic aaa"}}, {"headers": {"Authorization": "Basic bbb"}}),
    ({"url": "postgres://ann:hunter2@db/a_long_name_of_a_table"}, {"url": "postgres://ann:hunter2@db/b_long_name_of_a_table"}),
    ({"command": "login --password hunter2 --host a.test"}, {"command": "login --password hunter2 --host b.test"}),
    ({"code": "x\n" * 200 + "ghp_" + "hunter2A" * 5}, {"code": "x\n" * 200 + "y = 1; ghp_" + "hunter3A" * 5}),
]


@pytest.mark.parametrize(("failed", "repair"), SECRETS, ids=lambda value: next(iter(value)))
def test_no_secret_is_part_of_a_difference(alma: ALMA, failed: dict[str, Any], repair: dict[str, Any]) -> None:
    prompt = prompt_after(alma, ("run", {"n": 1, **failed}, False), ("run", {"n": 2, **repair}, True))
    assert "n=2 instead of 1" in prompt
    assert "hunter" not in prompt
    assert "hunter" not in str(alma.recent_episodes(1))


def test_the_users_own_redaction_comes_before_the_cut(alma: ALMA) -> None:
    def redact(text: str) -> str:
        return text.replace("Ann Example of Exampletown", "(a customer)")

    long = "notes " * 40
    calls = (
        ("mail", {"text": f"{long}1 Ann Example of Exampletown"}, False),
        ("mail", {"text": f"{long}2 Ann Example of Exampletown"}, True),
    )
    prompt = prompt_after(alma, *calls, redact=redact)
    assert "(a customer)" in prompt
    assert "Example" not in prompt


def test_values_that_differ_are_the_users_own(alma: ALMA) -> None:
    prompt_after(alma, ("ping", {"port": 80}, False), ("ping", {"port": 8123}, True), user_id="ann")
    assert "8123" in alma.retrieve(TASK, "dev", user_id="ann").to_prompt()
    assert "8123" not in alma.retrieve(TASK, "dev", user_id="bob").to_prompt()
    assert "8123" not in alma.retrieve(TASK, "dev").to_prompt()


@pytest.mark.parametrize("before", ["x\n", "y" * 186])
def test_a_secret_is_found_before_the_words_of_a_call_escape_or_cut_it(alma: ALMA, before: str) -> None:
    prompt_after(alma, ("run", {"code": f"{before} ghp_" + "hunter2A" * 5}, True), action=call_with_arguments)
    assert "hunter" not in str(alma.recent_episodes(1))


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=300), st.lists, max_leaves=4)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=3), st.dictionaries(st.text(max_size=8), VALUES, max_size=3))
def test_any_arguments_give_a_short_difference_or_none(failed: dict[str, Any], repair: dict[str, Any]) -> None:
    told = describe_difference(failed, repair, str)
    assert told is None or 0 < len(told) <= 400
    assert describe_difference(failed, failed, str) is None


@pytest.mark.parametrize("value", [object(), {1: "a", "b": 2}, float("nan"), {1, 2}])
def test_a_value_that_is_none_of_json_raises_nothing(value: object) -> None:
    assert describe_difference({"n": 1, "a": value}, {"n": 2, "a": value}, str) == "n=2 instead of 1"
