"""Neither a small agent nor a rare kind starves in a crowd of tens of thousands."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from alma import ALMA, Heuristic, Outcome
from facade import NewPlace

pytestmark = pytest.mark.slow  # whichever test comes first makes the crowd

CROWD = 21_000
"""More than a partition of which all vectors are held, see `CODES_ABOVE`."""
WORDS = [f"{first}{second}" for first in ("auth", "cart", "mail", "disk", "user", "form") for second in range(40)]


@dataclass(frozen=True)
class Crowded:
    alma: ALMA
    own: Outcome
    rules: frozenset[str]


@pytest.fixture(scope="module")
def crowded(new_place: NewPlace) -> Iterator[Crowded]:
    """21,000 outcomes and 20 heuristics of one agent, a single outcome of another, all about the same few things."""
    chance = random.Random(7)
    with new_place().open(embedding_dim=48) as alma:
        alma.learn_many(
            {"agent": "crowd", "task": f"Deploy {' '.join(chance.choices(WORDS, k=3))}", "outcome": number % 3 > 0}
            for number in range(CROWD)
        )
        own = alma.learn("loner", "Deploy the auth7 service for user9", "success")
        rules = alma.add_many(
            Heuristic(agent="crowd", condition=f"Deploy {WORDS[number]}", strategy=f"step by step, way {number}")
            for number in range(20)
        )
        yield Crowded(alma, own, frozenset(rules))


def test_one_own_memory_comes_back_from_among_a_crowd_of_others(crowded: Crowded) -> None:
    for question in ("Deploy auth7 user9", "Deploy the service", "user9"):
        assert crowded.alma.retrieve(question, "loner").ids == [crowded.own.id]


def test_twenty_heuristics_come_back_from_among_a_crowd_of_outcomes(crowded: Crowded) -> None:
    for top_k in (5, 20):
        memories = crowded.alma.retrieve("Deploy auth3 auth5 auth9", "crowd", top_k=top_k)
        assert len(memories.heuristics) == top_k
        assert {memory.id for memory in memories.heuristics} <= crowded.rules
        assert len(memories.outcomes) == top_k


def test_the_best_of_a_crowd_comes_first(crowded: Crowded) -> None:
    rare = crowded.alma.learn("crowd", "Deploy zebra17 behind the proxy", "success")
    assert crowded.alma.retrieve("zebra17", "crowd").outcomes[0].id == rare.id


def test_a_stranger_gets_nothing_of_a_crowd(crowded: Crowded) -> None:
    assert crowded.alma.retrieve("Deploy auth3 auth5", "stranger", top_k=100).total_items == 0
