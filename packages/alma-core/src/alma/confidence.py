"""The confidence in a strategy, under the name and with the labels that alma-memory has."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alma.memory.alma import ALMA
    from alma.types.strategies import Assessment

__all__ = ["ConfidenceEngine"]


class ConfidenceEngine:
    """Another name for `ALMA.assess`, with a recommendation in one word."""

    def __init__(self, alma: "ALMA") -> None:
        self._alma = alma

    def assess_strategy(self, strategy: str, context: str, agent: str) -> "Assessment":
        """Returns how likely the strategy is to succeed in the context: `confidence_score`, where it lies, and a `recommendation`.

        The recommendation is "strong_yes" (proven to work), "yes", "neutral" (unknown or unclear), "caution" or "avoid" (proven to fail).
        """
        from alma.types.strategies import LABELS

        found = self._alma.assess(strategy=strategy, context=context, agent=agent)
        return found.model_copy(update={"recommendation": LABELS[found.verdict]})
