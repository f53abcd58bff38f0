"""Prompts of real retrievals: the same bytes wherever they are made, never over budget, whatever the memories say."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.testing import FixedClock
from alma.text import estimate_tokens
from alma.types.prompt import FENCE, FENCE_END
from alma_testing.contracts.texts import storable_texts
from facade import StoredIn
from memory_strategies import forging_texts, hostile_texts
from other_process import OtherProcess

NUMBERS = count()
texts = storable_texts | (hostile_texts | forging_texts).filter(str.strip)

SETUP = """
import json
from alma import ALMA, MemorySlice
from alma.testing import FixedClock

def prompt(text, budget):
    return MemorySlice.from_json(text).to_prompt(budget)

def asked(folder, project, question, budget):
    with ALMA.open(folder, project_id=project, embedding_provider="hash", clock=FixedClock()) as alma:
        found = alma.retrieve(question, "ann", user_id="ann", top_k=20)
        return [found.to_json(), found.to_prompt(budget)]
"""


@pytest.fixture(scope="module")
def other() -> Iterator[OtherProcess]:
    with OtherProcess(SETUP) as process:
        yield process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prompts")


@pytest.fixture(scope="module")
def store(folder: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    """A store in which each example takes a project of its own."""
    with ALMA.open(folder, project_id="first", embedding_provider="hash", clock=FixedClock(), **stored_in(folder)) as alma:
        yield alma


def filled(store: ALMA, said: list[str]) -> ALMA:
    """A project in which each text is all there is to say, in every kind."""
    alma = store.for_project(f"project {next(NUMBERS)}")
    for text in said:
        alma.learn("ann", text, "failure", text, error_message=text, feedback=text)
        alma.add_heuristic("ann", text, text)
        alma.add_anti_pattern("ann", text, text, text)
        alma.add_domain_knowledge("ann", "facts", text)
        alma.add_user_preference("ann", "style", text)
    return alma


@pytest.mark.slow
@settings(max_examples=20)
@given(said=st.lists(texts, min_size=1, max_size=2), question=texts, budget=st.integers(0, 3000))
def test_a_prompt_is_the_same_in_another_process_and_within_its_budget(
    store: ALMA, folder: Path, other: OtherProcess, said: list[str], question: str, budget: int
) -> None:
    alma = filled(store, said)
    found = alma.retrieve(question, "ann", user_id="ann", top_k=20)
    prompt = found.to_prompt(budget)
    elsewhere = other.ask(f"json.dumps(asked({str(folder)!r}, {alma.project_id!r}, {question!a}, {budget}))")
    assert json.loads(eval(elsewhere)) == [found.to_json(), prompt]
    carried = other.ask(f"json.dumps(prompt({found.to_json()!a}, {budget}))")
    assert json.loads(eval(carried)) == prompt
    assert estimate_tokens(prompt) <= budget


@pytest.mark.slow
@settings(max_examples=20)
@given(said=st.lists(texts, min_size=1, max_size=2), budget=st.integers(0, 2000))
def test_a_prompt_has_one_fence_and_the_tags_of_its_items_alone(store: ALMA, said: list[str], budget: int) -> None:
    alma = filled(store, said)
    found = alma.retrieve(said[0], "ann", user_id="ann", top_k=20)
    prompt = found.to_prompt(budget)
    lines = prompt.split("\n")
    if not prompt:
        return
    assert (lines[0], lines[-1]) == (FENCE, FENCE_END)
    assert prompt.count("<<<") == prompt.count(">>>") == 2
    tagged = [line.partition("]")[0][1:] for line in lines if line.startswith("[")]
    tags = {item.tag: item.memory.id for item in found.recalled} | {way.tag: way.id for way in found.strategies if way.tag}
    assert set(tagged) <= set(tags)
    assert len(tagged) == len(set(tagged))
    assert set(found.cited(prompt)) == {tags[tag] for tag in tagged}
    assert found.cited("\n".join(found.notes())) == []
