"""Chooses what of a slice goes into a prompt: whole memories in their order, of conversations the turns that are worth their tokens. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence

from alma.types.recalled import Recalled, TurnHit
from alma.types.sentences import HITS

Fits = Callable[[Mapping[str, Recalled]], bool]
"""Says whether a prompt of these items, by tag, is within its budget."""

SLOPE, OFFSET = 0.455, -7.1
"""Probability that a turn is evidence, as a logistic function of its score: fitted on LoCoMo's development questions."""

MOST_MISSED = 8
"""Further turns that are tried in vain before a prompt counts as full: to try one is to count the tokens of the whole."""


def packed(items: Sequence[Recalled], fits: Fits, size: Callable[[str], int]) -> dict[str, Recalled]:
    """Returns the items that go into a prompt, by tag, in their order, conversations with the turns that are shown.

    Memories that are no conversations come in their order, with the best turn of each conversation that is before one of them. Then come the
    other turns, those first that are most likely evidence for what they cost: the probability over the root of the tokens, since evidence is no
    shorter than other turns. What does not fit is left out.
    """
    whole = {item.tag: _showing(item, item.turns) for item in items}
    if fits(whole):
        return whole
    kept: dict[str, Recalled] = {}

    def take(longer: Recalled) -> bool:
        if is_fitting := fits(longer_kept := {**kept, longer.tag: longer}):
            kept.update(longer_kept)
        return is_fitting

    last = max((place for place, item in enumerate(items) if not item.turns), default=-1)
    for item in items[: last + 1]:
        take(_showing(item, item.turns[:1]))
    turns = [(item, turn) for item in items for turn in item.turns if turn not in _shown(kept, item)]
    turns.sort(key=lambda pair: -probability(pair[1].score) / math.sqrt(1 + size(pair[1].line)))
    missed = 0
    for item, turn in turns:
        if not take(_showing(item, [*_shown(kept, item), turn])) and (missed := missed + 1) == MOST_MISSED:
            break
    return {item.tag: kept[item.tag] for item in items if item.tag in kept}


def probability(score: float) -> float:
    """Returns the probability that a turn with this score is evidence for the question."""
    return 1.0 / (1.0 + math.exp(-max(min(SLOPE * score + OFFSET, 50.0), -50.0)))


def _shown(kept: Mapping[str, Recalled], item: Recalled) -> Sequence[TurnHit]:
    return kept[item.tag].turns if item.tag in kept else ()


def _showing(item: Recalled, turns: Sequence[TurnHit]) -> Recalled:
    """The item with these of its turns, in the order in which they were said; any other item as it is."""
    if not item.turns:
        return item
    shown = sorted(turns, key=lambda turn: turn.position)
    metadata = {**item.memory.metadata, HITS: [turn.line for turn in shown]}
    nearest = tuple(sorted(turns, key=lambda turn: -turn.score))
    return item.model_copy(update={"turns": nearest, "memory": item.memory.model_copy(update={"metadata": metadata})})
