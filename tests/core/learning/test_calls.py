"""Which calls are read in a text, and which of them are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.calls import READ_CHARS, Call, calls_in, is_same_call


def names(text: str) -> list[str]:
    return [".".join((*call.receiver, call.name)) for call in calls_in(text).calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time.sleep(5) until the page loads", ["time.sleep"]),
        (
            'Thread.sleep(1000); driver.findElement(By.id("ok")).click();',
            ["Thread.sleep", "driver.findElement", "By.id", "().click"],
        ),
        ("std::sort(v.begin(), v.end())", ["std.sort", "v.begin", "v.end"]),
        ("with open(path) as f: data = pickle.load(f)", ["open", "pickle.load"]),
        ("transfer_to_human_agents as the first step", ["transfer_to_human_agents"]),
        ("Wrap it for GraphQL and JavaScript", []),
        ("Wait for the page", []),
    ],
)
def test_calls_are_read_with_what_they_are_called_on(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Use an explicit wait instead of sleep()",
        "Remove the sleep() calls from the tests",
        "never call time.sleep(3)",
        "don't use sleep()",
        "Search the code for calls of sleep()",
        "# sleep(5)",
        "log('sleep(5)')",
        'print("sleep(5) was removed")',
    ],
)
def test_what_is_denied_taken_away_commented_or_quoted_is_not_called(text: str) -> None:
    assert not [name for name in names(text) if "sleep" in name]


def test_a_condition_does_not_deny_the_call_after_it() -> None:
    assert names("while not done: time.sleep(1)") == ["time.sleep"]


def test_arguments_that_are_given_by_name_and_quoted_ones_count_but_no_others() -> None:
    (call,) = calls_in('page.click("#menu", { force: true }, timeout, delay=5, retries=tries)').calls

    assert call.given == {("", "#menu"), ("force", "true"), ("delay", "5"), ("retries", "tries")}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "close_account", "arguments": {"customer": "C-1", "force": true}}',
        '{"tool_name": "close_account", "tool_input": {"customer": "C-1", "force": true}}',
        '{"function": {"name": "close_account", "arguments": "{\\"customer\\": \\"C-1\\", \\"force\\": true}"}}',
        '[{"tool": "close_account", "args": {"customer": "C-1", "force": true}}]',
        "close_account(customer='C-1', force=True)",
    ],
)
def test_a_tool_call_is_the_same_in_json_and_as_a_call(text: str) -> None:
    assert calls_in(text).calls == (Call("close_account", (), frozenset({("customer", "c-1"), ("force", "true")})),)


@pytest.mark.parametrize(
    "text", ["{", "[[[[", '{"name": 3}', '{"name": "x"}', '{"name": "x", "arguments": "{"}', "[]", "{}", '{"name": {}}']
)
def test_other_json_and_what_is_none_is_no_tool_call(text: str) -> None:
    assert calls_in(text).calls == ()


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ('cursor.execute("DELETE FROM users")', "DELETE FROM users"),
        ('subprocess.run("rm -rf build", shell=True)', "rm -rf build"),
        ('Bash(command="git push -f")', "git push -f"),
        ('{"name": "Bash", "input": {"command": "git push -f"}}', "git push -f"),
        ("First run `git push -f` to update it", "git push -f"),
    ],
)
def test_what_a_call_is_given_to_execute_is_an_instruction(text: str, instruction: str) -> None:
    assert calls_in(text).instructions == (instruction,)


@pytest.mark.parametrize("text", ["never run `git push -f`", "Explain what `git push -f` does", 'print("rm -rf build")'])
def test_what_is_only_spoken_of_is_no_instruction(text: str) -> None:
    assert calls_in(text).instructions == ()


@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        ("sleep()", "time.sleep(5)"),
        ("sleep()", "Thread.sleep(10)"),
        ("time.sleep()", "sleep(3)"),
        ("Array.sort()", "arr.sort()"),
        ("Task.Wait()", "task.Wait();"),
        ("element.innerHTML = text", "el.innerHTML = value"),
        ("df.iterrows()", "for i, row in orders.iterrows():"),
        ("page.waitForTimeout()", "page.wait_for_timeout(500)"),
        ("requests.get(verify=False)", 'requests.get("https://x", verify=False, timeout=3)'),
        ("Optional.get()", "find(id).get()"),
    ],
)
def test_other_arguments_and_another_name_of_the_same_thing_make_no_other_call(pattern: str, action: str) -> None:
    assert any(is_same_call(calls_in(pattern).calls[0], call) for call in calls_in(action).calls)


@pytest.mark.parametrize(
    ("pattern", "action"),
    [
        ("sleep()", "scheduler.sleep_mode()"),
        ("eval()", "model.eval()"),
        ("pickle.load()", "json.load(f)"),
        ("os.chdir()", "monkeypatch.chdir(tmp_path)"),
        ("requests.get()", "cache.get(url)"),
        ("document.write()", "file.write(text)"),
        ("System.exit()", "dialog.exit()"),
        ("requests.get(verify=False)", "requests.get(url, verify=True)"),
        ("requests.get(verify=False)", "requests.get(url)"),
        ('open(path, "w")', "open(path)"),
        ("driver.find_element(By.XPATH)", "find_element()"),
        ("Edit config.yaml", "Read config.yaml"),
    ],
)
def test_another_thing_or_another_argument_makes_another_call(pattern: str, action: str) -> None:
    named = [call for call in calls_in(pattern).calls if not call.is_value]

    assert not all(any(is_same_call(one, call) for call in calls_in(action).calls) for one in named)


@given(st.text(alphabet="a.(){}[]\"'`=:,\\ \n#_5-Z") | st.text())
def test_any_text_can_be_read(text: str) -> None:
    calls_in(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["(", "f(", "{[(", "'", '"\\', '"\\\\', "a.", "a_", "search ", "x=", "[{", '"a" ', "`a`", "not not "]
)
def test_reading_a_long_text_takes_no_longer_than_its_beginning_does(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    assert calls_in(text) == calls_in(text[:READ_CHARS])
