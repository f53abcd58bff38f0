"""Episodes whose process is killed, and those of a process that lives on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ConflictError, Episode, EpisodeRecord, StorageError
from alma.errors import CorruptStoreError
from alma.memory.episodes.lifecycle import RoomRecorder
from alma.memory.presence import Presence
from alma.types import EpisodeStatus
from alma.types.episodes import Ending
from attempts import outcomes, told
from facade import Place
from other_process import OtherProcess

pytestmark = pytest.mark.any_store

TASK = "Deploy auth service"
SETUP = """
from alma import ALMA
alma = {opening}
episodes = {{}}
def begin(name, task="Deploy auth service"):
    episodes[name] = alma.episode("dev", task, episode_id=name)
    return name
def step(name, *given, **named):
    return episodes[name].step(*given, **named).number
def say(call):
    return call() and None
"""


@pytest.fixture
def other(place: Place) -> Iterator[OtherProcess]:
    with OtherProcess(SETUP.format(opening=place.opening)) as process:
        yield process


def _three_steps(other: OtherProcess) -> None:
    assert other.ask("begin('run-7')") == "'run-7'"
    assert other.ask("step('run-7', 'docker push', ok=True)") == "1"
    assert other.ask("step('run-7', 'kubectl apply', error='no such image')") == "2"
    assert other.ask("step('run-7', 'kubectl apply', ok=True)") == "3"


@pytest.mark.slow
@pytest.mark.not_on("postgres", reason="a dead process is missed after 60 s there")
def test_an_episode_killed_after_its_third_step_keeps_them_and_is_abandoned_at_the_next_open(
    place: Place, other: OtherProcess
) -> None:
    _three_steps(other)
    other.kill()
    with place.open() as alma:
        record = alma.get_episode("run-7")
        assert (record.status, record.outcome, record.outcome_id) == (EpisodeStatus.ABANDONED, None, None)
        assert record.reason == "the process that held it was gone"
        assert record.ended_at is not None
        assert [(step.action, step.ok) for step in record.steps] == [
            ("docker push", True),
            ("kubectl apply", False),
            ("kubectl apply", True),
        ]
        assert told(outcomes(alma, TASK, "dev")) == [
            ("failure", "kubectl apply", "no such image"),
            ("success", "kubectl apply", None),
        ]
        assert alma.verify().ok
        records = alma.get_stats().journal_records
    with place.open() as alma:
        assert alma.get_stats().journal_records == records
        assert alma.settle("run-7", "success").outcome == "success"
    assert list(place.folder.glob("*.holder")) == []


@pytest.mark.slow
def test_an_episode_of_a_process_that_lives_stays_open_also_when_its_store_is_opened_again(
    place: Place, other: OtherProcess
) -> None:
    _three_steps(other)
    for _ in range(2):
        with place.open() as alma:
            assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
            with pytest.raises(ConflictError, match="running process"):
                alma.resume_episode("run-7")
    assert other.ask("step('run-7', 'kubectl get', ok=True)") == "4"
    assert other.ask("episodes['run-7'].succeed().outcome.value") == "'success'"


@pytest.mark.slow
@pytest.mark.not_on("postgres", reason="a dead process is missed after 60 s there")
def test_only_the_episodes_of_the_process_that_is_gone_are_closed(place: Place, other: OtherProcess) -> None:
    with OtherProcess(SETUP.format(opening=place.opening)) as alive:
        other.ask("begin('of the dead')")
        alive.ask("begin('of the living')")
        other.kill()
        with place.open() as alma:
            alma.episode("dev", TASK, episode_id="mine")
            states = {record.id: record.status.value for record in alma.recent_episodes()}
        assert states == {"of the dead": "abandoned", "of the living": "open", "mine": "open"}
        with place.open() as alma:
            assert alma.get_episode("mine").status == EpisodeStatus.ABANDONED
            assert alma.get_episode("of the living").status == EpisodeStatus.OPEN


@pytest.mark.slow
@pytest.mark.not_on("postgres", reason="a dead process is missed after 60 s there")
def test_an_episode_that_is_taken_up_while_another_process_means_to_close_it_goes_on(
    place: Place, other: OtherProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_up: list[Episode] = []
    with place.open() as alma:
        other.ask("begin('run-7')")
        other.kill()
        close = RoomRecorder.close

        def close_too_late(recorder: RoomRecorder, ending: Ending) -> EpisodeRecord:
            if not taken_up:
                taken_up.append(alma.resume_episode("run-7"))
            return close(recorder, ending)

        monkeypatch.setattr(RoomRecorder, "close", close_too_late)
        with place.open() as another:
            assert another.get_episode("run-7").status == EpisodeStatus.OPEN
        assert taken_up[0].succeed().outcome == "success"


@pytest.mark.slow
def test_a_suspended_episode_outlives_its_process(place: Place, other: OtherProcess) -> None:
    _three_steps(other)
    other.ask("say(episodes['run-7'].suspend)")
    other.kill()
    with place.open() as alma:
        assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
        assert alma.resume_episode("run-7").step("kubectl get").number == 4


@pytest.mark.slow
@pytest.mark.not_on("postgres", reason="a dead process is missed after 60 s there")
def test_each_project_closes_its_own_when_it_is_opened(place: Place, other: OtherProcess) -> None:
    other.ask("begin('run-7')")
    other.kill()
    with place.open(project_id="lab") as alma:
        assert alma.recent_episodes() == []
        assert alma.for_project("shop").get_episode("run-7").status == EpisodeStatus.ABANDONED


@pytest.mark.not_on("postgres", reason="a server has no file of a holder")
def test_an_episode_that_was_closed_meanwhile_takes_no_step_and_no_end(place: Place) -> None:
    with place.open() as alma:
        episode = alma.episode("dev", TASK)
        for file in place.folder.glob("*.holder"):
            file.unlink()
        with place.open():
            pass
        with pytest.raises(ConflictError, match="no longer open: it was abandoned"):
            episode.step("late")
        with pytest.raises(ConflictError, match="no longer open: it was abandoned"):
            episode.succeed()
        assert alma.verify().ok


def test_a_holder_is_there_until_it_leaves(tmp_path: Path) -> None:
    mine, theirs = Presence(tmp_path), Presence(tmp_path)
    holder = mine.id
    assert mine.id == holder != theirs.id
    assert theirs.is_there(holder)
    assert not theirs.is_there("0" * 32)
    for name in ("nobody", "../../alma", f"{holder}/../x", "", 5):
        with pytest.raises(CorruptStoreError, match="no name of a holder"):
            theirs.is_there(name)
    theirs.sweep()
    assert theirs.is_there(holder)
    mine.leave()
    mine.leave()
    assert not theirs.is_there(holder)
    assert mine.id != holder
    mine.leave()
    theirs.leave()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.not_on("postgres", reason="a server has no file of a holder")
def test_a_store_closes_also_where_the_file_of_its_holder_became_a_folder(place: Place) -> None:
    with place.open() as alma:
        alma.episode("dev", TASK)
        (holder,) = place.folder.glob("*.holder")
        holder.unlink()
        holder.mkdir()
    with place.open() as alma:
        assert alma.get_stats().journal_records >= 1


def test_files_of_holders_that_are_gone_are_swept_away(tmp_path: Path) -> None:
    (tmp_path / "gone.holder").touch()
    presence = Presence(tmp_path)
    presence.sweep()
    assert list(tmp_path.iterdir()) == []


def test_a_file_swept_away_before_it_is_locked_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process opens the store between the making of the file and its locking."""
    from alma.memory import presence

    lock, swept = presence.lock, []

    def late(descriptor: int) -> bool:
        if not swept:
            swept.append(descriptor)
            for file in tmp_path.glob("*.holder"):
                file.unlink()
        return lock(descriptor)

    monkeypatch.setattr(presence, "lock", late)
    mine = Presence(tmp_path)
    holder = mine.id
    assert Presence(tmp_path).is_there(holder)
    mine.leave()


def test_a_file_system_without_locks_is_told_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.memory.presence.lock", lambda descriptor: False)
    with pytest.raises(StorageError, match="knows locks"):
        Presence(tmp_path).id  # noqa: B018 - the access is the act
    assert list(tmp_path.iterdir()) == []
