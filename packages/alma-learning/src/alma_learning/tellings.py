"""Two tellings of one conversation: which turns of the second are new, and where they stand in the first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

TELLING = 60
"""Characters of consecutive turns by which a conversation is known again: a greeting and its answer have fewer. `tests/learning/test_tellings.py`
plays 400 talks in which a third of the turns are one of four short answers, saved as windows of 8 to 12 turns, some twice or late
(29 November 2026): none loses a turn, 24 have turns twice."""

Said = TypeVar("Said", bound=tuple[str, str, bool])
"""A turn: the speaker, the text, and whether a person said it."""

Additions = Mapping[int, Sequence[Said]]
"""Turns to keep in place of the stored turn of a number, itself among them if it stays; under the number after the last one, those to append."""


def compare_turns(
    stored: Sequence[Said], given: Sequence[Said], *, is_apart: bool = False, is_again: bool = False
) -> Additions[Said] | None:
    """Returns what turns add to those of a session; `None` if they share nothing with these and are apart in time.

    Turns known again add as many of each turn as are missing, each in its place. Other turns follow the stored ones, after the longest overlap of
    the stored end with the given beginning. `is_again`: the caller knows both for tellings of one conversation.
    """
    if (is_again or _is_known_again(stored, given)) and (new := _find_missing(stored, given, is_apart=is_apart)) is not None:
        return new
    sizes = range(min(len(stored), len(given)), 0, -1)
    overlap = next((size for size in sizes if tuple(stored[-size:]) == tuple(given[:size])), 0)
    return None if is_apart and not overlap else {len(stored): given[overlap:]}


def join_turns(stored: Sequence[Said], given: Sequence[Said]) -> tuple[Said, ...]:
    """Returns the turns of two tellings of one conversation, each as often as in the one that has it more often."""
    return with_additions(_find_missing(stored, given, is_whole=True) or {}, stored, 0, len(stored) + 1)


def with_additions(new: Additions[Said], stored: Sequence[Said], start: int, end: int) -> tuple[Said, ...]:
    """Returns the turns from one number to another, exclusive, with those that are added there."""
    return tuple(turn for at in range(start, end) for turn in new.get(at, stored[at : at + 1]))


def _is_known_again(stored: Sequence[Said], given: Sequence[Said]) -> bool:
    """Checks for a telling run of turns that both have: two turns at least, or their common beginning, with an answer that grew."""
    run = SequenceMatcher(None, stored, given, autojunk=False).find_longest_match()
    if run.size > 1 and count_characters(given[run.b : run.b + run.size]) >= TELLING:
        return True
    alike = next(
        (at for at, (one, other) in enumerate(zip(stored, given, strict=False)) if one != other), min(len(stored), len(given))
    )
    has_grown = 0 < alike == len(stored) - 1 and alike < len(given) and _longer_form(stored[alike], given[alike]) is not None
    return has_grown or count_characters(given[:alike]) >= TELLING


def _find_missing(
    stored: Sequence[Said], given: Sequence[Said], *, is_apart: bool = False, is_whole: bool = False
) -> Additions[Said] | None:
    """Returns what a telling adds; `None` for one that is apart in time and has less than half of the shorter one's characters in common.

    Behind the last stored turn, and before the first, each turn is new, a second "yes" too; unless the telling is whole.
    """
    found = SequenceMatcher(None, stored, given, autojunk=False)
    common = sum(count_characters(given[block.b : block.b + block.size]) for block in found.get_matching_blocks())
    if is_apart and 2 * common < min(count_characters(stored), count_characters(given)):
        return None
    surplus, new, last = Counter(given) - Counter(stored), dict[int, list[Said]](), len(stored) - 1
    for tag, start, place, first, end in found.get_opcodes():
        told = [] if tag == "equal" else list(given[first:end])
        if told and start == last < place and (longer := _longer_form(stored[last], told[0])):
            new[last], told = [longer], told[1:]
        is_beyond = tag == "insert" and start in (0, len(stored)) and not is_whole
        missing = []
        for turn in told:
            if is_beyond or surplus[turn] > 0:
                surplus[turn] -= 1
                missing.append(turn)
        if missing:
            new[place] = [*missing, *stored[place : place + 1]]
    return new


def _longer_form(one: Said, other: Said) -> Said | None:
    """Returns the longer of two forms of an answer that was still being written; `None` if neither begins with the other."""
    shorter, longer = sorted((one, other), key=lambda turn: len(turn[1]))
    is_same = shorter[0] == longer[0] and not longer[2] and longer[1].startswith(shorter[1])
    return longer if is_same else None


def count_characters(turns: Sequence[Said]) -> int:
    """Returns the number of characters that were said."""
    return sum(len(turn[1]) for turn in turns)
