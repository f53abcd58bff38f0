"""Rules as a marked block of a file of instructions, and the figure of whether they help."""

from pathlib import Path

from alma import ALMA
from alma_agents.lifting import lift_of
from alma_agents.promoting import BEGIN, promoted


def test_a_rule_enters_the_block_and_leaves_it_with_the_rest_untouched(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        rule = alma.add_anti_pattern(
            agent="codex", pattern="sleep() in tests", why_bad="flaky --> <!--", better_alternative="wait for it"
        )
        text = promoted(alma, "# Mine\n")
        assert text.startswith("# Mine\n\n" + BEGIN)
        assert promoted(alma, text) == text
        alma.forget(memory_ids=[rule.id])
        assert promoted(alma, text) == "# Mine\n"


def test_the_interval_of_a_placebo_holds_zero(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash") as alma:
        for number in range(40):
            facts = {"session": f"s{number}", "shown": [{"fix": "x", "held": number % 2 == 0, "probability": 0.5}]}
            ended = "success" if number % 4 < 2 else "unverified"
            alma.learn(agent="codex", task=f"task {number}", outcome=ended, strategy_used="w", metadata={"coding": facts})
        found = lift_of(alma)
    assert found["lower"] < 0 < found["upper"]
    assert (found["sessions with notes"], found["sessions held out"]) == (20, 20)
