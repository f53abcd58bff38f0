"""A shop whose deployments succeed if the smoke tests are run, in a store of each sort."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alma import ALMA, EpisodeRecord
from alma.testing import FixedClock
from facade import StoredIn

Play = Callable[..., EpisodeRecord]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def alma(tmp_path: Path, clock: FixedClock, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        yield alma


@pytest.fixture
def play(alma: ALMA, clock: FixedClock) -> Play:
    """Plays an attempt an hour after the last one."""

    def record(*actions: str, good: bool, task: str = "Deploy the shop", agent: str = "dev", **given: object) -> EpisodeRecord:
        clock.advance(hours=1)
        with alma.episode(agent, task, **given) as episode:
            for action in actions:
                episode.step(action, ok=True)
            return episode.succeed() if good else episode.fail()

    return record


@pytest.fixture
def played(play: Play) -> list[str]:
    """Plays 16 deployments, of which those with smoke tests succeed; returns the ids of the outcomes of these."""
    records = [
        play("build the image", *(["run the smoke tests"] if good else []), "switch traffic", good=good)
        for good in (True, False) * 8
    ]
    return [str(each.outcome_id) for each in records[::2]]
