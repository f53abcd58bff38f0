"""Rules as a marked block of a file of instructions, and the figure of whether they help."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from alma import ALMA
from alma_agents import index
from alma_agents.attempts import Session
from alma_agents.events import TOOL, Event
from alma_agents.learning import learned, rebuild
from alma_agents.lifting import lift_of
from alma_agents.promoting import BEGIN, holding, promoted
from alma_agents.warning import note_commands
from alma_cli.app import app


def in_block(alma: ALMA, text: str) -> str:
    """The text with the rules of all agents that hold now."""
    return promoted(alma, text, holding(alma))


def test_a_rule_enters_the_block_and_leaves_it_with_the_rest_untouched(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        rule = alma.add_anti_pattern(
            agent="codex", pattern="sleep() in tests", why_bad="flaky --> <!--", better_alternative="wait for it"
        )
        text = in_block(alma, "# Mine\n")
        assert text.startswith("# Mine\n\n" + BEGIN)
        assert in_block(alma, text) == text
        alma.forget(memory_ids=[rule.id])
        assert in_block(alma, text) == "# Mine\n"


def test_a_rule_stays_in_the_block_however_much_is_learned_after_it(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        alma.add_anti_pattern(agent="codex", pattern="sleep() in tests", why_bad="flaky")
        text = in_block(alma, "")
        alma.learn_many({"agent": "codex", "task": "Answer", "outcome": "success"} for _ in range(1_001))
        assert "sleep() in tests" in in_block(alma, text)


def test_a_rule_that_two_clones_have_formed_stands_once_in_the_block(tmp_path: Path) -> None:
    with (
        ALMA.open(tmp_path / "left", project_id="p", embedding_provider="hash") as left,
        ALMA.open(tmp_path / "right", project_id="p", embedding_provider="hash") as right,
    ):
        for alma, name in ((left, "left"), (right, "right")):
            for number in range(3):
                alma.learn("codex", f"Deploy {name} {number}", "success", "canary", task_type="deploy")
        right.export(tmp_path / "right.jsonl")
        left.import_from(tmp_path / "right.jsonl", on_conflict="merge")
        text = in_block(left, "")
        assert len(left.list_memories("heuristic")) == 1
    assert text.count("canary") == 1
    assert "6 of 6" in text


def test_a_learned_rule_names_the_tasks_that_it_is_about(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash") as alma:
        for page in ("help", "home", "price"):
            alma.learn("codex", f"Translate the {page} page into German", "success", "ask the lawyer first")
            alma.learn("codex", f"Rotate the {page} keys", "failure", "rotate at noon: locked", error_message="locked")
        text = in_block(alma, "")
    assert '- ask the lawyer first (on tasks such as "Translate the price page into German"): worked 3 of 3 times' in text
    assert '- rotate at noon: locked (on tasks such as "Rotate the price keys"): failed 3 of 3 times' in text
    assert text.count("locked") == 1


def test_a_rule_that_follows_with_an_isolated_users_outcome_is_not_written_for_all(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash", users="isolated") as alma:
        for number, user in enumerate((None, None, "ann")):
            alma.learn("codex", f"Deploy the shop {number} of {user}", "success", "canary", user_id=user)
        assert [rule.user_id for rule in alma.list_memories("heuristic", "codex")] == ["ann"]
        assert in_block(alma, "") == ""


def test_the_interval_of_a_placebo_holds_zero(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        for number in range(40):
            facts = {"session": f"s{number}", "shown": [{"fix": "x", "held": number % 2 == 0, "probability": 0.5}]}
            ended = "success" if number % 4 < 2 else "unverified"
            alma.learn(agent="codex", task=f"task {number}", outcome=ended, strategy_used="w", metadata={"coding": facts})
        found = lift_of(alma)
    assert found["lower"] < 0 < found["upper"]
    assert (found["sessions with notes"], found["sessions held out"]) == (20, 20)


def taught(folder: Path, sessions: range, *, at: datetime | None = None) -> ALMA:
    """A clone's memory: in each session the same failure was repaired in the same way; another command keeps failing."""
    alma = ALMA.open(folder, project_id="p", embedding_provider="hash", **({} if at is None else {"clock": lambda: at}))
    for number in sessions:
        session = Session()
        known = {"host": "codex", "session": f"s{number}", "kind": TOOL, "tool": "shell", "at": 1_790_000_000.0 + number}
        steps = (("pytest", False), ("pip install flask", True), ("pytest", True), ("npm run e2e", False))
        made = [
            Event(
                **known, call=f"{number}-{place}", command=command, ok=ok, output="" if ok else f"No module named 'flask{place}'"
            )
            for place, (command, ok) in enumerate(steps)
        ]
        found = [attempt for event in made for attempt in session.add(event)] + session.end()
        learned(alma, found)
        note_commands(alma, f"s{number}", session.ran)
    return alma


def shown(alma: ALMA, folder: Path) -> tuple[list[str], list[tuple[str, ...]], dict[str, object]]:
    """What a memory says: its outcomes without their ids, the fixes and the warnings of the hooks. Rules are left out: an import keeps the evidence
    of the memory that it comes to, so which counts they have depends on the order."""
    (folder.parent / "config.yaml").write_text("alma: {project_id: p}")
    rebuild(alma, str(folder))
    content = index.load(str(folder))
    plain = {"id", "created_at", "updated_at"}
    outcomes = sorted(str(one.model_dump(exclude=plain)) for one in alma.list_memories("outcome", limit=500))
    return outcomes, sorted((fix["command"], fix["strategy"], fix["text"]) for fix in content["fixes"]), content["warnings"]


def test_the_exports_of_two_clones_merge_in_any_order(tmp_path: Path) -> None:
    exported = []
    for name, sessions in (("one", range(4)), ("two", range(3, 8))):
        with taught(tmp_path / name, sessions) as alma:
            alma.export(tmp_path / f"{name}.jsonl")
            exported.append(tmp_path / f"{name}.jsonl")
    said = []
    for name, order in (("forth", exported), ("back", exported[::-1])):
        with ALMA.open(tmp_path / name, project_id="p", embedding_provider="hash") as alma:
            for file in order:
                alma.import_from(file, on_conflict="skip")
            said.append(shown(alma, tmp_path / f"{name}-agents"))

    assert said[0] == said[1]
    assert len(said[0][0]) > 8
    assert "passed" in said[0][1][0][2]
    assert "8 sessions" in str(said[0][2])


def test_what_a_clone_has_learned_is_shown_right_after_its_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with taught(tmp_path / "other", range(3)) as alma:
        alma.export(tmp_path / "other.jsonl")
    assert CliRunner().invoke(app, ["init", "--embedder", "hash"]).exit_code == 0
    folder = tmp_path / ".alma" / "agents"
    assert CliRunner().invoke(app, ["import", "other.jsonl", "--merge"]).exit_code == 0
    assert not folder.exists()  # no hooks, no index

    folder.mkdir()
    assert CliRunner().invoke(app, ["import", "other.jsonl", "--merge"]).exit_code == 0
    content = index.load(str(folder))
    fix = index.fix_for(content, "No module named 'flask0'", "pytest")
    assert fix is not None
    assert fix["strategy"] == "run pip install flask"
    assert len(content["warnings"]) == 1


def test_a_learned_rule_has_its_counts_and_ends(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    now = [start]
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash", clock=lambda: now[0]) as alma:
        for number in range(6):
            alma.learn(
                agent="codex",
                task="deploy the shop",
                outcome="success",
                strategy_used="blue-green",
                verdict_source="tool",
                task_id=f"t{number}",
            )
        text = in_block(alma, "")
        now[0] = start + timedelta(days=30)
        assert in_block(alma, text) == text
        now[0] = start + timedelta(days=91)
        assert in_block(alma, text) == ""

    assert "6 of 6" in text
    assert "(until 2026-04-01)" in text
    assert not any(age in text for age in ("just now", " ago")), "an age is another one tomorrow"


def test_a_skill_is_written_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["init", "--embedder", "hash"]).exit_code == 0
    with ALMA.from_config(".alma/config.yaml") as alma:
        rule = alma.add_anti_pattern(agent="codex", pattern="sleep() in tests", why_bad="flaky", better_alternative="wait for it")
    target = ".claude/skills/alma-rules/SKILL.md"
    assert runner.invoke(app, ["promote", "--to", target]).exit_code == 0
    text = Path(target).read_text()
    assert runner.invoke(app, ["promote", target]).exit_code == 0
    assert Path(target).read_text() == text
    head = yaml.safe_load(text.split("---")[1])
    assert head["name"] == "alma-rules"
    assert len(head["description"]) < 1536
    assert "sleep() in tests" in text
    with ALMA.from_config(".alma/config.yaml") as alma:
        alma.forget(memory_ids=[rule.id])
    assert runner.invoke(app, ["promote", target]).exit_code == 0
    assert not Path(target).exists()


@pytest.fixture
def two_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["init", "--embedder", "hash"]).exit_code == 0
    with ALMA.from_config(".alma/config.yaml") as alma:
        alma.add_anti_pattern(agent="codex", pattern="sleep() in tests", why_bad="flaky")
        alma.add_anti_pattern(agent="support", pattern="Promise a refund", why_bad="not ours to give")


@pytest.mark.usefixtures("two_agents")
def test_of_several_agents_with_rules_one_has_to_be_named() -> None:
    refused = CliRunner().invoke(app, ["promote", "AGENTS.md"])
    assert refused.exit_code == 2
    assert "codex (1), support (1)" in refused.stderr
    assert not Path("AGENTS.md").exists()


@pytest.mark.usefixtures("two_agents")
@pytest.mark.parametrize(
    ("options", "written", "whose"),
    [
        (["--agent", "codex"], {"sleep() in tests"}, "codex (1)"),
        (["--all-agents"], {"sleep() in tests", "Promise a refund"}, "codex (1), support (1)"),
    ],
)
def test_only_the_rules_that_were_asked_for_are_written_and_it_says_whose(
    options: list[str], written: set[str], whose: str
) -> None:
    done = CliRunner().invoke(app, ["promote", *options])
    assert done.exit_code == 0
    assert f"AGENTS.md: has the rules of {whose}" in done.stdout
    text = Path("AGENTS.md").read_text()
    assert {rule for rule in ("sleep() in tests", "Promise a refund") if rule in text} == written


@pytest.mark.usefixtures("two_agents")
def test_an_agent_of_which_nothing_is_stored_takes_no_rules_away() -> None:
    assert CliRunner().invoke(app, ["promote", "-a", "codex"]).exit_code == 0
    before = Path("AGENTS.md").read_text()
    assert CliRunner().invoke(app, ["promote", "-a", "codx"]).exit_code == 2
    assert CliRunner().invoke(app, ["promote", "-a", "codex", "--all-agents"]).exit_code == 2
    assert Path("AGENTS.md").read_text() == before
