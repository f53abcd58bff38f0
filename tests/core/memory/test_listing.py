"""Going through what a project holds."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from alma import ALMA, ScopeViolationError, ValidationError
from facade import START, ManualClock
from meetings import MEETING, notes


@pytest.fixture
def shop(alma: ALMA, clock: ManualClock) -> ALMA:
    """Six memories, one a day."""
    alma.register_memory_type(MEETING)
    for add in (
        lambda: alma.learn("dev", "first", "success"),
        lambda: alma.add_heuristic("dev", "when", "second"),
        lambda: alma.add("meeting_note", agent="dev", **notes(summary="third", action_items=[])),
        lambda: alma.learn("eve", "fourth", "failure"),
        lambda: alma.add_user_preference("dev", "tone", "fifth"),
        lambda: alma.add_user_preference("maria", "tone", "sixth"),
    ):
        add()
        clock.advance(days=1)
    return alma


def texts(found: list[Any]) -> list[str]:
    return [memory.text.split(": ")[-1] for memory in found]


def test_the_newest_come_first_and_the_oldest_when_asked(shop: ALMA) -> None:
    order = ["first", "second", "third", "fourth", "fifth", "sixth"]

    assert texts(shop.list_memories(newest_first=False)) == order
    assert texts(shop.list_memories()) == order[::-1]
    assert texts(shop.list_memories(limit=2)) == ["sixth", "fifth"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kind": "outcome"}, ["fourth", "first"]),
        ({"kind": "meeting_note"}, ["third"]),
        ({"kind": "anti_pattern"}, []),
        ({"agent": "dev"}, ["third", "second", "first"]),
        ({"agent": "nobody"}, []),
        ({"user_id": "dev"}, ["fifth"]),
        ({"agent": "eve", "user_id": "maria"}, ["sixth", "fourth"]),
        ({"kind": "outcome", "agent": "dev"}, ["first"]),
        ({"since": START + timedelta(days=4)}, ["sixth", "fifth"]),
        ({"since": datetime(2026, 3, 5, 12)}, ["sixth", "fifth"]),  # noqa: DTZ001 - a naive time is UTC
        ({"since": START + timedelta(days=9)}, []),
    ],
)
def test_a_list_can_be_narrowed(shop: ALMA, wanted: dict[str, Any], expected: list[str]) -> None:
    assert texts(shop.list_memories(**wanted)) == expected


def test_what_is_forgotten_and_what_is_elsewhere_is_not_listed(shop: ALMA) -> None:
    shop.forget(memory_ids=[memory.id for memory in shop.list_memories(agent="dev")])

    assert texts(shop.list_memories()) == ["sixth", "fifth", "fourth"]
    assert shop.for_project("elsewhere").list_memories() == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"words": "Tokens expired"}, ["outcome", "domain_knowledge", "conversation"]),
        ({"words": "expires", "kind": "conversation"}, ["conversation"]),
        ({"words": "token", "user_id": "maria"}, ["user_preference"]),
        ({"words": "token", "limit": 1, "newest_first": False}, ["user_preference"]),
        ({"words": "naive cafe"}, ["domain_knowledge"]),
        ({"words": "refresh"}, ["outcome"]),
        ({"words": "猫"}, ["domain_knowledge"]),
        ({"words": "token nowhere"}, []),
    ],
)
def test_a_list_by_words_has_what_contains_all_of_them(
    alma: ALMA, clock: ManualClock, wanted: dict[str, Any], expected: list[str]
) -> None:
    for add in (
        lambda: alma.add_user_preference("maria", "tone", "Never print a token"),
        lambda: alma.add_conversation([("maria", "My token expires!"), ("dev", "I see.")], "dev", "s1"),
        lambda: alma.add_domain_knowledge("dev", "auth", "A token expired in the naïve café; 我的猫"),
        lambda: alma.learn("dev", "Log in", "failure", "refresh", error_message="token expired"),
    ):
        add()
        clock.advance(days=1)
    assert [memory.kind for memory in alma.list_memories(**wanted)] == expected


def test_a_list_by_words_has_the_rules_that_were_learned(alma: ALMA) -> None:
    for number in range(4):
        alma.learn("dev", f"Deploy service {number}", "success", "canary first")
    rules = [memory.id for memory in alma.list_memories("heuristic")]
    assert rules
    assert [memory.id for memory in alma.list_memories("heuristic", words="Canaries")] == rules
    assert alma.list_memories("heuristic", words="canary nowhere") == []


def test_a_list_by_words_has_no_memory_that_was_forgotten(alma: ALMA) -> None:
    fact = alma.add_domain_knowledge("dev", "auth", "A token expires")
    alma.forget(memory_ids=[fact.id])
    assert alma.list_memories(words="token") == []


@pytest.mark.parametrize(
    ("wanted", "error", "match"),
    [
        ({"kind": "meting_note"}, ValidationError, "did you mean 'meeting_note'"),
        ({"kind": 5}, ValidationError, "kind"),
        ({"agent": ""}, ScopeViolationError, "agent"),
        ({"limit": 0}, ValidationError, "limit is 0"),
        ({"limit": True}, ValidationError, "limit"),
        ({"words": "?!"}, ValidationError, "words contains no word"),
        ({"since": "yesterday"}, ValidationError, "since must be a datetime"),
    ],
)
def test_a_wish_that_cannot_be_met_is_told(shop: ALMA, wanted: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        shop.list_memories(**wanted)
