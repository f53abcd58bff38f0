"""An episode whose beginning is stored late counts as one that is stored at once."""

import pytest

from alma import ALMA

AGENT, TASK = "dev", "Deploy the auth service to staging"


def attempt(alma, *, deferred: bool) -> None:
    with alma.episode(agent=AGENT, task=TASK, deferred=deferred) as episode:
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
        episode.step("kubectl apply", ok=True)
        episode.succeed(strategy="push the image, then kubectl apply")


def counted(alma) -> list[tuple[str, float, int]]:
    rows = alma.strategies(task=TASK, agent=AGENT, include_steps=True).rows
    return sorted((row.strategy, row.successes, row.trials) for row in rows)


@pytest.mark.parametrize("times", [1, 3])
def test_steps_and_attempts_of_deferred_episodes_count_as_those_of_others_do(tmp_path, times, stored_in):
    found = {}
    for deferred in (False, True):
        folder = tmp_path / str(deferred)
        with ALMA.open(folder, project_id="p", embedding_provider="hash", **stored_in(folder)) as alma:
            for _ in range(times):
                attempt(alma, deferred=deferred)
        with ALMA.open(folder, project_id="p", **stored_in(folder)) as reopened:
            assert reopened.verify().ok
            found[deferred] = counted(reopened)
    assert len(found[False]) >= 2
    assert found[True] == found[False]
