"""Outcomes that rest on an agent's own word or on a foreign file: beside others they take few places, and none by being new."""

from collections.abc import Mapping, Sequence
from statistics import median_low

from alma.memory.recall.relevant_rules import RelevantRules
from alma.protocols import Candidate
from alma.retrieval.ranking import Ranked
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome

OWN_WORD = "it rests on the agent's own word or an import alone, which takes at most one place for three that others judged"
TRUSTED_FOR_ONE = 3
"""Number of judged outcomes beside each that is not: security.md, "caps"."""


def rests_on_own_word(memory: AnyMemory) -> bool:
    """Returns True if it is an outcome that no tool, person, evaluator or program judged."""
    return isinstance(memory, Outcome) and not memory.verdict_source.is_trusted


def no_newer_than_others(rules: RelevantRules, candidates: Sequence[Candidate], memories: Mapping[int, AnyMemory]) -> None:
    """Has those that rest on an own word count as no newer than the others of these outcomes are in the middle; than all, if there are no others."""
    own = {row for row, memory in memories.items() if rests_on_own_word(memory)}
    seen = {one.memory: one.seen_at for one in candidates if one.memory in memories}
    others = [at for row, at in seen.items() if row not in own]
    newest = median_low(others or list(seen.values()))
    rules.seen_at |= {row: newest for row, at in seen.items() if row in own and at > newest}


def hide_the_rest(rules: RelevantRules, order: Sequence[Ranked], memories: Mapping[int, AnyMemory], top_k: int) -> None:
    """Hides those that rest on an own word and have no place beside the others. Where there are no others, all have one."""
    outcomes = [item.memory for item in order if item.kind == MemoryType.OUTCOME and item.memory in memories]
    own = [row for row in outcomes if rests_on_own_word(memories[row])]
    others = len(outcomes) - len(own)
    if others:
        places = max(number for number in range(top_k + 1) if TRUSTED_FOR_ONE * number <= min(others, top_k - number))
        rules.hidden |= dict.fromkeys(own[places:], OWN_WORD)
