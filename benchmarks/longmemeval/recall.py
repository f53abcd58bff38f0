"""Asking ALMA: each haystack becomes a project, each session a memory with its turns as passages, and the question a retrieval."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from benchmarks.longmemeval.questions import Question, Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alma import ALMA, Draft
    from alma.protocols import Embedder
    from alma.types.embedding import Fingerprint

MODES: Mapping[str, tuple[str, ...]] = {"hybrid": ("dense", "text"), "bm25": ("text",), "dense": ("dense",)}
AGENT = "assistant"
USER = "user"
DEPTH = 50
"""So many sessions are asked for, so that the reciprocal rank is told beyond ten."""


class RememberingEmbedder:
    """An embedder that keeps every vector that it made: LongMemEval repeats most sessions from one haystack to the next."""

    def __init__(self, embedder: "Embedder") -> None:
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def fingerprint(self) -> "Fingerprint":
        return self._embedder.fingerprint

    def embed(self, texts: Sequence[str], /) -> "NDArray[np.float32]":
        import numpy as np

        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def rankings(alma: "ALMA", question: Question, modes: Collection[str]) -> dict[str, list[int]]:
    """For each mode the places of the recalled sessions, best first. Stores the haystack in the given, empty project."""
    ids = alma.add_many([draft(session) for session in question.sessions])
    place_of = {memory_id: place for place, memory_id in enumerate(ids)}
    found = {
        mode: alma.retrieve(task=question.text, agent=AGENT, top_k=DEPTH, profile="recall", arms=MODES[mode]).ids
        for mode in modes
    }
    return {mode: [place_of[memory_id] for memory_id in memory_ids] for mode, memory_ids in found.items()}


def draft(session: Session) -> "Draft":
    """The session as a fact, searched by its turns. Nothing of it names the session."""
    from alma import DomainKnowledge, Draft, Passage
    from alma.text import split_passages

    pieces = [(turn, piece) for turn in session.turns for piece in split_passages(turn.text)]
    passages = tuple(
        Passage(text=piece, speaker=turn.speaker, position=position, time=session.time, is_own=turn.speaker == USER)
        for position, (turn, piece) in enumerate(pieces)
    )
    fact = "\n".join(f"{turn.speaker}: {turn.text}" for turn in session.turns)
    return Draft(memory=DomainKnowledge(agent=AGENT, domain="conversation", fact=fact), passages=passages)
