"""Is anything of what was found about the question? A calibrated probability, so that an agent can say that it does not know. Pure.

The best conversation is judged by absolute evidence: the pooled cosine of its sentences, and its share of the question's words. z-scores cannot
decide that, since some conversation is always the best. The constants are those of a logistic regression (docs: decisions on retrieval) on cosines
of all-MiniLM-L6-v2; those of another model are put on its scale first.
"""

import math

OF_COSINE, OF_SHARE, OFFSET = 7.3, 7.4, -6.15
"""Log-odds of relevance: `OF_COSINE` times the cosine plus `OF_SHARE` times the share of words plus `OFFSET`."""


def relevance(cosine: float, share: float) -> float:
    """Returns the probability that a conversation with this cosine, on the scale of all-MiniLM-L6-v2, and this share of words is about the
    question. Questions of either sort are taken to be equally frequent."""
    return 1.0 / (1.0 + math.exp(-(OF_COSINE * cosine + OF_SHARE * share + OFFSET)))
