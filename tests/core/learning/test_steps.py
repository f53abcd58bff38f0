"""Steps of attempts count apart from whole attempts."""

from alma import ALMA
from learned import counts


def test_a_step_of_an_episode_does_not_stand_for_an_attempt(alma: ALMA) -> None:
    with alma.episode("dev", "Deploy") as episode:
        episode.step("pull", error="lost")
        episode.succeed(strategy="by hand")
    assert counts(alma) == {"pull": (0, 1), "by hand": (1, 1)}
    assert [row.strategy for row in alma.strategies("Deploy", "dev")] == ["by hand"]
    assert {row.strategy for row in alma.strategies("Deploy", "dev", include_steps=True)} == {"by hand", "pull"}
