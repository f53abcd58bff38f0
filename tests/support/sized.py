"""A store that takes few memories for many, so that a test comes by every way of searching."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.memory import opening
from alma.memory.room import SearchSizes
from alma.protocols import Clock, CommonWords
from alma.storage.factories import SQLITE
from alma.testing import FixedClock

TINY = SearchSizes(
    all_up_to=6,
    sample=4,
    all_within=8,
    hits=5,
    beside_above=12,
    common=CommonWords(number=3, share=0.0, newest=2),
    codes_above=150,
)


def open_sized(
    folder: Path,
    sizes: SearchSizes,
    *,
    agents: Mapping[str, Any] | None = None,
    dimension: int = 16,
    project: str = "shop",
    clock: Clock | None = None,
    storage: str = SQLITE,
) -> ALMA:
    """As `ALMA.open`, with hashed vectors, other sizes and a clock that stands still."""
    store = opening.open_store(
        folder,
        db_name="alma.db",
        embedder="hash",
        embedding_dim=dimension,
        agents=agents,
        scoring=None,
        clock=clock or FixedClock(),
        sizes=sizes,
        storage=storage,
    )
    return ALMA(store.room(project))
