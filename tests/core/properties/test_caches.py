"""What a process remembers of a store between its questions answers as one that has just been opened and remembers nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.memory.room import SearchSizes
from alma.types import MemorySlice
from sized import TINY, open_sized

WORDS = ("deploy", "deploying", "ledger", "website", "agreed", "naïve", "v2.1", "plants", "water")
AGENTS: dict[str, Any] = {"ann": {"share_with": ["*"]}, "bob": {}}

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
agents = st.sampled_from(sorted(AGENTS))
steps = st.one_of(
    st.tuples(st.just("learn"), agents, texts),
    st.tuples(st.just("learn many"), agents, texts),
    st.tuples(st.sampled_from(["archive", "undo", "purge", "ask"]), agents, texts),
)


def opened(folder: Path, sizes: SearchSizes) -> ALMA:
    return open_sized(folder, sizes, agents=AGENTS)


def take(alma: ALMA, step: str, agent: str, text: str, found: MemorySlice) -> None:
    if step == "learn":
        alma.learn(agent, text, "success", strategy_used=text[::-1])
    elif step == "learn many":
        tasks = (f"{text} {number}" for number in range(8))
        alma.learn_many({"agent": agent, "task": task, "outcome": "failure", "strategy_used": text} for task in tasks)
    elif step == "undo":
        alma.undo(to=alma.storage.project(alma.project_id).head() - 1)
    elif found.ids and step == "archive":
        alma.forget(memory_ids=found.ids[:1])
    elif found.ids and step == "purge":
        alma.purge(memory_ids=found.ids[:1])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [SearchSizes(), TINY], ids=["usual", "tiny"])
def test_any_question_is_answered_as_by_a_process_that_has_just_begun(
    tmp_path_factory: pytest.TempPathFactory, sizes: SearchSizes
) -> None:
    @settings(max_examples=40, deadline=None)
    @given(made=st.lists(steps, min_size=3, max_size=10), other=st.integers(0, 3))
    def holds(made: list[tuple[str, str, str]], other: int) -> None:
        folder = tmp_path_factory.mktemp("caches")
        with opened(folder, sizes) as alma, opened(folder, sizes) as elsewhere:
            alma.learn("ann", "deploy ledger", "success", strategy_used="plants")
            found = alma.retrieve(" ".join(WORDS), "ann")
            for number, (step, agent, text) in enumerate(made):
                take(elsewhere if number % 4 == other else alma, step, agent, text, found)
                found = alma.retrieve(text, agent, explain=True)
                with opened(folder, sizes) as anew:
                    assert found == anew.retrieve(text, agent, explain=True)

    holds()
