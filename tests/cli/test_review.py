"""`alma review`: what a person should judge first, and the verdict that a person gives."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from alma import ALMA
from alma_cli.app import app
from alma_cli.exits import Exit

TASK = "Rebook a flight"
GOOD, BAD, NEW = ("look up", "rebook"), ("look up", "refund"), ("sing",)


def _ended(alma: ALMA, tools: tuple[str, ...], verdict: str = "unverified") -> str:
    with alma.episode("clerk", TASK) as episode:
        for tool in tools:
            episode.step(tool, ok=tool != "sing", error="no such tune" if tool == "sing" else None)
        episode.end(verdict)
    return episode.id


@pytest.fixture
def opened(project, folder: Path):
    """Opens the store of the project."""
    return lambda: ALMA.from_config(folder / ".alma" / "config.yaml")


@pytest.fixture
def judged(opened) -> dict[str, str]:
    """The episodes to judge, of an agent with sixteen judged ones, by what they are."""
    with opened() as alma:
        for _ in range(8):
            _ended(alma, GOOD, "success")
            _ended(alma, BAD, "failure")
        return {"foreseen": _ended(alma, BAD), "new": _ended(alma, NEW), "odd": _ended(alma, GOOD, "failure")}


def test_without_episodes_there_is_nothing_to_judge(project) -> None:
    assert project("review").out == "There is nothing to judge.\n"
    assert project("review", "--json").json["unjudged"] == []


def test_it_lists_the_unjudged_and_then_the_surprising_ones(project, judged: dict[str, str]) -> None:
    out = project("review").out
    places = [out.index(judged[name]) for name in ("new", "foreseen", "odd")]
    assert places == sorted(places)
    assert out.index("Not judged: 2") < out.index("Judged otherwise than forecast: 1")
    first, second, third = out[places[-1] :].splitlines()[:3]
    assert [mark in first for mark in ("%", "[", "]")] == [True] * 3
    assert (second.strip(), third.strip()[-16:]) == ("clerk: Rebook a flight", "2 steps, failure")


def test_the_lists_fit_on_a_narrow_terminal(project, judged: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = CliRunner().invoke(app, ["review"])
    assert [judged[name] in ended.stdout for name in judged] == [True] * 3
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_a_limit_is_said_with_how_many_there_are(project, judged: dict[str, str]) -> None:
    out = project("review", "--limit", "1", "--agent", "clerk").out
    assert "Not judged: 1 of 2" in out
    assert judged["foreseen"] not in out


def test_json_has_the_forecasts(project, judged: dict[str, str]) -> None:
    report = project("review", "--json").json
    assert [item["episode"]["id"] for item in report["unjudged"]] == [judged["new"], judged["foreseen"]]
    assert set(report["surprising"][0]["forecast"]) == {"rate", "lower", "upper", "judged"}


def test_an_episode_is_shown_with_its_steps_and_forecast(project, judged: dict[str, str]) -> None:
    out = project("review", judged["new"]).out
    assert [word in out for word in ("unverified", TASK, "sing", "failed: no such tune", "from 17 judged episodes")] == [True] * 5
    assert project("review", judged["new"], "--json").json["forecast"]["judged"] == 17


def test_a_verdict_settles_as_a_person_and_takes_it_off_the_list(project, judged: dict[str, str], opened) -> None:
    told = project("review", judged["new"], "--verdict", "failure", "--reason", "out of tune").out
    assert told == f"Judged failure: episode {judged['new']} of 'clerk'\n"
    with opened() as alma:
        record = alma.get_episode(judged["new"])
        assert (record.outcome, record.reason) == ("failure", "out of tune")
        assert alma.get(str(record.outcome_id)).verdict_source == "person"
    project("review", judged["odd"], "--verdict", "FAILURE")
    left = project("review", "--json").json
    assert ([item["episode"]["id"] for item in left["unjudged"]], left["surprising"]) == ([judged["foreseen"]], [])


def test_a_verdict_as_json_is_the_episode(project, judged: dict[str, str]) -> None:
    found = project("review", judged["new"], "--verdict", "partial", "--json").json
    assert (found["id"], found["outcome"], found["forecast"]) == (judged["new"], "partial", None)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--verdict", "success"), Exit.USAGE),
        (("e1", "--reason", "why"), Exit.USAGE),
        (("--limit", "0"), Exit.USAGE),
        (("e1",), Exit.REFUSED),
        (("e1", "--verdict", "success"), Exit.REFUSED),
        (("e1", "--verdict", "great"), Exit.USAGE),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused(project, arguments: tuple[str, ...], code: Exit) -> None:
    ended = project("review", *arguments, code=code)
    assert ended.err
    assert ended.out == ""


def test_a_person_judges_what_the_agent_said_of_itself(project, opened) -> None:
    with opened() as alma:
        with alma.episode("clerk", TASK) as episode:
            episode.abandon()
        alma.settle(episode.id, "success", source="agent")
    project("review", episode.id, "--verdict", "failure")
    with opened() as alma:
        (record,) = alma.recent_episodes()
    assert (record.outcome, record.verdict_source) == ("failure", "person")


def test_a_run_is_listed_and_judged_by_its_id(project, opened) -> None:
    with opened() as alma:
        for agent in ("triage", "billing"):
            with alma.episode(agent, TASK, run_id="run-7", thread_id="chat-1") as episode:
                episode.step("look up", ok=True)
    out = project("review", "--run", "run-7").out
    assert [word in out for word in ("triage", "billing", "run-7", "chat-1", "look up")] == [True] * 5
    assert project("review", "--run", "run-7", "--verdict", "failure", "--reason", "lost").out.count("Judged failure: ") == 2
    judged = project("review", "--run", "run-7", "--json").json["episodes"]
    assert {(one["outcome"], one["reason"], one["verdict_source"]) for one in judged} == {("failure", "lost", "person")}


def test_a_run_that_there_is_none_of_is_said_to_be_none(project) -> None:
    assert project("review", "--run", "run-7").out == "There is no episode of run run-7.\n"
    assert project("review", "--run", "run-7", "--json").json == {"run_id": "run-7", "episodes": []}
    assert "'run-7'" in project("review", "--run", "run-7", "--verdict", "success", code=Exit.REFUSED).err


@pytest.mark.parametrize(
    "arguments", [("e1", "--run", "r1"), ("--run", "r1", "--agent", "clerk"), ("--run", "r1", "--reason", "x")]
)
def test_options_that_do_not_go_together_with_a_run_are_refused(project, arguments: tuple[str, ...]) -> None:
    project("review", *arguments, code=Exit.USAGE)
