"""Episodes that say nothing for minutes or for ever, while another process looks at them by the same clock."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from alma import ALMA
from facade import ManualClock
from other_process import OtherProcess

pytestmark = pytest.mark.slow

TASK = "Deploy auth service"
SETUP = """
from facade import ManualClock
from alma import ALMA
clock = ManualClock()
alma = ALMA.open({folder!r}, project_id="shop", embedding_provider="hash", embedding_dim=16, storage={storage!r}, clock=clock)
def begin():
    global episode
    episode = alma.episode("dev", "Deploy auth service", episode_id="run-7")
def step(action, **named):
    return episode.step(action, **named).number
def wait(minutes):
    clock.advance(minutes=minutes)
def seen():
    record = alma.get_episode("run-7")
    return record.status.value, [step.action for step in record.steps]
"""


@pytest.fixture(params=["sqlite", "file"])
def storage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def slow(tmp_path: Path, storage: str) -> Iterator[OtherProcess]:
    """A process with an episode that has made one step."""
    paths = f"import sys; sys.path.append({str(Path(__file__).parents[1] / 'support')!r})\n"
    with OtherProcess(paths + SETUP.format(folder=str(tmp_path / "store"), storage=storage)) as process:
        process.ask("begin()")
        assert process.ask("step('docker push', ok=False, error='no such image')") == "1"
        yield process


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def look(folder: Path, storage: str, clock: ManualClock) -> ALMA:
    """A process of another user of the store: it opens it, and sees the episode and what was learned in it."""
    alma = ALMA.open(
        folder / "store",
        project_id="shop",
        embedding_provider="hash",
        embedding_dim=16,
        storage=storage,
        clock=clock,
        create=False,
    )
    record = alma.get_episode("run-7")
    assert record.status in ("open", "abandoned")
    assert [step.action for step in record.steps] == ["docker push"]
    assert record.outcome is None
    assert [memory.outcome for memory in alma.list_memories("outcome")] == ["failure"]  # type: ignore[union-attr] # that of the step
    return alma


@pytest.mark.parametrize("minutes", [10, 24 * 60])
def test_an_episode_that_was_silent_goes_on_and_counts_once_though_another_process_looked(
    tmp_path: Path, storage: str, slow: OtherProcess, clock: ManualClock, minutes: int
) -> None:
    slow.ask(f"wait({minutes})")
    clock.advance(minutes=minutes)
    with look(tmp_path, storage, clock), look(tmp_path, storage, clock) as alma:
        assert slow.ask("step('docker push', ok=True)") == "2"
        clock.advance(minutes=minutes)
        slow.ask(f"wait({minutes})")
        with ALMA.open(tmp_path / "store", project_id="shop", storage=storage, clock=clock):
            assert slow.ask("episode.succeed(strategy='tag, then push').outcome.value") == "'success'"
        record = alma.get_episode("run-7")
        assert (record.status, record.outcome, record.strategy) == ("ended", "success", "tag, then push")
        assert [(step.number, step.action, step.ok) for step in record.steps] == [
            (1, "docker push", False),
            (2, "docker push", True),
        ]
        (row,) = [row for row in alma.strategies(agent="dev") if row.strategy == "tag, then push"]
        assert (row.successes, row.trials) == (1, 1)
        made = [memory for memory in alma.list_memories("outcome") if memory.id == record.outcome_id]
        assert len(made) == 1
        assert len(alma.list_memories("outcome")) == 3
        assert alma.verify().ok


def test_an_episode_whose_process_is_gone_keeps_its_steps_and_is_abandoned_in_time(
    tmp_path: Path, storage: str, slow: OtherProcess, clock: ManualClock
) -> None:
    slow.kill()
    clock.advance(days=1)
    for _ in range(2):
        with look(tmp_path, storage, clock) as alma:
            assert alma.get_episode("run-7").status == "abandoned"
            assert alma.recent_episodes()[0].started_at + timedelta(days=1) == clock()
            assert alma.verify().ok
    with look(tmp_path, storage, clock) as alma:
        assert alma.settle("run-7", "success").outcome == "success"
        assert [step.action for step in alma.get_episode("run-7").steps] == ["docker push"]
        assert alma.get_stats().by_kind["outcome"] == 2
