"""Vocabularies: what people ask for and ways of doing it, each in many wordings, from JSON files.

A file has 8 intents with 30 wordings each, or with 12 in those of `FRAMES`, 6 strategies with 5 wordings each, and names that fill the slot `{name}`.
The strategies are the same for all intents. `DEVELOPMENT` may be tuned on; `JUDGING` never.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "vocabularies"
DEVELOPMENT = ("operations", "airline", "office")
FRAMES = ("repositories", "orders")
"""Those whose wordings all have a place for a name."""
JUDGING = ("banking", "debugging", "helpdesk", *FRAMES)
KINDRED = (
    {"operations", "debugging"},
    {"operations", "banking"},
    {"airline", "office"},
    {"airline", "banking"},
    {"office", "banking"},
    {"helpdesk", "operations"},
    {"helpdesk", "office"},
    {"helpdesk", "banking"},
    {"helpdesk", "debugging"},
    {"repositories", "operations"},
    {"repositories", "debugging"},
    {"orders", "airline"},
    {"orders", "banking"},
    {"orders", "office"},
)
"""Vocabularies with some tasks in common: those of one are no unrelated tasks for the other."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`wordings[i]` are those of intent i, `strategies[s]` those of strategy s, the plainest first."""

    name: str
    names: Sequence[str]
    intents: Sequence[str]
    wordings: Sequence[Sequence[str]]
    strategies: Sequence[Sequence[str]]

    def tasks(self, intent: int, wording: int) -> list[str]:
        """The task with each of the names, or the one task of a wording without a name."""
        text = self.wordings[intent][wording]
        return [text.format(name=name) for name in self.names] if "{name}" in text else [text]


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of this name, read from its file."""
    body = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Vocabulary(
        name=name,
        names=tuple(body["names"]),
        intents=tuple(intent["intent"] for intent in body["intents"]),
        wordings=tuple(tuple(intent["wordings"]) for intent in body["intents"]),
        strategies=tuple(tuple(strategy["wordings"]) for strategy in body["strategies"]),
    )


def unrelated(name: str) -> list[str]:
    """Tasks that have nothing to do with those of a vocabulary: chores, and the tasks of vocabularies that have none in common with it."""
    chores: list[str] = json.loads((FOLDER / "chores.json").read_text(encoding="utf-8"))["chores"]
    others = [other for other in (*DEVELOPMENT, *JUDGING) if other != name and {name, other} not in KINDRED]
    asked = [
        words.tasks(intent, place)[0]
        for words in map(vocabulary, others)
        for intent, wordings in enumerate(words.wordings)
        for place in range(0, len(wordings), len(wordings) // 3)
    ]
    return chores + asked
