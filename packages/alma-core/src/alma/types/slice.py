"""The result of a retrieval."""

import operator
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from alma.calls import checked
from alma.errors import ValidationError
from alma.text import estimate_tokens, quoted
from alma.types.identity import UtcDatetime, Value, read_json, utc_now
from alma.types.kinds import CUSTOM_LETTER, KINDS
from alma.types.memories import (
    AntiPattern,
    AnyMemory,
    Conversation,
    CustomMemory,
    DomainKnowledge,
    Heuristic,
    Memory,
    Outcome,
    UserPreference,
)
from alma.types.prompt import NOTHING_KNOWN, TokenCounter, fitted, note
from alma.types.recalled import Contradiction, Factors, Recalled, TurnHit
from alma.types.strategies import TRIED, StrategyRecord
from alma.types.tags import LETTERS, checked_prefix, cited_of, parts_of
from alma.types.timeline import Timeline

_LISTS = tuple(spec.listed_as for spec in KINDS.values())
_TOOK = "retrieval_time_ms"

EVEN = 0.5
"""The relevance below which conversations are more likely about something else."""


def tags_for(memories: Iterable[Memory]) -> list[str]:
    """Returns a tag for each memory: the letter of its kind and its number within the kind, in the order given."""
    counts: dict[str, int] = {}
    tags = []
    for memory in memories:
        letter = LETTERS.get(memory.kind, CUSTOM_LETTER)
        counts[letter] = counts.get(letter, 0) + 1
        tags.append(f"{letter}{counts[letter]}")
    return tags


class MemorySlice(Value):
    """The memories that matter for one task, best first.

    Iterating gives the memories in rank order, `len()` counts them; `recalled` has them with scores. `hint` says what may be wrong when
    the slice is empty for a reason that a person can fix. A slice can also be made of lists of memories: `MemorySlice(heuristics=[…],
    outcomes=[…])`.

    `relevance` is the probability that the best conversation of the slice is about the question, where the slice was retrieved by meaning and by
    words, with an embedder for which it is known (`minilm`); else `None`. `nothing_relevant` says that it is below one half.

    `strategies` are the ways that were tried on such tasks, as `alma.strategies` counts them, in the order of the prompt: the best first, what
    fails last. Those that are rules are among the memories, too. Attempts that name no strategy, where they are several, are the last row, whose
    `strategy` is "".

    `contradictions` are pairs of facts of one agent, or of preferences of one user, that contradict each other, with the reason.

    `timeline` is known where the question asks for the time between events, their order, how long ago one was or its date: the events that it names
    with the memories that are nearest to them, earliest first.

    `retrieval_time_ms` is the duration of the retrieval, 0.0 for a slice that was not retrieved; it is not part of the slice's content.
    """

    query: str = ""
    agent: str = ""
    project_id: str = ""
    retrieved_at: UtcDatetime = Field(default_factory=utc_now)
    recalled: tuple[Recalled, ...] = ()
    strategies: tuple[StrategyRecord, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    timeline: Timeline | None = None
    hint: str | None = None
    relevance: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    retrieval_time_ms: float = Field(default=0.0, ge=0.0, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _from_lists(cls, given: Any) -> Any:
        """Ranks memories that are given by kind in place of `recalled`, in the order of the kinds in a prompt."""
        if not isinstance(given, Mapping) or not (lists := [name for name in _LISTS if name in given]):
            return given
        if "recalled" in given:
            raise ValueError(f"give recalled or {', '.join(lists)}, not both")
        memories = [memory for name in lists for memory in given[name] or ()]
        return {**{name: value for name, value in given.items() if name not in lists}, "recalled": ranked(memories)}

    def __eq__(self, other: object) -> bool:
        """Compares the content of two slices, without the time that retrieval took."""
        return isinstance(other, MemorySlice) and {**self.__dict__, _TOOK: 0} == {**other.__dict__, _TOOK: 0}

    __hash__ = None  # type: ignore[assignment] # it holds dictionaries

    def __iter__(self) -> Iterator[AnyMemory]:  # type: ignore[override] # a slice is its memories, not its fields
        return (item.memory for item in self.recalled)

    def __len__(self) -> int:
        return len(self.recalled)

    def __bool__(self) -> bool:
        return bool(self.recalled or self.strategies)

    @property
    def heuristics(self) -> list[Heuristic]:
        """The strategies, best first."""
        return [memory for memory in self if isinstance(memory, Heuristic)]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes, best first."""
        return [memory for memory in self if isinstance(memory, Outcome)]

    @property
    def preferences(self) -> list[UserPreference]:
        """The preferences of the user, best first."""
        return [memory for memory in self if isinstance(memory, UserPreference)]

    @property
    def domain_knowledge(self) -> list[DomainKnowledge]:
        """The facts, best first."""
        return [memory for memory in self if isinstance(memory, DomainKnowledge)]

    @property
    def anti_patterns(self) -> list[AntiPattern]:
        """The warnings, best first."""
        return [memory for memory in self if isinstance(memory, AntiPattern)]

    @property
    def conversations(self) -> list[Conversation]:
        """Turns of conversations, best first. `metadata["hits"]` of each lists what of it is nearest to the question; see `turns`."""
        return [memory for memory in self if isinstance(memory, Conversation)]

    @property
    def turns(self) -> list[TurnHit]:
        """The turns of the conversations that are nearest to the question, of all conversations together, nearest first."""
        return sorted((turn for item in self.recalled for turn in item.turns), key=lambda turn: -turn.score)

    @property
    def custom(self) -> dict[str, list[CustomMemory]]:
        """Memories of kinds that users registered, by kind, best first. A kind of which nothing was found is an empty list when read."""
        found: defaultdict[str, list[CustomMemory]] = defaultdict(list)
        for memory in self:
            if isinstance(memory, CustomMemory):
                found[memory.kind].append(memory)
        return found

    @property
    def total_items(self) -> int:
        """Number of memories; where there is none, of ways that were tried."""
        return len(self.recalled) or len(self.strategies)

    @property
    def nothing_relevant(self) -> bool:
        """True when the slice is empty, or holds conversations alone and these are more likely than not about something else."""
        if not self:
            return True
        if self.strategies:
            return False
        only_talk = len(self.conversations) == len(self.recalled)
        return only_talk and self.relevance is not None and self.relevance < EVEN

    @property
    def metadata(self) -> dict[str, Any]:
        """The `hint`, where there is one."""
        return {} if self.hint is None else {"hint": self.hint}

    @property
    def ids(self) -> list[str]:
        """The ids in rank order."""
        return [item.memory.id for item in self.recalled]

    @checked
    def to_prompt(
        self,
        max_tokens: int = 2000,
        model: str | None = None,
        *,
        count_tokens: TokenCounter = estimate_tokens,
        says_if_empty: bool = False,
    ) -> str:
        """Returns the slice as reference notes for a prompt, at most `max_tokens` by `count_tokens`; "" if it is empty or nothing fits.

        With `says_if_empty`, an empty slice is one line that says that nothing is known for such tasks.

        The same slice gives the same bytes. Of outcomes that differ only in the numbers of their task, one is shown. Whole items are left
        out, least first, never cut; of conversations, whole turns, those first that are least likely evidence for their tokens. Where the slice
        has a `timeline`, conversations and outcomes have dates in place of ages and come in the order of time if times are compared, and a line has
        the days between the events. `ValidationError` unless `max_tokens` is a whole number, 0 or more. `model` changes nothing: `count_tokens`
        counts as a model does.
        """
        said = self.fitted(max_tokens, count_tokens=count_tokens)[1]
        if self or not says_if_empty:
            return said
        return NOTHING_KNOWN if count_tokens(NOTHING_KNOWN) <= max_tokens else ""

    def fitting(self, max_tokens: int = 2000, *, count_tokens: TokenCounter = estimate_tokens) -> "MemorySlice":
        """Returns the slice of the memories that `to_prompt` includes with the same arguments: the same bytes, without the memories that
        do not fit.

        An episode begun with it (`alma.episode(…, memories=found.fitting(500))`) records as shown exactly what reached the prompt. A
        memory that was not shown then counts neither as cited nor as ignored. Tags, scores and order stay as they are.
        """
        return self.fitted(max_tokens, count_tokens=count_tokens)[0]

    def fitted(self, max_tokens: int = 2000, *, count_tokens: TokenCounter = estimate_tokens) -> tuple["MemorySlice", str]:
        """Returns the results of `fitting` and `to_prompt` with the same arguments, computed once."""
        kept, ways, notes = fitted(
            self.recalled,
            self.strategies,
            now=self.retrieved_at,
            timeline=self.timeline,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
        )
        is_whole = len(kept) == len(self.recalled) and all(map(operator.is_, kept, self.recalled))
        if is_whole and ways == self.strategies:
            return self, notes
        return with_items(self, kept).model_copy(update={"strategies": ways}), notes

    def tagged(self, prefix: str) -> "MemorySlice":
        """Returns the slice with tags that begin with `prefix`, such as `[x7H1]`: stored text cannot cite a tag that it cannot know.

        `to_prompt`, `cited` and an episode that is begun with it (`memories=`) use these tags and ignore `[H1]`. Choose the prefix at
        random for each prompt (`secrets.token_hex(2)`); the same prefix gives the same bytes, "" the usual tags. `ValidationError` unless
        it consists of at most 16 of a-z and 0-9.
        """
        checked = checked_prefix(prefix)
        items = (item.model_copy(update={"tag": checked + parts_of(item.tag)[1]}) for item in self.recalled)
        ways = (
            way.model_copy(update={"tag": None if way.tag is None else checked + parts_of(way.tag)[1]}) for way in self.strategies
        )
        return self.model_copy(update={"recalled": tuple(items), "strategies": tuple(ways)})

    def notes(self) -> list[str]:
        """Returns the lines of a prompt without tags, for prompts without citations: ways, then the memories that no way states, in rank order."""
        return [line for _, line in self.notes_with_ids()]

    def notes_with_ids(self) -> list[tuple[str, str]]:
        """Returns `notes`, each after the id of its memory, or of its way."""
        kept = fitted(
            self.recalled,
            self.strategies,
            now=self.retrieved_at,
            max_tokens=sys.maxsize,
            count_tokens=len,
            timeline=self.timeline,
        )
        told = {way.id for way in kept.ways if way.rule != TRIED}
        rest = [item for item in kept.items if item.memory.id not in told]
        ways = [(way.id, way.line(self.retrieved_at, parts_of(way.tag or "")[0])) for way in kept.ways]
        return [*ways, *((item.memory.id, note(item.memory, self.retrieved_at, parts_of(item.tag)[0])) for item in rest)]

    def cited(self, text: str) -> list[str]:
        """Returns the ids of the memories whose tags are in `text`, in rank order: [H1], [h1], [H1, A2]; of a way that is no rule, [S1], the
        newest outcome behind it.

        Tags of no memory of this slice are ignored. A memory's line in a prompt never reads as a tag, so quoting it cites nothing.
        """
        if not isinstance(text, str):
            raise ValidationError(f"cited needs a text, not {quoted(text)}")
        named = {item.tag: item.memory.id for item in self.recalled}
        named |= {way.tag: way.id for way in self.strategies if way.tag is not None and way.tag not in named}
        tags = cited_of(list(named), text)
        return list(dict.fromkeys(memory_id for tag, memory_id in named.items() if tag in tags))

    def to_json(self) -> str:
        """Returns the whole slice as JSON. `from_json` returns an equal slice."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, data: str | bytes) -> "MemorySlice":
        """Reads a slice that `to_json` wrote. `ValidationError` if it is none."""
        return read_json(cls, data, "a slice")

    def to_dict(self) -> dict[str, Any]:
        """Returns the slice as plain values that `json.dumps` takes."""
        return self.model_dump(mode="json")


def ranked(memories: Sequence[AnyMemory]) -> tuple[Recalled, ...]:
    """Returns memories as if they had been retrieved in this order, each with a score slightly below the one before."""
    scores = [1 / (1 + rank / 10) for rank in range(len(memories))]
    return tuple(
        Recalled(
            tag=tag,
            memory=memory,
            score=score,
            factors=Factors(similarity=score, recency=score, success=score, confidence=score, weights={"similarity": 1.0}),
        )
        for tag, memory, score in zip(tags_for(memories), memories, scores, strict=True)
    )


def with_items(memories: MemorySlice, items: Sequence[Recalled]) -> MemorySlice:
    """Returns the slice with these items in place of its own, the dates of the events that they are near to, and of its ways those that are no
    rules or that are the rules among the items, with the tags of these."""
    tags = {item.memory.id: item.tag for item in items}
    dated = memories.timeline and memories.timeline.among(set(tags))
    ways = (
        way if way.rule == TRIED else way.model_copy(update={"tag": tags[way.id]})
        for way in memories.strategies
        if way.rule == TRIED or way.id in tags
    )
    return memories.model_copy(update={"recalled": tuple(items), "strategies": tuple(ways), "timeline": dated})
