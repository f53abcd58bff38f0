"""What a prompt says was tried: whole counts of what has a name and of what has none, each error once."""

from pathlib import Path

from alma import ALMA


def test_failures_without_a_strategy_are_counted_beside_successes(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="desk", embedding_provider="hash") as alma:
        for ticket in range(15):
            alma.learn(
                "help", f"Answer ticket {ticket} about invoices", "failure", error_message="customer complained: wrong VAT"
            )
            if ticket < 5:
                alma.learn("help", f"Answer ticket {ticket} about invoices", "success")
        found = alma.retrieve("Answer ticket 99 about invoices", "help")
        line = "Such tasks, no strategy named: failed 15 of 20 times (15 tasks, last just now); the last 10 failed; "
        line += 'error: "customer complained: wrong VAT"'
        assert line in found.to_prompt().splitlines()
        assert line in found.notes()
        assert type(found).from_json(found.to_json()) == found
        assert line not in found.to_prompt(max_tokens=20)


def test_an_error_that_a_way_states_stands_once(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="desk", embedding_provider="hash") as alma:
        for _ in range(2):
            with alma.episode("ops", "Deploy the auth service") as episode:
                episode.step('deploy(way="rolling")', ok=False, error="E502 while pods were replaced")
                episode.fail("E502 while pods were replaced")
        prompt = alma.retrieve("Deploy the auth service", "ops").to_prompt()
    assert prompt.count("E502") == 1
    assert "Such tasks, no strategy named: failed 2 of 2 times" in prompt


def test_a_way_that_went_better_lately_says_so(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="desk", embedding_provider="hash") as alma:
        for place in range(24):
            alma.learn("ops", "Deploy the auth service", place >= 12, "canary")
        prompt = alma.retrieve("Deploy the auth service", "ops").to_prompt()
    assert "worked 12 of 24 times" in prompt
    assert "; 8 of the last 8" in prompt
