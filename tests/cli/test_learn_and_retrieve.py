"""The loop of everyday: learn, then ask."""

import json
import re
from pathlib import Path

import pytest

LEARN = ("learn", "-a", "helena", "-t", "Test the login form", "-o", "success", "-s", "Empty fields first")


def test_what_is_learned_is_retrieved(project) -> None:
    learned = project(*LEARN, "--json").json
    found = project("retrieve", "Test the login form", "-a", "helena", "--json").json

    assert [item["memory"]["id"] for item in found["recalled"]] == [learned["id"]]
    assert found["recalled"][0]["memory"]["strategy_used"] == "Empty fields first"
    assert "[S1] Empty fields first: worked 1 of 1 (last just now)" in found["prompt"]


def test_every_option_of_learn_is_stored(project) -> None:
    learned = project(
        *("learn", "-a", "helena", "-t", "Deploy", "-o", "FAILURE", "-s", "kubectl apply", "--task-type", "deploying"),
        *("--duration-ms", "1500", "--error", "ImagePullBackOff", "--feedback", "too slow", "--json"),
    ).json

    assert (learned["outcome"], learned["task_type"], learned["duration_ms"]) == ("failure", "deploying", 1500)
    assert (learned["error_message"], learned["user_feedback"]) == ("ImagePullBackOff", "too slow")


def test_learn_takes_what_the_library_takes(project) -> None:
    event = ("learn", "-a", "helena", "-t", "Deploy", "-o", "failure", "--idempotency-key", "build-812", "--json")
    learned = project(
        *(*event, "--task-id", "D-7", "--difficulty", "hard", "--verdict-source", "tool", "--error-message", "ImagePullBackOff"),
        *("--metadata", '{"commit": "1d63600"}'),
    ).json

    kept = [learned[name] for name in ("task_id", "difficulty", "verdict_source", "error_message")]
    assert [*kept, learned["metadata"]["commit"]] == ["D-7", "hard", "tool", "ImagePullBackOff", "1d63600"]
    assert project(*event).json["id"] == learned["id"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("--metadata", "{commit"), ("--metadata", "[1]"), ("--verdict-source", "rumour")],
    ids=["no JSON", "no object", "source"],
)
def test_learn_refuses_what_the_library_refuses(project, option: str, value: str) -> None:
    refused = project(*LEARN, option, value, code=2).err
    assert option.removeprefix("--").replace("-", "_") in refused
    assert project("history").out == "Nothing was recorded yet.\n"


def test_learn_says_what_it_did(project) -> None:
    assert project(*LEARN).out.startswith("Learned success of 'helena': ")


def test_the_table_shows_score_and_factors(project) -> None:
    project(*LEARN)
    told = project("retrieve", "Test the login form", "-a", "helena").out

    assert all(word in told for word in ("tag", "score", "sim.", "rec.", "succ.", "conf.", "O1", "Empty fields first"))


def test_the_table_has_the_order_of_the_prompt(project) -> None:
    for service in ("mail", "search", "login"):
        project("learn", "-a", "helena", "-t", f"Deploy the {service} service", "-o", "success", "-s", "blue-green")
    project("learn", "-a", "helena", "-t", "Deploy the cart service", "-o", "failure", "-s", "all at once", "--error", "502")
    project("add", "domain_knowledge", "-a", "helena", "domain=deploying", "fact=Deploy each service behind the load balancer")
    asked = ("retrieve", "Deploy the billing service", "-a", "helena")

    prompt = re.findall(r"^\[(\w+)\]", project(*asked, "--prompt").out, re.MULTILINE)
    rows = re.findall(r"^ ([A-Z]\d+) ", project(*asked).out, re.MULTILINE)
    assert prompt[:2] == ["H1", "S1"]
    assert rows[: len(prompt)] == prompt
    assert {"O1", "K1"} <= set(rows)


def test_the_prompt_is_printed_alone(project) -> None:
    project(*LEARN)
    told = project("retrieve", "Test the login form", "-a", "helena", "--prompt").out
    whole = project("retrieve", "Test the login form", "-a", "helena", "--json").json["prompt"]

    assert told == f"{whole}\n"
    assert project("retrieve", "Test the login form", "-a", "helena", "--prompt", "--max-tokens", "1").out == "\n"


def test_a_stranger_gets_nothing_and_that_is_no_error(project) -> None:
    project(*LEARN)

    assert project("retrieve", "Test the login form", "-a", "stranger", "--json").json["recalled"] == []
    assert "Nothing is known about that yet" in project("retrieve", "Test the login form", "-a", "stranger").out


def test_a_misspelt_agent_brings_the_hint_once(project, caplog: pytest.LogCaptureFixture) -> None:
    project(*LEARN)
    assert "helena" in project("retrieve", "Test the login form", "-a", "helana").out
    assert not caplog.records
    project("retrieve", "Test the login form", "-a", "helana", "--prompt")
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("learn", "-a", "helena", "-t", "T", "-o", "maybe", "-s", "S"), 2, "maybe"),
        (("learn", "-a", "helena", "-t", "", "-o", "success", "-s", "S"), 2, "task"),
        (("learn", "-a", "helena", "-t", "\udcff", "-o", "success", "-s", "S"), 2, "task"),
        (("learn", "-a", "helena", "-t", "T", "-o", "success", "-s", "S", "--duration-ms", "-1"), 2, "duration_ms"),
        (("learn", "-a", "", "-t", "T", "-o", "success", "-s", "S"), 4, "agent"),
        (("retrieve", "T", "-a", "helena", "--top-k", "-1"), 2, "top_k"),
        (("retrieve", "", "-a", "helena"), 2, "task"),
    ],
)
def test_a_bad_value_is_told_and_nothing_is_stored(project, arguments: tuple[str, ...], code: int, told: str) -> None:
    ended = project(*arguments, code=code)

    assert told in ended.err
    assert ended.out == ""
    assert project("stats", "--json").json["total"] == 0


def test_what_an_agent_may_not_learn_is_refused(alma) -> None:
    alma("init", "-e", "hash", "-a", "helena")
    config = Path(".alma", "config.yaml")
    config.write_text(config.read_text().replace("# cannot_learn: [backend_logic]", "cannot_learn: [backend_logic]"))

    ended = alma("learn", "-a", "helena", "-t", "T", "-o", "success", "-s", "S", "--task-type", "backend_logic", code=4)

    assert "backend_logic" in ended.err
    assert alma("stats", "--json").json["total"] == 0


def test_stored_escape_codes_never_reach_the_terminal(project) -> None:
    project("learn", "-a", "helena", "-t", "Clear \x1b[2J the screen", "-o", "success", "-s", "[red]as it is[/red]")

    table = project("retrieve", "Clear the screen", "-a", "helena").out
    assert "\x1b" not in table
    assert "[red]as it is[/red]" in table
    assert "\x1b" not in project("retrieve", "Clear the screen", "-a", "helena", "--prompt").out


def test_a_folder_below_finds_the_project(project, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(*LEARN)
    below = folder / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert project("stats", "--json").json["total"] == 1


def test_a_named_configuration_wins(project, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(*LEARN)
    monkeypatch.chdir(tmp_path)

    assert project("stats", "-c", str(folder / ".alma" / "config.yaml"), "--json").json["total"] == 1
    project("stats", "--json", code=2)


def test_stats_count_by_owner_and_kind(project) -> None:
    project(*LEARN)
    project("learn", "-a", "victor", "-t", "Deploy", "-o", "failure", "-s", "by hand")

    counted = project("stats", "--json").json
    assert (counted["total"], counted["by_agent"]["victor"]) == (2, {"outcome": 1})
    told = project("stats").out
    assert "Project 'shop': 2 memories stored, 0 rules learned, 2 journal records" in told
    assert all(name in told for name in ("helena", "victor", "outcome"))
    assert project("stats", "-a", "victor", "--json").json["total"] == 1


def test_json_is_plain_ascii_so_that_every_terminal_takes_it(project) -> None:
    project("learn", "-a", "helena", "-t", "Größe 日本", "-o", "success", "-s", "S")
    told = project("retrieve", "Größe 日本", "-a", "helena", "--json").out

    assert told.isascii()
    assert json.loads(told)["recalled"][0]["memory"]["task_description"] == "Größe 日本"


def test_a_list_is_read_and_its_ids_are_copied_in_a_terminal_of_80_columns(project) -> None:
    learned = project(*LEARN, "--json").json
    lines = project("list", columns=80).out.splitlines()

    assert any("success: Test the login form" in line for line in lines)
    assert any(f"id {learned['id']}" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_list_says_whether_there_are_more(project) -> None:
    for number in range(3):
        project("learn", "-a", "helena", "-t", f"Deploy service {number}", "-o", "success")

    assert project("list", "-n", "2").out.splitlines()[-1] == "These are the newest 2; there are more, see --limit"
    assert "there are more" not in project("list", "-n", "3").out
    shown = project("list", "-n", "2", "--oldest-first", "--json").json
    assert (len(shown["memories"]), shown["has_more"]) == (2, True)
    assert project("list", "-n", "3", "--json").json["has_more"] is False


def test_a_list_by_words_has_what_contains_them(project) -> None:
    for task in ("Deploy the shop", "Deploy the blog", "Test the shop"):
        project("learn", "-a", "helena", "-t", task, "-o", "success")
    found = project("list", "--words", "shops deployed", "--json").json["memories"]
    assert [memory["task_description"] for memory in found] == ["Deploy the shop"]
    assert "no word" in project("list", "--words", "?!", code=2).err


def test_a_list_has_whole_days_in_a_terminal_of_80_columns(project) -> None:
    project(
        "learn", "-a", "claude-code-of-the-team", "-t", "Deploy the auth service to the cluster in the north", "-o", "success"
    )
    project(
        "add", "domain_knowledge", "-a", "helena", "domain=auth", "fact=Tokens last 24 hours, and are made anew by each login"
    )
    today = project("list", "--json").json["memories"][0]["created_at"][:10]
    lines = project("list", columns=80).out.splitlines()

    assert sum(today in line for line in lines) == 2
    assert max(map(len, lines)) <= 80


def test_stats_counts_what_is_stored_apart_from_what_is_learned(project) -> None:
    for service in ("mail", "search", "login"):
        project("learn", "-a", "helena", "-t", f"Deploy the {service} service", "-o", "success", "-s", "blue-green")

    assert "3 memories stored, 1 rule learned" in project("stats").out
    counted = project("stats", "--json").json
    assert (counted["total"], counted["learned_rules"]) == (4, 1)
    assert "3 memories" in project("verify").out
