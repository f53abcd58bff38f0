"""Why a strategy is bad, of all that was recorded when it failed."""

from collections.abc import Sequence

from alma.text import cleaned, telling_words
from alma.types.evidence import Happening

ENOUGH_WORDS = 5
"""A text with more telling words than this is only longer, not more telling."""

_SAYING_LITTLE = frozenset(
    """
    0 1 an assertion call code command could crashed details did error errors exception exit exited fail failed failing failure fatal general
    generic internal invalid issue message nil none null number occurred path process reason result return returned see server something status
    step task time traceback undefined unexpected unknown unsuccessful went wrong
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Words that most errors share."""


def most_informative(errors: Sequence[Happening]) -> str | None:
    """The error that says most, of such as `alma.types.reasons` keeps, each with how often and when last it was seen.

    Of those that say anything the commonest, then the one in more telling words, then the newest. `None` of none.
    """
    best = max(errors, key=_rank, default=None)
    return best[0] if best else None


def _rank(error: Happening) -> tuple[bool, int, int, int, str]:
    text, count, last_at = error
    said = sum(word not in _SAYING_LITTLE for word in telling_words(cleaned(text)))
    return said > 0, count, min(said, ENOUGH_WORDS), last_at, text
