"""What rows of advice amount to."""

from functools import cached_property
from typing import Any, NamedTuple

from alma.learning.consulting import Consulted
from alma.learning.levels import Level, Row, anti_pattern_level, heuristic_level
from alma.learning.proving import proven_rows
from alma.learning.standing import Needed


class RowStanding(NamedTuple):
    """A row, and how far it is believed that its strategy works, and that it fails; `None` if it is not."""

    row: Row
    heuristic: Level | None
    anti_pattern: Level | None


class Standings:
    """What the advice amounts to. A row is judged when it is asked for: of many, most questions need a few. Valid as long as the advice is."""

    def __init__(self, known: Consulted, needed: Needed) -> None:
        self._known, self._needed = known, needed
        self._judged: dict[int, RowStanding] = {}

    def of(self, place: int) -> RowStanding:
        """Returns what one row amounts to."""
        found = self._judged.get(place)
        if found is None:
            row = Row.of(self._known.advice, place, **self._proofs.get(place, {}))
            found = RowStanding(row, heuristic_level(row, self._needed), anti_pattern_level(row, self._needed))
            self._judged[place] = found
        return found

    @cached_property
    def _proofs(self) -> dict[int, dict[str, Any]]:
        return proven_rows(self._known)
