"""From which sizes on a scope is searched otherwise. Tests make them small."""

from dataclasses import dataclass

from alma.protocols import CommonWords
from alma.retrieval import bm25
from alma.vectors.index import FAISS_ABOVE


@dataclass(frozen=True, slots=True)
class SearchSizes:
    """How searches go about scopes of different sizes.

    A scope of at most `all_up_to` memories is searched whole, and is its own background; of a larger one `sample` memories are the background, and
    each arm contributes at least `hits` candidates. A scope of at most `beside_above` is searched sooner than another thread has begun with it.
    `common` says which words are left out of a question, and `faiss_above` from how many passages of a project on FAISS searches.
    """

    all_up_to: int = 2_000
    sample: int = 1_000
    hits: int = 100
    beside_above: int = 20_000
    common: CommonWords = bm25.COMMON
    faiss_above: int = FAISS_ABOVE
