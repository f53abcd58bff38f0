"""What a package that knows more of facts gives the core: functions that it finds by entry points."""

from collections.abc import Callable, Sequence

from alma.types.contradictions import Disputes
from alma.types.memories import DomainKnowledge, UserPreference

FindContradictions = Callable[[Sequence[DomainKnowledge | UserPreference]], Disputes]
"""Returns which of the facts and preferences of a slice, best first, contradict each other. Thread-safe. Found by the entry point
`alma.contradictions`; without one, none are looked for."""
