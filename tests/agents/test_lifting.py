"""Whether notes help: the difference with its interval, per host and per rule. A placebo shows none."""

import json
import random
from pathlib import Path

from typer.testing import CliRunner

from alma import ALMA
from alma_agents import index, spool
from alma_agents.hook import answered, is_held_out
from alma_agents.learning import learn_spools
from alma_agents.lifting import lift_of
from alma_cli.app import app

NAMES = [f"mod_{number}" for number in range(12)]


def folder_of(project: Path) -> str:
    return str(project / ".alma" / "agents")


def run(project: Path, session: str, name: str, *, repaired: bool) -> bool:
    """Runs a session through the hook and returns whether a fix was shown."""
    shared = {"session_id": session, "cwd": str(project), "tool_name": "Bash"}
    error = f"Exit code 1\nModuleNotFoundError: No module named '{name}'"
    failed = {
        **shared,
        "hook_event_name": "PostToolUseFailure",
        "tool_use_id": "1",
        "tool_input": {"command": "pytest"},
        "error": error,
    }
    said = answered(failed, "claude-code")
    steps = ((f"pip install {name}", "2"), ("pytest", "3")) if repaired else ()
    for command, call in steps:
        ran = {**shared, "hook_event_name": "PostToolUse", "tool_use_id": call, "tool_input": {"command": command}}
        answered({**ran, "tool_response": {"stdout": "ok"}}, "claude-code")
    spool.append(folder_of(project), session, {"over": True})
    return bool(said)


def teach(project: Path) -> None:
    for name in NAMES:
        run(project, f"teach-{name}", name, repaired=True)
    learn_spools(folder_of(project))
    Path(folder_of(project), "settings.json").write_text('{"holdout": 0.5}')


def shuffle_index(project: Path) -> None:
    """Gives each error the fix of another: what is shown is a placebo."""
    content = index.load(folder_of(project))
    fixes = content["fixes"]
    texts = [(fix["strategy"], fix["text"]) for fix in fixes]
    for fix, (strategy, text) in zip(fixes, texts[1:] + texts[:1], strict=True):
        fix["strategy"], fix["text"] = strategy, text
    index.save(folder_of(project), {name: content[name] for name in ("fixes", "briefings", "warnings")})


def trial(project: Path, *, helps: float, sessions: int = 120) -> dict[str, object]:
    """Runs sessions in which a fix raises the chance of a repair from .4 by `helps`, and returns the lift."""
    chance = random.Random(7)
    for number in range(sessions):
        session = f"trial-{number}"
        is_shown = not is_held_out(session, 0.5)
        repaired = chance.random() < 0.4 + helps * is_shown
        assert run(project, session, chance.choice(NAMES), repaired=repaired) == is_shown
    learn_spools(folder_of(project))
    with ALMA.from_config(project / ".alma" / "config.yaml") as alma:
        return lift_of(alma)


def test_a_shuffled_index_lifts_nothing(project: Path) -> None:
    teach(project)
    shuffle_index(project)
    found = trial(project, helps=0.0)

    assert found["lower"] < 0 < found["upper"]
    assert found["sessions with notes"] + found["sessions held out"] == 120


def test_fixes_that_help_lift(project: Path) -> None:
    teach(project)
    found = trial(project, helps=0.5)

    assert found["lower"] > 0
    assert set(found["hosts"]) == {"claude-code"}
    assert len(found["rules"]) == len(NAMES)
    assert all(rule["what"].startswith("run pip install mod_") for rule in found["rules"].values())


def learned(alma: ALMA, host: str, number: int, *, held: bool, repaired: bool, share: float = 0.5, rule: str = "x") -> None:
    facts = {"session": f"{host}-{number}", "shown": [{"fix": rule, "held": held, "probability": 1.0 - share}]}
    ended = "success" if repaired else "unverified"
    alma.learn(agent=host, task=f"{host} {number}", outcome=ended, strategy_used="w", metadata={"coding": facts})


def test_hosts_and_rules_are_told_apart(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        for number in range(40):
            learned(alma, "codex", number, held=number % 2 == 0, repaired=number % 2 == 1, rule="good")
            learned(alma, "gemini", number, held=number % 2 == 0, repaired=number % 4 < 2, rule="useless")
        found = lift_of(alma)

    assert found["hosts"]["codex"]["lift"] == 1.0
    assert found["hosts"]["codex"]["lower"] > 0.7
    assert found["hosts"]["gemini"]["lower"] < 0 < found["hosts"]["gemini"]["upper"]
    assert found["rules"]["good"]["lift"] == 1.0
    assert found["rules"]["useless"]["lift"] == 0.0
    assert json.loads(json.dumps(found)) == found


def test_each_note_is_named_by_what_it_says(project: Path) -> None:
    for number in range(2):
        for command in ("npm run e2e", "npm run docs"):
            failed = {"session_id": f"s{number}", "cwd": str(project), "tool_name": "Bash", "tool_use_id": command}
            error = f'Exit code 1\nnpm error Missing script: "{command.split()[-1]}"'
            answered(
                {**failed, "hook_event_name": "PostToolUseFailure", "tool_input": {"command": command}, "error": error},
                "claude-code",
            )
        spool.append(folder_of(project), f"s{number}", {"over": True})
    learn_spools(folder_of(project))
    warned = index.load(folder_of(project))["warnings"].values()
    with ALMA.from_config(project / ".alma" / "config.yaml") as alma:
        for number, one in enumerate(sorted(warned, key=lambda each: each["text"])):
            learned(alma, "codex", number, held=False, repaired=False, rule=one["id"])
        learned(alma, "codex", 9, held=False, repaired=False, rule="briefing")
        learned(alma, "codex", 10, held=False, repaired=False, rule="warning-0")
    printed = CliRunner().invoke(app, ["lift", "--config", str(project / ".alma" / "config.yaml")]).output

    assert "  warning of `npm run e2e`: 1 session with notes, 0 held out" in printed
    assert "  warning of `npm run docs`: 1 session with notes" in printed
    assert "  warning of a command that is gone: 1 session with notes" in printed
    assert "  rules at the start of the session: 1 session with notes" in printed
    assert "all: 4 sessions with notes" in printed


def test_a_share_that_changed_does_not_bias(tmp_path: Path) -> None:
    """Hard sessions came while a tenth was held out, easy ones while half was: the plain difference would be .2, and is no effect."""
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        for number in range(100):
            learned(alma, "codex", number, held=number < 10, repaired=False, share=0.1)
        for number in range(100, 200):
            learned(alma, "codex", number, held=number < 150, repaired=True, share=0.5)
        found = lift_of(alma)

    assert abs(found["lift"]) < 1e-9
    assert found["lower"] < 0 < found["upper"]


def test_intervals_of_placebos_hold_zero_as_often_as_they_say(tmp_path: Path) -> None:
    from alma_agents.lifting import _Ended, _lift

    chance = random.Random(1)
    held = 0
    for _ in range(400):
        sessions = [_Ended("h", chance.random() < 0.3, 0.5, {"r"}, chance.random() < 0.6) for _ in range(80)]
        found = _lift(sessions)
        held += found["lower"] < 0 < found["upper"]
    assert held / 400 >= 0.92
