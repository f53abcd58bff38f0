"""Outcomes that rest on an agent's own word or on a foreign file: beside others they take few places, and none by being new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from alma.protocols import Candidate
from alma.retrieval.ranking import Ranked
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome

OWN_WORD = "it rests on the agent's own word or an import alone, which takes at most one place for three that others judged"
TRUSTED_FOR_ONE = 3
"""Number of judged outcomes beside each that is not: security.md, "caps"."""


@dataclass(slots=True)
class Caution:
    """Outcomes that are not shown, with the reason, and outcomes that count as no newer than a time, both by row."""

    hidden: dict[int, str] = field(default_factory=dict)
    seen_at: dict[int, int] = field(default_factory=dict)

    def kept(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Returns the candidates without those that are not shown."""
        if not (self.hidden or self.seen_at):
            return candidates
        return [
            one._replace(seen_at=self.seen_at[one.memory]) if one.memory in self.seen_at else one
            for one in candidates
            if one.memory not in self.hidden
        ]

    def note_times(self, candidates: Sequence[Candidate], memories: Mapping[int, AnyMemory]) -> None:
        """Has those that rest on an own word count as no newer than the others of these outcomes are in the middle; than all, if there are no
        others."""
        own = {row for row, memory in memories.items() if rests_on_own_word(memory)}
        seen = {one.memory: one.seen_at for one in candidates if one.memory in memories}
        others = [at for row, at in seen.items() if row not in own]
        newest = median_low(others or list(seen.values()))
        self.seen_at |= {row: newest for row, at in seen.items() if row in own and at > newest}

    def hide_the_rest(self, order: Sequence[Ranked], memories: Mapping[int, AnyMemory], top_k: int) -> None:
        """Hides those that rest on an own word and have no place beside the others. Where there are no others, all have one."""
        outcomes = [item.memory for item in order if item.kind == MemoryType.OUTCOME and item.memory in memories]
        own = [row for row in outcomes if rests_on_own_word(memories[row])]
        others = len(outcomes) - len(own)
        if others:
            places = max(number for number in range(top_k + 1) if TRUSTED_FOR_ONE * number <= min(others, top_k - number))
            self.hidden |= dict.fromkeys(own[places:], OWN_WORD)


def rests_on_own_word(memory: AnyMemory) -> bool:
    """Checks that a memory is an outcome that no tool, person, evaluator or program judged."""
    return isinstance(memory, Outcome) and not memory.verdict_source.is_trusted
