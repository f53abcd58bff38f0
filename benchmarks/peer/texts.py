"""What the peers without outcomes are given: the benchmark's vectors, and an outcome as one text."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.hashed import HashedTexts

FOUND = 10
"""Memories that a search is asked for."""


@dataclass(frozen=True, slots=True)
class OwnTexts:
    """`HashedTexts` in plain lists."""

    texts: HashedTexts

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        rows: list[list[float]] = self.texts.rows(texts).tolist()
        return rows


def said(task: str, strategy: str, succeeded: bool) -> str:
    """An outcome as a text."""
    return f"{task}\n{strategy}: {'success' if succeeded else 'failure'}"
