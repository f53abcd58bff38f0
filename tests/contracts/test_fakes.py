"""The public fakes, clocks and builders do what they say."""

import gc
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import alma.testing
from alma import ALMA, EmbeddingError
from alma.errors import install_line
from alma.testing import (
    FixedClock,
    MockEmbedder,
    MockStorage,
    SteppingClock,
    make_anti_pattern,
    make_domain_knowledge,
    make_heuristic,
    make_outcome,
    make_slice,
    make_user_preference,
    make_vector_changes,
)
from alma_testing.clocks import START

MAKERS = [make_outcome, make_heuristic, make_anti_pattern, make_domain_knowledge, make_user_preference]


def test_a_mock_embedder_keeps_what_it_was_asked_in_order() -> None:
    embedder = MockEmbedder()
    embedder.embed(["one", "two"])
    embedder.embed([])
    embedder.embed(["three"])
    assert embedder.calls == [("one", "two"), (), ("three",)]
    assert embedder.texts == ["one", "two", "three"]


def test_a_mock_embedder_fails_as_often_as_it_is_told() -> None:
    embedder = MockEmbedder()
    embedder.fail(times=2)
    for _ in range(2):
        with pytest.raises(EmbeddingError, match="as it was set to"):
            embedder.embed(["text"])
    assert embedder.embed(["text"]).shape == (1, 32)
    assert len(embedder.calls) == 3


def test_a_mock_embedder_fails_with_what_it_is_given_until_it_recovers() -> None:
    embedder = MockEmbedder()
    embedder.fail(TimeoutError("too slow"))
    for _ in range(3):
        with pytest.raises(TimeoutError, match="too slow"):
            embedder.embed(["text"])
    embedder.recover()
    assert len(embedder.embed(["text"])) == 1


def test_a_memory_whose_embedder_fails_stores_nothing(tmp_path: Path) -> None:
    embedder = MockEmbedder()
    with ALMA.open(tmp_path, project_id="shop", embedding_provider=embedder) as memory:
        embedder.fail(times=1)
        with pytest.raises(EmbeddingError):
            memory.learn("agent", "Deploy", "success")
        assert memory.get_stats().total == 0
        memory.learn("agent", "Deploy", "success")
        assert memory.get_stats().total == 1


def test_a_mock_store_leaves_nothing_behind() -> None:
    closed, forgotten = MockStorage(), MockStorage()
    folders = [closed.path.parent, forgotten.path.parent]
    assert all(folder.is_dir() for folder in folders)
    closed.close()
    del forgotten
    gc.collect()
    assert not any(folder.exists() for folder in folders)


def test_a_mock_store_in_a_folder_of_the_test_stays_there(tmp_path: Path) -> None:
    store = MockStorage(folder=tmp_path)
    told = store.id
    store.close()
    with_same = MockStorage(folder=tmp_path)
    assert with_same.id == told
    with_same.close()


def test_a_fixed_clock_stands_until_it_is_moved() -> None:
    clock = FixedClock()
    assert clock() == clock() == START
    assert clock.advance(days=2, hours=1) == clock() == START + timedelta(days=2, hours=1)
    clock.advance(timedelta(hours=-1))
    assert clock() == START + timedelta(days=2)
    clock.set(datetime(2030, 1, 1))  # noqa: DTZ001 - naive on purpose
    assert clock() == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_stepping_clock_moves_on_with_each_look() -> None:
    clock = SteppingClock(step=timedelta(minutes=1))
    assert [clock(), clock(), clock()] == [START + timedelta(minutes=number) for number in range(3)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_builder_makes_a_new_memory_each_time_that_differs_in_its_id_alone(make: Any) -> None:
    one, other = make(), make()
    assert one.id != other.id
    assert one == other.model_copy(update={"id": one.id})
    assert one.text
    assert make(confidence=0.25, metadata={"a": 1}).confidence == 0.25
    with pytest.raises(ValueError, match="nonsense"):
        make(nonsense=1)


def test_a_slice_can_be_built_for_tests_of_prompts() -> None:
    memories = [make_heuristic(), make_outcome()]
    built = make_slice(memories, query="Deploy it")
    assert (list(built), built.query, [item.tag for item in built.recalled]) == (memories, "Deploy it", ["H1", "O1"])
    assert built.recalled[0].score > built.recalled[1].score
    assert "blue-green" in built.to_prompt().lower()


def test_vector_changes_can_be_built_from_vectors_alone() -> None:
    changes = make_vector_changes(3, [[1, 0], [0, 1]], dimension=2, first=5, partitions=[7, 8], removed=[1])
    assert (changes.upto, changes.passages.tolist(), changes.memories.tolist()) == (3, [5, 6], [5, 6])
    assert (changes.partitions.tolist(), changes.ties.tolist(), changes.removed.tolist()) == ([7, 8], [5, 6], [1])
    assert changes.is_own.tolist() == [True, True]
    with pytest.raises(TypeError, match="owners"):
        make_vector_changes(1, [[1, 0]], dimension=2, owners=[1])


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["hypothesis", "pytest"])
def test_without_the_test_tools_the_fakes_work_and_the_contracts_name_the_extra(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from alma import MissingDependencyError\n"
        "from alma.testing import MockEmbedder, assert_recalls, make_outcome\n"
        "assert MockEmbedder().embed(['text']).shape == (1, 32)\n"
        "try:\n    from alma.testing import EmbedderContract\n"
        "except MissingDependencyError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    assert told == f"The contracts need {missing}, which is not installed: {install_line('testing')}"


def test_the_public_names_are_those_listed() -> None:
    assert alma.testing.__all__ == sorted(set(alma.testing.__all__))
    for name in alma.testing.__all__:
        assert getattr(alma.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        alma.testing.Nothing  # noqa: B018 - the access is the act
