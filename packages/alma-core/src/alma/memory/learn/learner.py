"""Learning from outcomes, inside the write that stores them: what they say is read from them later, so storing them is all there is to do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from alma.memory.quarantine import may_release, needs_quarantine, put_in, release_corroborated, take_out
from alma.memory.room import Room
from alma.protocols import Write
from alma.text import matched_text
from alma.types.memories import Memory, Outcome
from alma.types.passages import Passage


def strategy_texts(outcome: Outcome) -> list[str]:
    """Returns what has to be embedded for an outcome to be learned from, beside its passages."""
    return [matched_text(outcome.strategy_used)] if outcome.strategy_used else []


@contextmanager
def writing(room: Room, *, actor: str, operation: str, at: int) -> "Iterator[Learner]":
    """Opens a write that stores outcomes among other memories."""
    texts = room.store.texts
    texts.scale(room.project)  # before the lock: another embedder than ours may be asked
    kept = {**texts.background(room.project), **texts.compared}
    with room.project.write(actor=actor, operation=operation, at=at) as write:
        write.keep_vectors(kept)
        yield Learner(write, at)


@dataclass(frozen=True, slots=True)
class Learner:
    """Stores memories in one write. Suspicious ones go into quarantine, and come out when a judged outcome confirms them."""

    write: Write
    at: int

    def add(self, memory: Memory, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Stores a memory with its passages, and the vectors by which the strategy of an outcome is compared."""
        self.write.add(memory, passages, vectors)
        if isinstance(memory, Outcome):
            self._keep_vectors(memory, vectors)
        if needs_quarantine(memory):
            put_in(self.write, memory, at=self.at)
        elif may_release(memory):
            release_corroborated(self.write, memory, at=self.at)

    def correct(self, outcome: Outcome, passages: Sequence[Passage], vectors: Mapping[str, bytes]) -> None:
        """Puts an outcome in the place of the one with its id."""
        kept = self.write.stored.find([outcome.id])[outcome.id]
        self.write.replace(outcome, passages, vectors)
        self._keep_vectors(outcome, vectors)
        if not needs_quarantine(outcome):
            take_out(self.write, outcome.id, at=self.at)
            if may_release(outcome):
                release_corroborated(self.write, outcome, at=self.at)
        elif not kept.is_archived:
            put_in(self.write, outcome, at=self.at)

    def _keep_vectors(self, outcome: Outcome, vectors: Mapping[str, bytes]) -> None:
        kept = {text: vectors[text] for text in strategy_texts(outcome) if text in vectors}
        if kept:
            self.write.keep_vectors(kept)
