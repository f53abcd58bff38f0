"""Dates of preferences and facts in a prompt: of two that say different things a reader sees which is newer."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from alma import ALMA
from alma.types import DomainKnowledge, UserPreference
from facade import START, ManualClock, Place

GAPS = [timedelta(seconds=40), timedelta(minutes=50), timedelta(hours=5), timedelta(days=9), timedelta(days=200)]
AGES = [timedelta(0), timedelta(hours=3), timedelta(days=200), timedelta(days=900)]
_DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?")


def add_preferences(alma: ALMA, clock: ManualClock, gap: timedelta) -> None:
    alma.add_user_preference("jo", "food", "Loves sushi")
    clock.now += gap
    alma.add_user_preference("jo", "food", "Eats no fish any more, sushi neither")


def add_facts(alma: ALMA, clock: ManualClock, gap: timedelta) -> None:
    alma.add_domain_knowledge("cook", "kitchen", "The sushi bar opens at noon")
    clock.now += gap
    alma.add_domain_knowledge("cook", "kitchen", "Mittags ist die sushi Theke zu")


def shown(alma: ALMA) -> list[str]:
    prompt = alma.retrieve("sushi for lunch", "cook", user_id="jo").to_prompt()
    return [line for line in prompt.splitlines() if "sushi" in line]


@pytest.mark.parametrize("add", [add_preferences, add_facts])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("since", AGES)
def test_of_two_that_differ_the_dates_tell_which_is_newer(
    place: Place, add: Callable[[ALMA, ManualClock, timedelta], None], gap: timedelta, since: timedelta
) -> None:
    clock = ManualClock()
    with place.open(clock=clock) as alma:
        add(alma, clock, gap)
        clock.now += since
        lines = shown(alma)
    dates = {line: _DATE.findall(line)[0] for line in lines}

    older = next(line for line in lines if "Loves" in line or "noon" in line)
    (newer,) = set(lines) - {older}
    if gap >= timedelta(minutes=1) or since < timedelta(hours=1):
        assert dates[older] < dates[newer]


def test_what_was_stated_earlier_than_it_was_stored_has_the_time_of_the_statement(place: Place) -> None:
    clock, stated = ManualClock(), datetime(2024, 5, 6, 7, 8, tzinfo=START.tzinfo)
    with place.open(clock=clock) as alma:
        alma.add_many(
            [
                UserPreference(agent="cook", user_id="jo", category="food", preference="Loves sushi", timestamp=stated),
                DomainKnowledge(agent="cook", domain="kitchen", fact="The sushi bar opens at noon", last_verified=stated),
            ]
        )
        assert all("2024-05-06 07:08, 1 year ago" in line for line in shown(alma))


def test_the_same_slice_has_the_same_prompt_however_much_later(place: Place) -> None:
    clock = ManualClock()
    with place.open(clock=clock) as alma:
        alma.add_user_preference("jo", "food", "Loves sushi")
        found = alma.retrieve("sushi for lunch", "cook", user_id="jo")
        before = found.to_prompt()
        clock.advance(days=9)
        assert found.to_prompt() == before
