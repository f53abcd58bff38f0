"""What all rows of advice amount to."""

from collections.abc import Sequence
from dataclasses import dataclass

from alma.learning.consulting import Consulted
from alma.learning.levels import Level, Row, anti_pattern_level, heuristic_level
from alma.learning.proving import proven_rows
from alma.learning.standing import Needed


@dataclass(frozen=True, slots=True)
class Standings:
    """What the advice amounts to, by row."""

    rows: Sequence[Row]
    heuristics: Sequence[Level | None]
    anti_patterns: Sequence[Level | None]

    @classmethod
    def of(cls, known: Consulted, needed: Needed) -> "Standings":
        """The standing of every row."""
        proofs = proven_rows(known)
        rows = [Row.of(known.advice, row, **proofs.get(row, {})) for row in range(len(known.texts))]
        return cls(rows, [heuristic_level(row, needed) for row in rows], [anti_pattern_level(row, needed) for row in rows])
