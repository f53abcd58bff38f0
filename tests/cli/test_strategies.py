"""`alma strategies`, `check`, `assess`, and rules as `list`, `show` and `retrieve` tell them."""

import json
import re
from itertools import count
from pathlib import Path

import pytest

from alma import ALMA
from alma.types.strategies import Range, StrategyRecord
from alma_cli import intervals
from alma_cli.exits import Exit
from alma_cli.intervals import DRAWN, PLAIN, picture
from alma_cli.records import records_table

TASK = "Deploy the auth service"
GOOD, BAD = "blue-green deployment", "rolling update"


@pytest.fixture
def tried(project, folder: Path):
    """A project in which one strategy worked on five tasks of six, and another failed on three of three. All tasks are in the same words."""
    tasks = map(str, count())
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        for strategy, outcome, times in ((GOOD, "success", 5), (GOOD, "failure", 1), (BAD, "failure", 3)):
            error = None if outcome == "success" else "ImagePullBackOff: manifest not found"
            for _ in range(times):
                alma.learn("victor", TASK, outcome, strategy, error_message=error, task_id=next(tasks))
    return project


def test_the_table_has_counts_rate_interval_picture_and_verdict(tried) -> None:
    lines = [" ".join(line.split()) for line in tried("strategies", "-a", "victor").out.splitlines()]
    (first,), (second,) = ([line for line in lines if line.startswith(way)] for way in (GOOD, BAD))

    assert re.fullmatch(rf"{GOOD} seems to work 5 of 6 83% \d+%–\d+% -+\[=*o=*\]-*", first)
    assert re.fullmatch(rf"{BAD} seems to fail 0 of 3 0% 0%–\d+% o=*\]-*", second)
    assert f"for {TASK}" in lines


def test_the_table_has_the_record_in_the_words_of_the_prompt(tried) -> None:
    out = " ".join(tried("strategies", "-a", "victor").out.split())

    assert "worked 5 of 6 times (6 tasks); a failure: " in out
    assert 'failed 3 of 3 times (3 tasks); error: "ImagePullBackOff: manifest not found"; instead: blue-green deployment' in out


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_the_table_is_read_on_a_narrow_terminal(tried, columns: int) -> None:
    out = tried("strategies", "-a", "victor", columns=columns).out

    assert [words in out for words in (GOOD.split()[1], "5 of 6", "83%", "rolling update")] == [True] * 4
    assert max(map(len, out.splitlines())) <= columns


def test_json_has_every_figure_and_no_picture(tried) -> None:
    told = tried("strategies", TASK, "-a", "victor", "--limit", "1", "--json").json

    (row,) = told["rows"]
    assert (row["strategy"], row["successes"], row["trials"], row["verdict"]) == (GOOD, 5, 6, "seems to work")
    assert set(row["interval"]) == {"lower", "upper"}
    assert "[=" not in json.dumps(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "As far as 'nobody' knows, no strategy was tried yet"),
        (("Write an invoice",), "no strategy was tried for a task like that yet"),
        (("--task-type", "billing"), "no strategy was tried for 'billing' tasks yet"),
    ],
)
def test_where_nothing_was_tried_it_says_so(tried, arguments: tuple[str, ...], told: str) -> None:
    assert told in tried("strategies", *arguments, "-a", "nobody").out


def test_outcomes_that_nobody_judged_are_told_as_such(project) -> None:
    project("learn", "-a", "victor", "-t", TASK, "-o", "unverified", "-s", GOOD)
    told = project("strategies", "-a", "victor").out

    assert "not judged" in told
    assert "tried 1 time, never judged" in told


def test_what_others_share_is_told_with_its_owner(tried, folder: Path) -> None:
    config = folder / ".alma" / "config.yaml"
    config.write_text(config.read_text() + "  agents: {victor: {share_with: [junior]}}\n")

    assert f"for {TASK} (of victor)" in tried("strategies", "-a", "junior").out
    assert "(of victor)" not in tried("strategies", "-a", "victor").out
    assert tried("check", BAD, "-a", "junior", code=6).out.endswith("instead: blue-green deployment (from victor)\n")


def test_steps_are_shown_when_asked_for(tried, folder: Path) -> None:
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma, alma.episode(agent="victor", task=TASK) as episode:
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.fail(strategy=BAD)

    assert "kubectl apply" not in tried("strategies", "-a", "victor").out
    assert "kubectl apply" in tried("strategies", "-a", "victor", "--steps").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("strategies", "-a", "victor", "--limit", "0"),
        ("check", "", "-a", "victor"),
        ("assess", "-a", "victor", "--context", ""),
        ("assess", GOOD, "-a", "victor"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_is_wrong_usage(project, arguments: tuple[str, ...]) -> None:
    ended = project(*arguments, code=2)

    assert ended.err
    assert ended.out == ""


def test_an_action_that_is_known_to_fail_is_warned_of_and_has_its_exit_code(tried) -> None:
    ended = tried("check", "do a rolling update", "-a", "victor", code=Exit.WARNED)

    error = "ImagePullBackOff: manifest not found"
    assert ended.out == f'Warning: {BAD}: failed 3 of 3 times (3 tasks); error: "{error}"; instead: {GOOD}\n'
    assert tried("check", "do a rolling update", "-a", "victor", "--json", code=6).json["is_clear"] is False


def test_an_action_that_nothing_speaks_against_is_clear(tried) -> None:
    assert tried("check", "Write the invoice", "-a", "victor").out == "No known warning matches it\n"
    assert tried("check", "Write the invoice", "-a", "victor", "--json").json == {
        "is_clear": True,
        "agent": "victor",
        "action": "Write the invoice",
        "warnings": [],
        "elsewhere": [],
        "hint": None,
    }


def test_what_fails_on_other_tasks_is_shown_and_is_no_warning(tried) -> None:
    told = tried("check", BAD, "-a", "victor", "--task", "Paint the fence").out

    assert told.startswith(
        f"No known warning for such a task\non other tasks: {BAD}: failed 3 of 3 times on another kind of task (3 tasks); error: "
    )


def test_a_strategy_is_assessed_with_its_interval_and_what_it_rests_on(tried) -> None:
    told = tried("assess", GOOD, "--context", TASK, "-a", "victor").out

    assert told.startswith("Seems to work: worked 5 of 6 times (6 tasks); a failure: ")
    assert told.splitlines()[1].startswith("0 ---")
    assert "It rests on" in told
    assert tried("assess", GOOD, "-t", TASK, "-a", "victor", "--json").json["recommendation"] == "use it, and watch"


def test_what_nobody_tried_is_unknown(tried) -> None:
    told = tried("assess", "hot fix in production", "--context", TASK, "-a", "victor")

    assert told.out == "Unknown: nothing like it was tried\n"
    assert tried("assess", "hot fix in production", "-t", TASK, "-a", "victor", "--json").json["is_known"] is False


def test_rules_are_listed_and_retrieved_with_their_record(tried) -> None:
    for command in (("list",), ("retrieve", TASK, "-a", "victor")):
        told = tried(*command).out
        assert "worked 5 of 6 times (6 tasks)" in told
        assert "failed 3 of 3 times (3 tasks); error: " in told


def test_a_rule_is_shown_with_its_record_and_what_it_says_of_itself(tried) -> None:
    (rule,) = tried("list", "--kind", "anti_pattern", "--json").json["memories"]
    told = tried("show", rule["id"]).out

    assert "failed 3 of 3 times (3 tasks); error: " in told
    assert "status: likely" in told


@pytest.mark.parametrize(
    ("share", "lower", "upper", "drawn"),
    [
        (0.5, 0.2, 0.8, "──┤██●██├──"),
        (1.0, 0.6, 1.0, "──────┤███●"),
        (0.0, 0.0, 1.0, "●█████████├"),
        (0.5, 0.5, 0.5, "─────●─────"),
    ],
)
def test_an_interval_is_drawn_on_its_scale(share: float, lower: float, upper: float, drawn: str) -> None:
    assert picture(share, Range(lower=lower, upper=upper), DRAWN, width=11) == drawn


class Terminal:
    def __init__(self, encoding: str, *, is_terminal: bool) -> None:
        self.encoding, self.is_terminal = encoding, is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("encoding", "is_terminal", "expected"),
    [("utf-8", True, DRAWN), ("UTF-8", True, DRAWN), ("ascii", True, PLAIN), ("utf-8", False, PLAIN)],
)
def test_pictures_are_plain_where_nothing_else_can_be_shown(
    monkeypatch: pytest.MonkeyPatch, encoding: str, is_terminal: bool, expected: intervals.Marks
) -> None:
    monkeypatch.setattr("sys.stdout", Terminal(encoding, is_terminal=is_terminal))
    assert intervals.marks() == expected


def test_what_was_learned_of_a_type_is_asked_for_by_the_type(project) -> None:
    for service in ("auth", "billing", "search"):
        project("learn", "-a", "victor", "-t", f"Deploy {service}", "--task-type", "deployment", "-o", "success", "-s", GOOD)
    typed = ("-a", "victor", "--task-type", "deployment", "--json")

    rules = [one for one in project("retrieve", "Move the mail", *typed).json["recalled"] if one["memory"]["kind"] == "heuristic"]
    assert [one["memory"]["strategy"] for one in rules] == [GOOD]
    assert project("explain", "Move the mail", rules[0]["memory"]["id"], *typed).json["selected"]
    assert not project("explain", "Move the mail", rules[0]["memory"]["id"], "-a", "victor", "--json").json["selected"]
    assert project("assess", GOOD, "--context", "Move the mail", *typed).json["trials"] == 3
    elsewhere = project("assess", GOOD, "--context", "Move the mail", "-a", "victor").out
    assert elsewhere.startswith("Seems to work: worked 3 of 3 times on another kind of task (3 tasks); ")


def test_the_table_says_which_row_is_of_steps(tried) -> None:
    row = StrategyRecord.model_validate(tried("strategies", "-a", "victor", "--json").json["rows"][0])

    attempt, step = (list(records_table([each]).columns[0].cells) for each in (row, row.model_copy(update={"is_of_steps": True})))

    assert [f"as a step for {TASK}" in str(cell) for (cell,) in (attempt, step)] == [False, True]
