"""Who judged an attempt, as its ending says it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConflictError, Episode, ValidationError
from facade import OpenStore, StoredIn, refused

TASK = "Deploy auth service"

ENDINGS: dict[str, Callable[[Episode, str | None], object]] = {
    "succeed": lambda episode, source: episode.succeed("blue-green", source=source),
    "fail": lambda episode, source: episode.fail("broken", source=source),
    "partial": lambda episode, source: episode.partial("blue-green", source=source),
    "end": lambda episode, source: episode.end("success", source=source),
    "end unverified": lambda episode, source: episode.end(strategy="blue-green", source=source),
}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_the_source_of_an_ending_is_kept_with_the_record_and_with_the_memory(
    alma: ALMA, end: Callable[[Episode, str | None], object]
) -> None:
    with alma.episode("dev", TASK, episode_id="e1") as episode:
        end(episode, "Evaluator")
    assert episode.record.verdict_source == alma.get_episode("e1").verdict_source == "evaluator"
    assert alma.get(str(episode.record.outcome_id)).verdict_source == "evaluator"


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_without_a_source_the_record_names_none_and_the_memory_the_caller(
    alma: ALMA, end: Callable[[Episode, str | None], object]
) -> None:
    with alma.episode("dev", TASK, episode_id="e1") as episode:
        end(episode, None)
    assert episode.record.verdict_source is alma.get_episode("e1").verdict_source is None
    assert alma.get(str(episode.record.outcome_id)).verdict_source == "caller"


def test_the_agents_own_word_alone_is_no_alternative_and_a_tools_verdict_is(alma: ALMA) -> None:
    for source, alternative in (("agent", None), ("tool", "blue-green")):
        for number in range(2):
            alma.learn("dev", f"{TASK} {number}", "failure", "all at once")
            with alma.episode("dev", f"{TASK} {number}") as episode:
                episode.succeed("blue-green", source=source)
        (warning,) = alma.list_memories("anti_pattern")
        assert warning.better_alternative == alternative


@pytest.mark.parametrize("source", ["oracle", "", 3, ["tool"]])
def test_a_source_that_is_none_ends_nothing(alma: ALMA, source: object) -> None:
    episode = alma.episode("dev", TASK)
    with refused(alma, ValidationError, "source must be one of tool, person"):
        episode.succeed(source=source)  # type: ignore[arg-type]
    assert episode.is_open


def test_ending_again_with_another_source_is_a_conflict_and_with_none_nothing(alma: ALMA) -> None:
    episode = alma.episode("dev", TASK)
    ended = episode.succeed(source="tool")
    assert episode.succeed() == episode.succeed(source="tool") == ended
    with refused(alma, ConflictError, "ended before"):
        episode.succeed(source="person")


def test_settling_replaces_the_source_of_the_ending(alma: ALMA) -> None:
    with alma.episode("dev", TASK) as episode:
        episode.succeed(source="evaluator")
    assert alma.settle(episode.id, "failure").verdict_source == "evaluator"
    assert alma.settle(episode.id, "failure", source="person").verdict_source == "person"
    assert alma.get_episode(episode.id).verdict_source == "person"
    assert alma.verify().ok


def test_an_episode_for_asyncio_takes_the_source_too(tmp_path: Path, stored_in: StoredIn) -> None:
    async def work() -> str | None:
        async with (
            AsyncALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as alma,
            alma.episode("dev", TASK) as episode,
        ):
            ended = await episode.fail("broken", source="tool")
            return (await alma.get_episode(ended.id)).verdict_source

    assert asyncio.run(work()) == "tool"


def test_the_source_crosses_an_export(open_store: OpenStore, tmp_path: Path) -> None:
    alma, other = open_store(), open_store("other")
    with alma.episode("dev", TASK, episode_id="e1") as episode:
        episode.succeed(source="tool")
    alma.export(tmp_path / "shop.jsonl")
    other.import_from(tmp_path / "shop.jsonl")
    assert other.get_episode("e1").verdict_source == "tool"
