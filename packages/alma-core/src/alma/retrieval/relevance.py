"""Is anything of what was found about the question? A calibrated probability, so that an agent can say that it does not know. Pure.

The best conversation is judged by absolute evidence: the pooled cosine of its sentences, and its share of the question's words. z-scores cannot
decide that, since some conversation is always the best. The constants are those of a logistic regression (docs: decisions on retrieval); they
hold for one model, since each spreads cosines in its own way.
"""

import math
from dataclasses import dataclass

from alma.types.embedding import Fingerprint


@dataclass(frozen=True, slots=True)
class Calibration:
    """Log-odds of relevance: `cosine` times the cosine plus `share` times the share of words plus `offset`."""

    cosine: float
    share: float
    offset: float


CALIBRATED = {("all-MiniLM-L6-v2", 384): Calibration(cosine=7.3, share=7.4, offset=-6.15)}


def relevance(cosine: float, share: float, fingerprint: Fingerprint) -> float | None:
    """Returns the probability that a conversation with this cosine and share of words is about the question; `None` for a model that was not
    measured. Questions of either sort are taken to be equally frequent."""
    known = CALIBRATED.get((fingerprint.model, fingerprint.dimension))
    if known is None:
        return None
    return 1.0 / (1.0 + math.exp(-(known.cosine * cosine + known.share * share + known.offset)))
