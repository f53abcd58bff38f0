"""Citations of an episode: durable with its step, counted once at its end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA, Episode


def opened(path: Path) -> ALMA:
    return ALMA.open(path, project_id="shop", embedding_provider="hash")


def begun(alma: ALMA) -> tuple[Episode, list[str]]:
    known = [alma.add_heuristic("dev", "Deploy auth", way).id for way in ("roll out blue-green", "ask before noon")]
    return alma.episode(agent="dev", task="Deploy auth"), known


def used_of(alma: ALMA, episode: Episode) -> dict[str, bool | None]:
    return {shown.memory_id: shown.used for shown in alma.get_episode(episode.id).shown}


def cites_h1(episode: Episode) -> str:
    return episode.observe("As [H1] says, I look first.")[0]


def names_it(episode: Episode) -> str:
    one = episode.memories.heuristics[0].id
    episode.used([one])
    return one


@pytest.mark.parametrize("say", [cites_h1, names_it])
def test_a_citation_is_stored_when_its_step_ends_and_counted_when_its_episode_does(
    tmp_path: Path, say: Callable[[Episode], str]
) -> None:
    with opened(tmp_path) as alma, opened(tmp_path) as other:
        episode, known = begun(alma)
        one = say(episode)
        episode.step("kubectl get pods", ok=True)
        assert used_of(other, episode) == {memory_id: memory_id == one for memory_id in known}
        assert other.get_episode(episode.id).used == episode.record.used == (one,)
        assert not episode.record.credited
        episode.succeed("blue-green")
        assert alma.get_episode(episode.id).credited == (one,)


def test_what_a_program_that_died_had_cited_is_credited_by_a_late_verdict(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        episode, _ = begun(alma)
        one = cites_h1(episode)
        episode.step("kubectl apply", ok=True)
        episode.suspend()
        del episode
        [record] = alma.recent_episodes(1)
        with opened(tmp_path) as other:
            other.resume_episode(record.id).abandon("the machine went down")
            assert other.get_episode(record.id).used == (one,)
            assert other.settle(record.id, "success").credited == (one,)


def test_a_resumed_episode_adds_to_what_was_cited_before(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        episode, known = begun(alma)
        first = cites_h1(episode)
        episode.step("look", ok=True)
        episode.suspend()
        resumed = alma.resume_episode(episode.id)
        (second,) = set(known) - {first}
        resumed.used([second])
        resumed.step("deploy", ok=True)
        assert [step.used for step in resumed.record.steps] == [(first,), (second,)]
        assert resumed.succeed("blue-green").credited == (first, second)


def test_each_citation_is_stored_with_one_step(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        episode, _ = begun(alma)
        one = cites_h1(episode)
        assert [episode.step(action, ok=True).used for action in ("look", "deploy")] == [(one,), None]
        cites_h1(episode)
        assert episode.step("look again").used is None


def test_without_a_citation_the_use_stays_unknown(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        episode, known = begun(alma)
        episode.observe("Nothing of use.")
        episode.step("look", ok=True)
        assert used_of(alma, episode) == dict.fromkeys(known)
        assert alma.get_episode(episode.id).used is None


def test_a_step_that_is_undone_takes_its_citation_along(tmp_path: Path) -> None:
    with opened(tmp_path) as alma:
        episode, known = begun(alma)
        seq = alma.get_stats().journal_records
        cites_h1(episode)
        episode.step("look", ok=True)
        alma.undo(to=seq)
        assert used_of(alma, episode) == dict.fromkeys(known)
