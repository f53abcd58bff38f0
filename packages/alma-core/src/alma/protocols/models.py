"""Protocols of models, the clock, and what a package that knows more of facts gives the core."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from alma.types.identity import Fingerprint
from alma.types.memories import DomainKnowledge, UserPreference
from alma.types.recalled import Disputes

if TYPE_CHECKING:
    from alma.types.stored import Matrix

Clock = Callable[[], datetime]
"""Returns the current time, aware, in UTC."""


class Embedder(Protocol):
    """Embeds texts. Thread-safe."""

    @property
    def fingerprint(self) -> Fingerprint:
        """Identity of the model, and of how it prepares texts."""

    def embed(self, texts: Sequence[str], /) -> "Matrix":
        """Returns one L2-normalised, finite row per text, in order, of shape (len(texts), dimension). `EmbeddingError` if it fails."""


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder that may say that its cosines compare words, not meanings: then nothing is concluded from how near two texts are."""

    @property
    def compares_words(self) -> bool:
        """Returns whether they do."""


class LLM(Protocol):
    """A language model; always optional."""

    def complete(self, prompt: str, /) -> str:
        """Returns the model's answer."""


FindContradictions = Callable[[Sequence[DomainKnowledge | UserPreference]], Disputes]
"""Returns which of the facts and preferences of a slice, best first, contradict each other. Thread-safe. Found by the entry point
`alma.contradictions`; without one, none are looked for."""
