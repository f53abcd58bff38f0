"""An episode holds a lease: of a program that is silent for ten minutes it is marked abandoned, until the program goes on."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from alma import ALMA, ConflictError, Episode, MemoryNotFoundError
from alma.types import EpisodeStatus
from alma.types.identity import utc_now
from attempts import Counts, counts, outcomes, told
from facade import START, ManualClock, OpenStore, Place, held, refused
from other_process import OtherProcess

pytestmark = pytest.mark.any_store

TASK = "Deploy auth service"
SETUP = """
from datetime import timedelta
from alma import ALMA
from alma.types.identity import utc_now
late = timedelta()
alma = {opening}, clock=lambda: utc_now() + late)
episodes = {{}}
def wait(minutes):
    global late
    late += timedelta(minutes=minutes)
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
    with OtherProcess(SETUP.format(opening=place.opening[:-1])) as process:
        yield process


def _open_later(place: Place, minutes: int) -> ALMA:
    return place.open(clock=lambda: utc_now() + timedelta(minutes=minutes))


def _three_steps(other: OtherProcess) -> None:
    assert other.ask("begin('run-7')") == "'run-7'"
    assert other.ask("step('run-7', 'docker push', ok=True)") == "1"
    assert other.ask("step('run-7', 'kubectl apply', error='no such image')") == "2"
    assert other.ask("step('run-7', 'kubectl apply', ok=True)") == "3"


@pytest.mark.slow
def test_an_episode_killed_after_its_third_step_keeps_them_and_is_abandoned_after_ten_minutes(
    place: Place, other: OtherProcess
) -> None:
    _three_steps(other)
    other.kill()
    with place.open() as alma:
        assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
    with _open_later(place, 11) as alma:
        records = alma.get_stats().journal_records
        record = alma.get_episode("run-7")
        assert (record.status, record.outcome, record.outcome_id) == (EpisodeStatus.ABANDONED, None, None)
        assert record.reason == "it was silent for ten minutes"
        assert record.ended_at == record.steps[-1].at
        assert [(step.action, step.ok) for step in record.steps] == [
            ("docker push", True),
            ("kubectl apply", False),
            ("kubectl apply", True),
        ]
        assert told(outcomes(alma, TASK, "dev")) == [
            ("failure", "kubectl apply", "no such image"),
            ("success", "kubectl apply", None),
        ]
        assert alma.get_stats().journal_records == records
        assert alma.settle("run-7", "success").outcome == "success"
        assert alma.verify().ok


@pytest.mark.slow
def test_a_program_that_was_silent_for_long_goes_on_and_counts_once(place: Place, other: OtherProcess) -> None:
    with place.open() as alma:
        rule = alma.add_heuristic("dev", TASK, "blue-green").id
    _three_steps(other)
    other.ask("say(lambda: episodes['run-7'].observe('[H1]'))")
    other.ask("wait(11)")
    with _open_later(place, 11) as alma:
        assert alma.get_episode("run-7").status == EpisodeStatus.ABANDONED
        assert other.ask("step('run-7', 'kubectl get', ok=True)") == "4"
        assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
        with pytest.raises(ConflictError, match="held by a program"):
            alma.resume_episode("run-7")
        other.ask("wait(11)")
        with _open_later(place, 22) as later:
            assert later.get_episode("run-7").status == EpisodeStatus.ABANDONED
            assert other.ask("episodes['run-7'].succeed('by hand').outcome.value") == "'success'"
            ended = later.get_episode("run-7")
            assert (ended.status, ended.outcome, ended.reason) == (EpisodeStatus.ENDED, "success", None)
            assert [step.number for step in ended.steps] == [1, 2, 3, 4]
            assert counts(later, rule) == Counts(1, 0)
            assert [outcome.metadata for outcome in outcomes(later, TASK, "dev")][2:] == [{"episode_id": "run-7"}]
            assert later.verify().ok


@pytest.mark.slow
def test_an_episode_of_a_process_that_lives_stays_open_also_when_its_store_is_opened_again(
    place: Place, other: OtherProcess
) -> None:
    _three_steps(other)
    for _ in range(2):
        with place.open() as alma:
            assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
            with pytest.raises(ConflictError, match="held by a program"):
                alma.resume_episode("run-7")
    assert other.ask("step('run-7', 'kubectl get', ok=True)") == "4"
    assert other.ask("episodes['run-7'].succeed().outcome.value") == "'success'"


@pytest.mark.slow
def test_a_suspended_episode_outlives_its_process(place: Place, other: OtherProcess) -> None:
    _three_steps(other)
    other.ask("say(episodes['run-7'].suspend)")
    other.kill()
    with _open_later(place, 1_000) as alma:
        assert alma.get_episode("run-7").status == EpisodeStatus.OPEN
        assert alma.resume_episode("run-7").step("kubectl get").number == 4


def test_each_step_renews_the_lease(alma: ALMA, clock: ManualClock) -> None:
    episode = alma.episode("dev", TASK)
    for number in range(3):
        clock.advance(minutes=9)
        assert alma.get_episode(episode.id).status == EpisodeStatus.OPEN
        episode.step(f"tool {number}")
    clock.advance(minutes=10)
    assert [found.status for found in alma.recent_episodes()] == [EpisodeStatus.OPEN]
    clock.advance(seconds=1)
    (found,) = alma.recent_episodes()
    assert (found.status, found.ended_at) == (EpisodeStatus.ABANDONED, START + timedelta(minutes=27))


def test_silence_counts_nothing_for_what_was_shown_and_learns_nothing(alma: ALMA, clock: ManualClock) -> None:
    rule = alma.add_heuristic("dev", TASK, "blue-green")
    episode = alma.episode("dev", TASK, run_id="r")
    episode.observe("[H1]")
    before = held(alma)
    clock.advance(minutes=11)
    (found,) = alma.run_episodes("r")
    assert (found.status, found.used, found.outcome) == (EpisodeStatus.ABANDONED, None, None)
    assert (counts(alma, rule.id), held(alma)) == (Counts(0, 0), before)
    assert alma.review().unjudged_count == 0


def _settled(alma: ALMA, key: str) -> None:
    alma.settle(key, "success")


def _resumed(alma: ALMA, key: str) -> None:
    alma.resume_episode(key).succeed()


@pytest.mark.parametrize("way", [_settled, _resumed])
def test_a_verdict_of_another_stands_and_the_same_one_of_the_slow_program_changes_nothing(
    alma: ALMA, open_store: OpenStore, clock: ManualClock, way: Callable[[ALMA, str], None]
) -> None:
    first, second = (alma.episode("dev", TASK) for _ in range(2))
    clock.advance(minutes=11)
    for episode in (first, second):
        way(open_store(), episode.id)
    before = held(alma)
    assert first.succeed().outcome == "success"
    assert held(alma) == before
    with refused(alma, ConflictError, "no longer open: it ended as success"):
        second.step("late")
    with refused(alma, ConflictError, r"was ended before .success.; settle"):
        second.fail("no luck")
    assert len(outcomes(alma, TASK, "dev")) == 2
    assert alma.verify().ok


def test_what_the_slow_program_used_is_not_dropped_in_silence(alma: ALMA, clock: ManualClock) -> None:
    alma.add_heuristic("dev", TASK, "blue-green")
    episode = alma.episode("dev", TASK)
    episode.observe("[H1]")
    clock.advance(minutes=11)
    alma.settle(episode.id, "success")
    with refused(alma, ConflictError, "was ended before"):
        episode.succeed()


def test_a_silent_episode_is_taken_up_by_another_and_the_slow_program_adds_to_it(
    alma: ALMA, open_store: OpenStore, clock: ManualClock
) -> None:
    episode = alma.episode("dev", TASK)
    episode.step("docker push", ok=True)
    clock.advance(minutes=11)
    resumed = open_store().resume_episode(episode.id)
    assert alma.get_episode(episode.id).status == EpisodeStatus.OPEN
    assert resumed.step("kubectl apply", ok=True).number == 2
    assert episode.step("kubectl get", ok=True).number == 3
    assert resumed.step("kubectl logs", ok=True).number == 4
    assert episode.fail("no luck").outcome == "failure"
    assert [step.action for step in alma.get_episode(episode.id).steps] == [
        "docker push",
        "kubectl apply",
        "kubectl get",
        "kubectl logs",
    ]
    with pytest.raises(ConflictError, match=r"was ended before .failure."):
        resumed.succeed()
    assert alma.verify().ok


def test_undoing_the_verdict_of_another_gives_the_slow_program_its_episode_back(alma: ALMA, clock: ManualClock) -> None:
    episode = alma.episode("dev", TASK)
    clock.advance(minutes=11)
    alma.settle(episode.id, "failure")
    alma.undo(alma.get_stats().journal_records - 1)
    assert episode.is_open
    assert episode.succeed().outcome == "success"


def test_an_episode_that_was_abandoned_by_its_program_stays_so(alma: ALMA, clock: ManualClock) -> None:
    episode = alma.episode("dev", TASK)
    episode.abandon("no time")
    clock.advance(minutes=11)
    assert alma.get_episode(episode.id).reason == "no time"
    for late in (lambda: alma.resume_episode(episode.id), lambda: episode.step("late")):
        with pytest.raises(ConflictError):
            late()


def test_erasing_a_lesson_erases_the_silent_episode_that_it_came_from(alma: ALMA, clock: ManualClock) -> None:
    def lesson(episode: Episode) -> str:
        return str(episode.step("kubectl apply", error="no such image").memory_id)

    silent = alma.episode("dev", TASK)
    gone = lesson(silent)
    clock.advance(minutes=11)
    running = alma.episode("dev", TASK)
    alma.forget(memory_ids=[gone, lesson(running)], purge=True)
    with pytest.raises(MemoryNotFoundError):
        alma.get_episode(silent.id)
    with pytest.raises(ConflictError, match="no longer open"):
        silent.step("late")
    assert alma.get_episode(running.id).status == EpisodeStatus.OPEN
    assert alma.verify().ok
