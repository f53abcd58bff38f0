"""What one writer's own calls should have left: the model that the store is compared with. Writers choose by it, the checker expects by it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

from benchmarks.durability.intents import Intent, Made

CROWD = "crowd"
KEYED = "keyed"
"""The agents that all writers of a project learn for, the second one under keys that all use. Nobody undoes what they did."""


@dataclass(frozen=True, slots=True)
class Held:
    """A memory that should be there."""

    made: Made
    is_archived: bool = False


@dataclass(slots=True)
class Content:
    """What an undo can bring back: memories by id, episodes by id (status, steps), versions of small records by key, counts of use by memory."""

    held: dict[str, Held] = field(default_factory=dict)
    episodes: dict[str, tuple[str, int]] = field(default_factory=dict)
    saved: dict[str, int] = field(default_factory=dict)
    usage: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """What one actor has in one project."""

    now: Content = field(default_factory=Content)
    purged: dict[str, Made] = field(default_factory=dict)
    marks: dict[int, Content] = field(default_factory=dict)

    @property
    def live(self) -> dict[str, Made]:
        """The memories that are not archived."""
        return {memory_id: held.made for memory_id, held in self.now.held.items() if not held.is_archived}

    def mark(self, seq: int) -> None:
        """Keeps the content as of a journal record."""
        self.marks[seq] = deepcopy(self.now)

    def apply(self, intent: Intent, ids: Mapping[str, str]) -> None:
        """What the content is once a call has landed."""
        now = self.now
        if intent.undoes_to is not None:
            now = self.now = deepcopy(self.marks[intent.undoes_to])
            self._drop(self.purged)
        for made in intent.made:
            now.held[ids[made.token]] = Held(made)
        for memory_id in intent.archives:
            now.held[memory_id] = replace(now.held[memory_id], is_archived=True)
        for memory_id, verdict in intent.verdicts.items():
            held = now.held[memory_id]
            now.held[memory_id] = replace(held, made=replace(held.made, verdict=verdict))
        for memory_id, counts in intent.usage.items():
            now.usage.setdefault(memory_id, Counter()).update(counts)
        if intent.episode is not None:
            now.episodes[intent.episode[0]] = intent.episode[1:]
        if intent.saves is not None:
            now.saved[intent.saves[0]] = intent.saves[1]
        self.purged.update({memory_id: now.held[memory_id].made for memory_id in intent.purges})
        self._drop(intent.purges)

    def _drop(self, memory_ids: Iterable[str]) -> None:
        for memory_id in memory_ids:
            self.now.held.pop(memory_id, None)
            self.now.usage.pop(memory_id, None)


States = dict[tuple[str, str], State]
"""The states of one writer, by project and actor."""


def apply(states: States, intent: Intent, ids: Mapping[str, str], *, hand: str) -> None:
    """Applies a call to the state that it is about."""
    actor = intent.actor if intent.actor in (CROWD, KEYED) else hand
    if intent.copies is not None:
        states[intent.project, actor] = copied(states[intent.copies, actor])
        return
    states.setdefault((intent.project, actor), State()).apply(intent, ids)


def copied(state: State) -> State:
    """The content that an import of an export brings."""
    return State(deepcopy(state.now))
