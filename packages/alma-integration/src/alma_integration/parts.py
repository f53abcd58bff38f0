"""The parts of one run: what each agent did, and how the run ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from alma import Episode
from alma.types.kinds import Verdict, VerdictSource
from alma.types.recalled import Recalled
from alma.types.slice import MemorySlice, with_items
from alma_integration.credit import ToolStep


@dataclass(slots=True)
class Part:
    """The part of one agent in a run: one episode. `memories` is what it was shown, `None` if nothing was looked up for it; `late` is what
    it was shown after its episode began.

    `lacks_steps` is true of a resumed part until the steps from before its suspension are read; `known` has the actions of those that did
    not succeed.
    """

    agent: str
    task: str
    memories: MemorySlice | None = None
    notes: str = ""
    beside: MemorySlice = field(default_factory=MemorySlice)
    late: MemorySlice = field(default_factory=MemorySlice)
    episode: Episode | None = None
    has_begun: bool = False
    is_given_up: bool = False
    resumes: str | None = None
    lacks_steps: bool = False
    known: list[str] = field(default_factory=list)
    steps: list[ToolStep] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)

    @property
    def shown(self) -> MemorySlice:
        """All memories that the agent was shown: in the notes, and beside them."""
        if not self.memories or not self.beside:
            return self.memories or self.beside
        return together(self.memories, self.beside)


def together(first: MemorySlice, second: MemorySlice) -> MemorySlice:
    """Returns the memories and the ways of two slices, each way once."""
    if not first:
        return second
    ways = {way.id: way for way in (*second.strategies, *first.strategies)}
    return holding(first.model_copy(update={"strategies": tuple(ways.values())}), (*first.recalled, *second.recalled))


def tag_beside(memories: MemorySlice, shown: MemorySlice) -> tuple[MemorySlice, MemorySlice]:
    """Returns memories with tags that differ from those shown already, and the new ones among them. A memory that is shown keeps its tag."""
    tags = {item.memory.id: item.tag for item in shown.recalled}
    ways = {way.id: way.tag for way in shown.strategies}
    found = memories.tagged(f"r{len({*tags, *ways})}") if shown else memories
    items = tuple(item.model_copy(update={"tag": tags.get(item.memory.id, item.tag)}) for item in found.recalled)
    tried = tuple(way.model_copy(update={"tag": ways.get(way.id, way.tag)}) for way in found.strategies)
    found = holding(found.model_copy(update={"strategies": tried}), items)
    untold = found.model_copy(update={"strategies": tuple(way for way in tried if way.id not in ways)})
    return found, holding(untold, (item for item in items if item.memory.id not in tags))


def tags_in(memories: MemorySlice) -> list[str]:
    """Returns the tags of the memories and the ways of a slice, each once."""
    tags = [item.tag for item in memories.recalled] + [way.tag for way in memories.strategies if way.tag is not None]
    return list(dict.fromkeys(tags))


def holding(memories: MemorySlice, items: Iterable[Recalled]) -> MemorySlice:
    """Returns the slice with these memories in place of its own."""
    return with_items(memories, tuple(items))


@dataclass(frozen=True, slots=True)
class End:
    """The end of a run. `verdict` is the framework's own (a guardrail, a score); an evaluator takes precedence.

    `is_judged` is false where there is no answer to judge: a stream that was never read, or another agent that continues in a run of its
    own.
    """

    answer: str = ""
    error: BaseException | str | None = None
    is_neutral: bool = False
    verdict: Verdict | None = None
    reason: str | None = None
    source: VerdictSource = VerdictSource.TOOL
    is_judged: bool = True
    blames_strategy: bool = False
    """True for an error text that speaks against the strategy: a guardrail's last word does, an overloaded model does not."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the `RunView`: `result`, `messages`, `outputs`."""


_ENDING = frozenset(each.name for each in fields(End)) - {"answer", "found"}


def end_of(answer: str, how: dict[str, Any]) -> End:
    """Builds the end from keyword arguments: the fields of `End`, and further fields of the `RunView`."""
    own = {name: how.pop(name) for name in _ENDING & how.keys()}
    return End(answer=answer, found=how, **own)
