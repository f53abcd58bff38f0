"""Rules whose outcomes are near a question are shown in whatever words they are written; scope holds for them as for all others."""

from collections.abc import Mapping
from typing import Any

import pytest

from alma import ALMA
from alma.retrieval.fusion import LEAST_COSINE
from alma.types.recalled import Recalled
from facade import OpenStore

OTHER_WORDS = {"task": "zzyzx quux", "task_type": "deployment"}
"""A question that has no word in common with what is learned here."""


def learn_rule(alma: ALMA, agent: str = "victor") -> None:
    for service in ("auth", "billing", "search"):
        alma.learn(agent, f"Deploy the {service} service", "success", "blue-green", task_type="deployment")


def asked(alma: ALMA, agent: str = "victor", **given: Any) -> list[Recalled]:
    """The heuristics that are shown, explained."""
    found = alma.retrieve(**OTHER_WORDS, agent=agent, explain=True, **given)
    return [item for item in found.recalled if item.memory.kind == "heuristic"]


def test_a_rule_of_near_evidence_is_shown_though_no_word_of_it_is_asked_for(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)

    (shown,) = asked(alma)

    factors = shown.factors
    assert shown.memory.text.endswith("blue-green")
    assert factors is not None
    assert factors.similarity < LEAST_COSINE
    assert shown.score == pytest.approx(sum(getattr(factors, name) * weight for name, weight in factors.weights.items()))


def test_why_a_rule_of_near_evidence_is_shown_is_said_with_its_counts(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")

    told = alma.explain_retrieval(query="zzyzx quux", task_type="deployment", memory_id=rule.id, agent="victor")

    assert told.selected
    assert str(told).endswith("blue-green: worked 3 of 3 times (3 tasks)")


def test_why_a_rule_of_far_evidence_is_not_shown_is_said(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")

    told = alma.explain_retrieval(query="Deploy the cart service", task_type="review", memory_id=rule.id, agent="victor")

    assert "the outcomes behind it are on other tasks than this one" in str(told)


@pytest.mark.parametrize(
    ("agents", "is_shown"),
    [
        ({}, False),
        ({"victor": {"share_with": ["ivan"]}}, False),
        ({"victor": {"share_with": ["helena"]}}, True),
        ({"helena": {"inherit_from": ["victor"]}}, True),
        ({"victor": {"share_with": []}, "helena": {"inherit_from": ["victor"]}}, False),
    ],
)
def test_near_evidence_opens_no_wall(open_store: OpenStore, agents: Mapping[str, Any], is_shown: bool) -> None:
    alma = open_store(agents=agents)
    learn_rule(alma)
    alma.learn("helena", "Water the plants", "success", "a can")

    assert bool(asked(alma, "helena")) is is_shown
    assert asked(alma, "helena", include_shared=False) == []


def test_a_rule_that_was_archived_does_not_come_in(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")

    alma.forget(memory_ids=[rule.id])

    assert asked(alma) == []


def test_a_rule_that_was_purged_does_not_come_in(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")
    assert asked(alma)

    alma.forget(memory_ids=[rule.id], purge=True)

    assert asked(alma) == []


def test_a_rule_whose_making_was_undone_does_not_come_in(open_store: OpenStore) -> None:
    alma = open_store()
    first = alma.learn("victor", "Water the plants", "success", "a can")
    learn_rule(alma)
    assert asked(alma)

    alma.undo(to=alma.history(first.id)[-1].seq)

    assert asked(alma) == []


def test_a_way_of_two_agents_is_one_rule_with_the_counts_of_both(open_store: OpenStore) -> None:
    alma = open_store(agents={"victor": {"share_with": ["*"]}})
    learn_rule(alma, "victor")
    learn_rule(alma, "helena")

    found = alma.retrieve(task="Deploy the cart service", task_type="deployment", agent="helena")

    assert [(rule.success_count, rule.occurrence_count) for rule in found.heuristics] == [(6, 6)]
