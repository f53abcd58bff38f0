"""Tellings of one conversation: whatever is stored and whatever comes, no turn is lost, none is moved, and the same again adds nothing."""

import random
from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from alma_learning.tellings import TELLING, compare_turns, join_turns, with_additions

Said = tuple[str, str, bool]

TEXTS = [
    "Yes",
    "No",
    "Ja, gern.",
    "好的",
    "Where is the key to the cellar?",
    "It hangs behind the door, on the second hook.",
    "x" * 90,
]
TURNS = st.builds(lambda text, is_own: ("user" if is_own else "assistant", text, is_own), st.sampled_from(TEXTS), st.booleans())
TALKS = st.lists(TURNS, min_size=1, max_size=12)


def told(stored: Sequence[Said], new: Sequence[Said], *, is_apart: bool = False) -> tuple[Said, ...] | None:
    found = compare_turns(stored, new, is_apart=is_apart)
    return None if found is None else with_additions(found, stored, 0, len(stored) + 1)


def is_within(part: Sequence[Said], whole: Sequence[Said]) -> bool:
    """Checks that the turns of a part stand in the whole in their order."""
    left = iter(whole)
    return all(turn in left for turn in part)


@given(TALKS, TALKS, st.booleans())
def test_no_stored_turn_is_lost_or_moved_and_every_new_one_is_there(stored: list[Said], new: list[Said], is_apart: bool) -> None:
    result = told(stored, new, is_apart=is_apart)
    if result is not None:
        assert is_within(stored, result)
        assert set(result) == {*stored, *new}
        assert len(result) <= len(stored) + len(new)


@given(TALKS, st.integers(0, 12))
def test_the_whole_after_a_part_is_the_whole_and_a_part_after_the_whole_adds_nothing(talk: list[Said], end: int) -> None:
    part = talk[:end] or talk
    assert told(part, talk) == tuple(talk)
    if sum(len(text) for _, text, _ in part) >= TELLING:  # a short beginning could be said again
        assert told(talk, part) == tuple(talk)


@given(TALKS, st.integers(1, 12))
def test_the_end_of_a_talk_adds_nothing(talk: list[Said], size: int) -> None:
    assert told(talk, talk[-size:]) == tuple(talk)


@given(TALKS, TALKS)
def test_of_two_tellings_each_turn_is_kept_as_often_as_in_the_one_that_has_it_more_often(
    one: list[Said], other: list[Said]
) -> None:
    assert Counter(join_turns(one, other)) == Counter(one) | Counter(other)
    assert Counter(join_turns(one, other)) == Counter(join_turns(other, one))


@given(TALKS, TALKS)
def test_turns_that_share_nothing_follow_or_are_told_apart_from(talk: list[Said], other: list[Said]) -> None:
    fresh = [(speaker, f"{text} once more", is_own) for speaker, text, is_own in other]
    assert told(talk, fresh) == (*talk, *fresh)
    assert told(talk, fresh, is_apart=True) is None


def test_an_answer_that_grew_is_one_turn() -> None:
    begun, whole = ("assistant", "It hangs", False), ("assistant", "It hangs behind the door.", False)
    asked = ("user", "Where is the key?", True)
    assert told([asked, begun], [asked, whole]) == told([asked, whole], [asked, begun]) == (asked, whole)


@given(
    st.lists(st.sampled_from(["ok", "yes", ""]), min_size=9, max_size=40), st.lists(st.integers(1, 4), min_size=40, max_size=40)
)
def test_the_newest_turns_saved_again_and_again_are_the_talk_although_it_says_yes_often(
    short: list[str], steps: list[int]
) -> None:
    talk = [("user", text or f"Turn {number}: {'w' * 60}", True) for number, text in enumerate(short)]
    talk = [one for number, turn in enumerate(talk) for one in (turn, ("assistant", f"Answer {number} {'v' * 40}", False))]
    stored, end = tuple(talk[:4]), 4
    for step in steps:
        end = min(end + step, len(talk))
        stored = told(stored, talk[max(end - 8, 0) : end]) or ()
    assert stored == tuple(talk[:end])


def saved_in_windows(talk: Sequence[Said], chance: random.Random) -> tuple[Said, ...]:
    """Returns what is stored of a talk whose newest 8 to 12 turns are saved again and again, a tenth of the saves late and some twice."""
    ends = [0]
    while ends[-1] < len(talk):
        ends.append(min(len(talk), ends[-1] + chance.randint(1, 4)))
    windows = [(max(0, end - chance.choice([8, 8, 12])), end) for end in ends[1:]]
    for late in range(len(windows) - 1):
        if chance.random() < 0.1:
            windows[late], windows[late + 1] = windows[late + 1], windows[late]
    stored: tuple[Said, ...] = ()
    for start, end in windows:
        for _ in range(1 + (chance.random() < 0.15)):
            stored = (told(stored, talk[start:end]) or ()) if stored else tuple(talk[start:end])
    return stored


def test_talks_of_short_answers_saved_late_and_twice_lose_nothing_and_hardly_repeat() -> None:
    lost = twice = 0
    for seed in range(400):
        chance = random.Random(seed)
        talk = [
            (
                ("user", "assistant")[at % 2],
                chance.choice(["ok", "yes", "thanks", "go on"])
                if chance.random() < 0.35
                else f"Turn {at} {'w' * chance.randint(20, 60)}",
                at % 2 == 0,
            )
            for at in range(chance.randint(20, 60))
        ]
        stored = Counter(saved_in_windows(talk, chance))
        lost += bool(Counter(talk) - stored)
        twice += bool(stored - Counter(talk))
    assert lost == 0
    assert twice <= 40
