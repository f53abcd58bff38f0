"""Episodes whose beginning is written with what comes first."""

import asyncio
import gc
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConflictError, Episode, MemoryNotFoundError, StorageError, ValidationError
from alma.embedding import HashEmbedder
from alma.storage.relational.project import SQLProject
from alma.types import EpisodeStatus
from alma.types.identity import utc_now
from facade import START, ManualClock, OpenStore, Place, StoredIn, held, refused
from other_process import OtherProcess

TASK = "Deploy auth service"
SETUP = """
from alma import ALMA
episodes = []
alma = {opening}
"""


def _begun(alma: ALMA) -> Episode:
    return alma.episode("dev", TASK, deferred=True)


def _records(alma: ALMA) -> int:
    return int(held(alma)["journal_records"])


def test_the_beginning_and_the_first_step_are_one_journal_record(alma: ALMA, open_store: OpenStore) -> None:
    episode = _begun(alma)
    assert _records(alma) == 0
    episode.step("docker push", ok=True)
    assert _records(alma) == 1
    assert open_store().get_episode(episode.id).steps == episode.steps
    episode.step("kubectl apply", ok=False, error="no such image")
    episode.succeed()
    assert _records(alma) == 3
    assert [step.number for step in alma.get_episode(episode.id).steps] == [1, 2]
    assert alma.verify().ok


def test_an_episode_without_a_step_is_one_journal_record(alma: ALMA, open_store: OpenStore) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    before = _records(alma)
    episode = _begun(alma)
    episode.observe("as in [H1]")
    ended = episode.succeed(strategy="blue-green")
    assert _records(alma) == before + 1
    with pytest.raises(ConflictError, match="cannot be resumed: it ended as success"):  # no program holds it
        alma.resume_episode(episode.id)
    assert open_store().get_episode(episode.id) == ended
    assert ended.credited == (rule.id,)
    assert alma.verify().ok


def test_an_abandoned_one_is_kept_as_such(alma: ALMA) -> None:
    episode = _begun(alma)
    episode.abandon("no time")
    assert alma.get_episode(episode.id).status is EpisodeStatus.ABANDONED
    assert _records(alma) == 1
    with pytest.raises(ConflictError, match="cannot be resumed: it was abandoned"):  # no program holds it
        alma.resume_episode(episode.id)


@pytest.mark.not_on("file", "postgres", reason="locks SQLite's file")
def test_who_looks_through_the_same_store_sees_it_and_writes_nothing(alma: ALMA, place: Place, clock: ManualClock) -> None:
    first = _begun(alma)
    clock.advance(seconds=1)
    written = alma.episode("dev", TASK)
    clock.advance(seconds=1)
    last = _begun(alma)
    with _held_by_another(place.folder):
        assert alma.get_episode(first.id) == first.record
        assert [episode.id for episode in alma.recent_episodes()] == [last.id, written.id, first.id]
        assert [episode.id for episode in alma.recent_episodes(2)] == [last.id, written.id]
        assert alma.for_project("desk").recent_episodes() == []
        with pytest.raises(MemoryNotFoundError):
            alma.for_project("desk").get_episode(first.id)
    assert _records(alma) == 1
    first.end()
    assert [episode.id for episode in alma.recent_episodes()] == [last.id, written.id, first.id]


def test_others_do_not_see_it_while_it_waits(alma: ALMA, open_store: OpenStore) -> None:
    with pytest.raises(MemoryNotFoundError):
        open_store().get_episode(_begun(alma).id)


def test_one_with_an_id_of_its_own_is_written_at_once(alma: ALMA) -> None:
    alma.episode("dev", TASK, episode_id="run-7", deferred=True)
    assert _records(alma) == 1
    with refused(alma, ConflictError, "there is an episode 'run-7' already: it is open"):
        alma.episode("dev", TASK, episode_id="run-7", deferred=True)


def test_deferred_is_a_yes_or_a_no(alma: ALMA) -> None:
    with refused(alma, ValidationError, "deferred"):
        alma.episode("dev", TASK, deferred="soon")  # type: ignore[arg-type]


def test_a_beginning_is_lost_with_no_write_that_fails(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    episode = _begun(alma)
    with monkeypatch.context() as broken:
        broken.setattr(SQLProject, "write", fails)
        with pytest.raises(StorageError, match="full"):
            episode.step("docker push", ok=True)
        assert alma.recent_episodes() == []
    assert not episode.is_written
    episode.step("docker push", ok=True)
    assert alma.get_episode(episode.id).steps == episode.steps
    assert _records(alma) == 1


def test_it_can_be_suspended_and_taken_up_at_once(alma: ALMA, open_store: OpenStore) -> None:
    episode = _begun(alma)
    episode.suspend()
    resumed = open_store().resume_episode(episode.id)
    resumed.step("docker push", ok=True)
    assert resumed.succeed().outcome == "success"
    assert alma.verify().ok


def test_it_is_held_by_whoever_began_it(alma: ALMA) -> None:
    episode = _begun(alma)
    with refused(alma, ConflictError, "is held by a program"):
        alma.resume_episode(episode.id)
    with refused(alma, ConflictError, "still open"):
        alma.settle(episode.id, "success")
    episode.end()


def test_a_store_that_is_closed_keeps_nothing_of_it_and_takes_no_other(tmp_path: Path, stored_in: StoredIn) -> None:
    folder = tmp_path / "other"
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", **stored_in(folder)) as alma:
        episode = _begun(alma)
    given = {"agent": "dev", "task": TASK, "memories": episode.memories}
    for late in (lambda: alma.episode(**given, deferred=True), lambda: alma.episode(**given), episode.end):
        with pytest.raises(StorageError, match="closed"):
            late()
    with ALMA.open(folder, project_id="shop", embedding_provider="hash", **stored_in(folder)) as alma:
        assert alma.recent_episodes() == []


@pytest.mark.slow
def test_one_that_nobody_holds_any_more_is_gone(alma: ALMA) -> None:
    key = _begun(alma).id
    gc.collect()
    assert alma.recent_episodes() == []
    with pytest.raises(MemoryNotFoundError):
        alma.get_episode(key)


def test_undoing_its_first_step_undoes_its_beginning(alma: ALMA) -> None:
    episode = _begun(alma)
    episode.step("docker push", ok=True)
    alma.undo(to=0)
    assert alma.recent_episodes() == []
    with pytest.raises(ConflictError, match="its beginning was undone"):
        episode.succeed()


def test_its_beginning_is_of_when_it_began(alma: ALMA, clock: ManualClock) -> None:
    first = _begun(alma)
    clock.advance(seconds=5)
    second = alma.episode("dev", TASK)
    clock.advance(seconds=5)
    first.step("docker push", ok=True)
    assert [episode.id for episode in alma.recent_episodes()] == [second.id, first.id]
    assert alma.get_episode(first.id).started_at == START


@pytest.mark.parametrize("way", ["step", "end", "abandon", "suspend"])
def test_it_says_whether_anything_of_it_is_written(alma: ALMA, way: str) -> None:
    episode = _begun(alma)
    assert not episode.is_written
    {"step": lambda: episode.step("docker push"), "end": episode.end, "abandon": episode.abandon, "suspend": episode.suspend}[
        way
    ]()
    assert episode.is_written
    assert alma.episode("dev", TASK).is_written


def test_it_goes_on_when_the_store_was_reindexed_meanwhile(alma: ALMA) -> None:
    first, second = _begun(alma), _begun(alma)
    alma.reindex(HashEmbedder(16))
    first.step("docker push", ok=True)
    assert len(alma.recent_episodes()) == 2
    assert first.succeed().outcome == second.succeed().outcome == "success"
    assert alma.verify().ok


def test_async_ones_are_deferred_too(alma: ALMA, tmp_path: Path, stored_in: StoredIn) -> None:
    async def work() -> None:
        async with AsyncALMA.open(
            tmp_path / "other", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "other")
        ) as many:
            async with many.episode("dev", TASK, deferred=True) as episode:
                await episode.step("docker push", ok=True)
                await episode.succeed()
            assert (await many.get_stats()).journal_records == 2

    asyncio.run(work())


@pytest.mark.slow
def test_a_crash_before_anything_is_written_leaves_no_trace_and_one_after_it_an_episode_that_is_abandoned_later(
    place: Place,
) -> None:
    with OtherProcess(SETUP.format(opening=place.opening)) as other:
        other.ask("episodes.extend(alma.episode('dev', 'Deploy auth service', deferred=True) for _ in range(2))")
        other.ask("episodes[0].step('docker push', True) and None")
        other.kill()
    with place.open(clock=lambda: utc_now() + timedelta(minutes=11)) as alma:
        (found,) = alma.recent_episodes()
        assert (found.status, [step.action for step in found.steps]) == (EpisodeStatus.ABANDONED, ["docker push"])
        assert alma.verify().ok


@contextmanager
def _held_by_another(folder: Path) -> Iterator[None]:
    """Nobody can write meanwhile."""
    connection = sqlite3.connect(folder / "alma.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()
