"""An episode whose records were undone goes on from what is stored, not from what the object remembers."""

from collections.abc import Callable

import pytest

from alma import ALMA, ConflictError, Episode
from alma.types import EpisodeStatus

TASK = "Deploy auth service"


def undo_last(alma: ALMA, records: int = 1) -> None:
    alma.undo(alma.get_stats().journal_records - records)


ENDINGS: dict[str, Callable[[Episode], object]] = {
    "succeed": lambda episode: episode.succeed(strategy="blue-green"),
    "fail": lambda episode: episode.fail(error="no image"),
    "abandon": lambda episode: episode.abandon(),
}


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_an_episode_whose_ending_was_undone_can_be_ended_anew_in_any_way(alma: ALMA, first: str, second: str) -> None:
    episode = alma.episode(agent="dev", task=TASK)
    episode.step("kubectl apply", ok=True)
    ENDINGS[first](episode)
    undo_last(alma)
    assert episode.is_open
    episode.step("kubectl get pods", ok=True)
    ENDINGS[second](episode)
    kept = alma.get_episode(episode.id)
    assert (kept.status, kept.outcome) == (episode.record.status, episode.record.outcome)
    assert kept.outcome == {"succeed": "success", "fail": "failure", "abandon": None}[second]
    assert [step.number for step in kept.steps] == [1, 2]
    assert not episode.is_open
    assert alma.verify().ok


def test_undoing_the_undo_ends_it_again(alma: ALMA) -> None:
    episode = alma.episode(agent="dev", task=TASK)
    episode.succeed(strategy="blue-green")
    undo_last(alma)
    undo_last(alma)
    assert not episode.is_open
    assert episode.succeed(strategy="blue-green").status is EpisodeStatus.ENDED
    with pytest.raises(ConflictError, match="was ended before"):
        episode.fail(error="no image")


def test_an_episode_whose_suspension_was_undone_goes_on(alma: ALMA) -> None:
    episode = alma.episode(agent="dev", task=TASK)
    episode.suspend()
    undo_last(alma)
    episode.step("kubectl apply", ok=True)
    episode.suspend()
    assert not episode.is_open
    with alma.resume_episode(episode.id) as resumed:
        assert not episode.is_open  # another holds it now
        with pytest.raises(ConflictError, match="suspended"):
            episode.step("kubectl apply", ok=True)
        resumed.succeed()
    assert alma.get_episode(episode.id).outcome == "success"


def test_steps_after_undone_ones_are_numbered_from_what_is_left(alma: ALMA) -> None:
    episode = alma.episode(agent="dev", task=TASK)
    for action in ("one", "two", "three"):
        episode.step(action, ok=True)
    undo_last(alma, records=2)
    assert episode.step("four", ok=True).number == 2
    assert [step.action for step in episode.steps] == ["one", "four"]
    episode.succeed()
    assert [step.action for step in alma.get_episode(episode.id).steps] == ["one", "four"]
    assert alma.verify().ok
