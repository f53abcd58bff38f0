"""What a caller notes with an outcome says nothing about where it counts."""

from alma import ALMA
from facade import ManualClock
from learned import counts, heuristics


def test_an_outcome_whose_metadata_looks_like_that_of_a_step_counts_like_any_other(alma: ALMA, clock: ManualClock) -> None:
    for step in range(3):
        clock.advance(hours=1)
        alma.learn("dev", "Deploy", "success", "by hand", metadata={"episode_id": "mine", "step": step})
    (row,) = alma.strategies("Deploy", "dev")
    assert (row.strategy, row.successes, row.trials) == ("by hand", 3, 3)
    assert len(heuristics(alma)) == 1


def test_a_step_of_an_episode_does_not_stand_for_an_attempt(alma: ALMA) -> None:
    with alma.episode("dev", "Deploy") as episode:
        episode.step("pull", error="lost")
        episode.succeed(strategy="by hand")
    assert counts(alma) == {"pull": (0, 1), "by hand": (1, 1)}
    assert [row.strategy for row in alma.strategies("Deploy", "dev")] == ["by hand"]
    assert {row.strategy for row in alma.strategies("Deploy", "dev", include_steps=True)} == {"by hand", "pull"}
