"""Projects with several owners, and what one reader sees of them: all of it, in a form that is the same for two stores that show the same."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from alma import ALMA
from alma.memory.room import SearchSizes
from alma.testing import FixedClock
from alma.types import Passage
from alma_testing.clocks import START
from sized import open_sized

AGENTS = ("ann", "bob", "eve")
USERS = ("uma", "vic")
WORDS = ("deploy", "service", "login", "form", "timeout", "retry", "canary", "rollback", "naïve", "E-4711", "数据", "the")
QUESTIONS = ("deploy the service", "login form timeout", "canary rollback retry", "E-4711 naïve 数据")

WAYS: Sequence[Mapping[str, Any]] = (
    {"arms": ("text",)},
    {"arms": ("dense",)},
    {"profile": "recall"},
    {"include_shared": False},
)
"""How each question is asked once more."""

Rules = Mapping[str, Mapping[str, Sequence[str]]]
Reader = tuple[str, str | None]
"""An agent, and the user that it works for."""

Step = tuple[Any, ...]
"""What is done, by or for whom, with what."""


def may_read(rules: Rules, reader: Reader, owner: str) -> bool:
    """The rule of reading, written down a second time."""
    agent, user = reader
    if owner in USERS:
        return owner == user
    declared = rules.get(owner, {}).get("share_with")
    return (
        owner == agent
        or (declared is not None and (agent in declared or "*" in declared))
        or (declared is None and owner in rules.get(agent, {}).get("inherit_from", ()))
    )


@dataclass
class World:
    """A store that steps are taken in, by two opens in turn, each with what it remembers."""

    folder: Path
    rules: Rules
    sizes: SearchSizes
    donors: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = FixedClock()
        self.opened = [self._open(), self._open()]

    def _open(self) -> ALMA:
        return open_sized(self.folder, self.sizes, agents=self.rules, clock=self.clock)

    def take(self, number: int, step: Step) -> None:
        """Takes a step at the time that its number has in all worlds."""
        self.clock.set(START + timedelta(minutes=number))
        what, owner, *given = step
        getattr(self, f"_{what}")(self.opened[number % 3 == 2], owner, *given)

    def ask(self) -> None:
        """Every reader asks, so that there is something to be remembered."""
        for number, question in enumerate(QUESTIONS):
            for agent in AGENTS:
                self.opened[number % 2].retrieve(question, agent, user_id=USERS[number % 2])

    def close(self) -> None:
        for alma in self.opened:
            alma.close()

    def restart(self) -> None:
        """Forgets everything that is not on the disk."""
        self.close()
        self.opened = [self._open(), self._open()]

    def _learn(self, alma: ALMA, agent: str, task: str, strategy: str, outcome: str, times: int) -> None:
        one = {"agent": agent, "task": task, "strategy_used": strategy, "outcome": outcome}
        alma.learn_many([one | {"error_message": "Connection refused"} if outcome == "failure" else one] * times)

    def _crowd(self, alma: ALMA, agent: str, words: str, count: int) -> None:
        alma.learn_many(
            {"agent": agent, "task": f"{words} {WORDS[number % 7]} {number}", "outcome": number % 3 > 0, "strategy_used": words}
            for number in range(count)
        )

    def _fact(self, alma: ALMA, agent: str, text: str, heard: str) -> None:
        passages = [Passage(text=text), Passage(text=heard, position=1, speaker="user", is_own=False)]
        alma.add_domain_knowledge(agent, "things", text, passages=passages)

    def _talk(self, alma: ALMA, agent: str, text: str, heard: str) -> None:
        said = [Passage(text=piece, position=place) for place, piece in enumerate([text, heard, text])]
        alma.add_domain_knowledge(agent, "talks", f"{text} {heard}", passages=said)

    def _rule(self, alma: ALMA, agent: str, condition: str, strategy: str) -> None:
        alma.add_heuristic(agent, condition, strategy)

    def _warning(self, alma: ALMA, agent: str, pattern: str, why: str) -> None:
        alma.add_anti_pattern(agent, pattern, why, better_alternative="wait")

    def _preference(self, alma: ALMA, user: str, text: str) -> None:
        alma.add_user_preference(user_id=user, category="style", preference=text)

    def _archive(self, alma: ALMA, owner: str, number: int) -> None:
        if ids := self._ids(alma, owner):
            alma.forget(memory_ids=[ids[number % len(ids)]])

    def _purge(self, alma: ALMA, owner: str, number: int) -> None:
        if ids := self._ids(alma, owner):
            alma.purge([ids[number % len(ids)]])

    def _undone(self, alma: ALMA, agent: str, text: str) -> None:
        head = alma.storage.project(alma.project_id).head()
        alma.learn(agent, text, "success", strategy_used=text)
        alma.undo(to=head)

    def _back(self, alma: ALMA, owner: str, number: int) -> None:
        """Archives a memory and brings it back."""
        head = alma.storage.project(alma.project_id).head()
        self._archive(alma, owner, number)
        alma.undo(to=head)

    def _import(self, alma: ALMA, agent: str) -> None:
        alma.import_from(self.donors[agent], on_conflict="skip")

    def _compact(self, alma: ALMA, owner: str) -> None:
        alma.compact()

    def _ids(self, alma: ALMA, owner: str) -> list[str]:
        name = "user_id" if owner in USERS else "agent"
        memories = alma.list_memories(**{name: owner}, newest_first=False, limit=1_000)
        return [memory.id for memory in memories if getattr(memory, "user_id", memory.agent) == owner]

    def seen(self, reader: Reader, owners: Collection[str], *, which: int = 0) -> list[Any]:
        """All that a reader sees, who may read what these owners hold, a day later."""
        self.clock.set(START + timedelta(days=1))
        alma, (agent, user) = self.opened[which], reader
        labels = _labels(alma, owners)
        some = [memory_id for memory_id, _ in sorted(labels.items(), key=lambda item: item[1])][::5][:2]
        told: list[Any] = []
        for top_k, (question, ways) in enumerate(zip(QUESTIONS, WAYS, strict=True), 2):
            for given in ({}, ways):
                found = alma.retrieve(question, agent, user_id=user, top_k=top_k, explain=True, **given)
                told += [[item.model_dump(mode="json") for item in found.recalled], found.to_prompt()]
            told += [alma.check(agent, question).model_dump(mode="json")]
            told += [alma.strategies(task=question, agent=agent).model_dump(mode="json")]
            told += [alma.assess(strategy="canary", context=question, agent=agent).model_dump(mode="json")]
        told += [alma.explain_retrieval(QUESTIONS[0], one, agent=agent, user_id=user).model_dump(mode="json") for one in some]
        told += [alma.strategies(agent=agent).model_dump(mode="json")]
        return [_labelled(each, labels) for each in told]


def _labels(alma: ALMA, owners: Collection[str]) -> dict[str, str]:
    """Returns a label instead of the id of each memory of these owners: its owner, kind and text, and its number among equal ones."""
    labels: dict[str, str] = {}
    said: dict[str, int] = {}
    for memory in alma.list_memories(newest_first=False, limit=100_000):
        owner = getattr(memory, "user_id", None) or memory.agent
        if owner in owners:
            text = f"<{memory.kind} of {owner}: {memory.text}>"
            said[text] = said.get(text, 0) + 1
            labels[memory.id] = f"{text[:-1]} {said[text]}>"
    return labels


def _labelled(told: Any, labels: Mapping[str, str]) -> Any:
    text = json.dumps(told, sort_keys=True)
    for memory_id in set(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", text)):
        text = text.replace(memory_id, json.dumps(labels.get(memory_id, "<unknown>"))[1:-1])
    return json.loads(text)


@contextmanager
def world(
    folder: Path,
    rules: Rules,
    steps: Sequence[Step],
    sizes: SearchSizes,
    *,
    reader: Reader | None = None,
    donors: Mapping[str, Path],
) -> Iterator[World]:
    """A store in which the steps were taken: all of them, or those whose outcome a reader may read."""
    made = World(folder, rules, sizes, donors)
    try:
        for number, step in enumerate(steps):
            if step[0] == "ask":
                if reader is None:
                    made.ask()
            elif step[0] == "compact" or reader is None or may_read(rules, reader, step[1]):
                made.take(number, step)
        yield made
    finally:
        made.close()
