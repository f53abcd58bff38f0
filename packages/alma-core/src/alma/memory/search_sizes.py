"""Sizes at which a scope is searched differently. Tests make them small."""

from dataclasses import dataclass

from alma.protocols import CommonWords
from alma.retrieval import bm25
from alma.vectors.index import CODES_ABOVE


@dataclass(frozen=True, slots=True)
class SearchSizes:
    """Thresholds of searches.

    A scope of at most `all_up_to` memories is searched whole, and is its own background. For a larger one, `sample` memories are the
    background, and each arm contributes at least `hits` candidates. A scope of at most `beside_above` is searched faster than another
    thread can start. Of a scope that is limited by time, up to `all_within` memories are all
    compared. `common` defines the words that are left out of a question, and `codes_above` the number of contents of a
    kind above which FAISS searches.
    """

    all_up_to: int = 2_000
    sample: int = 1_000
    all_within: int = 20_000
    hits: int = 100
    beside_above: int = 20_000
    common: CommonWords = bm25.COMMON
    codes_above: int = CODES_ABOVE
