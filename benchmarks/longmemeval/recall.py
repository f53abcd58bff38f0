"""Asking ALMA: each haystack becomes a project, each session a conversation, and the question a retrieval."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchmarks.longmemeval.questions import Question, Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alma import ALMA
    from alma.protocols import Embedder
    from alma.types.embedding import Fingerprint

MODES: Mapping[str, tuple[str, ...]] = {"hybrid": ("dense", "text"), "bm25": ("text",), "dense": ("dense",)}
AGENT = "assistant"
NEVER_ASKED = datetime(2025, 1, 1, tzinfo=UTC)
"""Where the clock stands for questions of which the data do not say when they were asked."""
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


class QuestionClock:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.now = NEVER_ASKED

    def __call__(self) -> datetime:
        return self.now


class Haystack:
    """The sessions of a question in an empty project, each as a conversation."""

    def __init__(self, alma: "ALMA", sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self._alma = alma
        self._place_of = {store(alma, session): place for place, session in enumerate(sessions)}

    def ranking(self, question: Question, mode: str) -> list[int]:
        """Returns the places of the recalled sessions, best first."""
        found = self._alma.retrieve(task=question.text, agent=AGENT, top_k=DEPTH, profile="recall", arms=MODES[mode])
        return [self._place_of[memory_id] for memory_id in found.ids]


def store(alma: "ALMA", session: Session) -> str:
    """Stores a session as a conversation and returns the memory's id. All sessions have one name: it says nothing of the place."""
    messages = [{"role": turn.speaker, "content": turn.text} for turn in session.turns]
    return alma.add_conversation(messages, AGENT, "session", at=session.time).id
