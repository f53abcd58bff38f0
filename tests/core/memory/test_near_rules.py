"""Rules whose evidence is near a question contend in whatever words they are written; scope holds for them as for all others."""

from collections.abc import Mapping
from typing import Any

import pytest

from alma import ALMA
from alma.retrieval.fusion import LEAST_COSINE, LEAST_SHARE
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

    why = shown.explanation
    assert why is not None
    assert why.evidence is not None
    assert (why.cosine < LEAST_COSINE, why.share < LEAST_SHARE) == (True, True)
    assert (why.evidence.home, why.evidence.nearest) == (1.0, 1.0)
    assert "evidence: weight 1.00 of the task it began on" in str(why)


def test_why_a_rule_of_near_evidence_is_shown_is_told_by_its_evidence(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")

    told = alma.explain_retrieval(query="zzyzx quux", task_type="deployment", memory_id=rule.id, agent="victor")

    assert told.selected
    assert "its evidence is near: weight 1.00" in str(told)


def test_why_a_rule_of_far_evidence_is_not_shown_is_told_with_the_numbers(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)
    (rule,) = alma.list_memories(kind="heuristic")

    told = alma.explain_retrieval(query="Deploy the cart service", task_type="review", memory_id=rule.id, agent="victor")

    assert "its evidence is on other tasks than this one" in str(told)


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


def test_a_rule_that_is_found_and_near_is_shown_once(open_store: OpenStore) -> None:
    alma = open_store(agents={"victor": {"share_with": ["*"]}})
    learn_rule(alma, "victor")
    learn_rule(alma, "helena")

    found = alma.retrieve(task="Deploy the cart service", task_type="deployment", agent="helena")

    assert [rule.agent for rule in found.heuristics] == ["helena"]


def test_a_question_by_words_alone_is_answered_by_words_alone(open_store: OpenStore) -> None:
    alma = open_store()
    learn_rule(alma)

    assert asked(alma, arms=["text"]) == []
