"""Knowledge of an entity, as a page of text: its relations grouped by type, then the sentences that name it, the newest first."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from alma.text import estimate_tokens, one_line, sentences_of, shortened
from alma.types.memories import AnyMemory, Conversation
from alma.types.prompt import fenced
from alma.types.tags import defused
from alma_graph.types import Entity, Relationship

MOST_SENTENCES = 400
LONGEST_SENTENCE = 300


@dataclass(frozen=True, slots=True)
class Profile:
    """An entity, its relations past and present, newest first, and the sentences of memories that name it. Its `str()` is the page.

    `left_out` counts the relations and sentences for which there was no room.
    """

    entity: Entity
    relations: Sequence[Relationship]
    lines: Sequence[str]
    left_out: int = 0

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def to_prompt(self) -> str:
        """Returns the page between the marks that declare it notes, not instructions."""
        return fenced(defused(line) for line in self.lines)


def write_profile(
    entity: Entity,
    relations: Sequence[Relationship],
    memories: Iterable[AnyMemory],
    names: Sequence[str],
    *,
    max_tokens: int,
    now: datetime,
) -> Profile:
    """Returns a profile of at most `max_tokens` by the estimate of `alma.text`: relations first, then sentences, none of them cut."""
    also = f", also {', '.join(entity.properties['aliases'])}" if entity.properties.get("aliases") else ""
    page = _Page(max_tokens)
    page.add(f"{entity.name} ({entity.entity_type}{also})")
    for title, group in _groups(entity, relations).items():
        page.add_list(title.replace("_", " "), [_stated(entity, one, now) for one in group])
    for line in _sentences(memories, names):
        page.add(line)
    return Profile(entity, relations, page.lines, page.left_out)


@dataclass(slots=True)
class _Page:
    """Lines within a budget of tokens."""

    left: int
    lines: list[str] = field(default_factory=list)
    left_out: int = 0

    def add(self, line: str) -> None:
        """Appends a line if there is room for it."""
        cost = estimate_tokens(f"{line}\n")
        if cost > self.left:
            self.left_out += 1
            return
        self.lines.append(line)
        self.left -= cost

    def add_list(self, title: str, items: Sequence[str]) -> None:
        """Appends a line of as many items as there is room for."""
        kept, room = list[str](), self.left - estimate_tokens(f"{title}: \n")
        for item in items:
            room -= estimate_tokens(f"{item}; ")
            if room < 0:
                break
            kept.append(item)
        self.left_out += len(items) - len(kept)
        if kept:
            self.lines.append(f"{title}: {'; '.join(kept)}")
            self.left -= estimate_tokens(f"{self.lines[-1]}\n")


def _groups(entity: Entity, relations: Sequence[Relationship]) -> Mapping[str, list[Relationship]]:
    """Returns the relations by type, apart those from the entity and those to it."""
    groups: Mapping[str, list[Relationship]] = defaultdict(list)
    for one in relations:
        groups[one.relation_type if one.source_id == entity.id else f"{one.relation_type} (of it)"].append(one)
    return groups


def _stated(entity: Entity, one: Relationship, now: datetime) -> str:
    other = one.properties["target" if one.source_id == entity.id else "source"]
    start = "" if one.valid_from is None else f"since {one.valid_from:%Y-%m-%d}"
    if one.valid_to is not None and one.valid_to <= now:
        begin = "" if one.valid_from is None else f"from {one.valid_from:%Y-%m-%d} "
        start = f"{begin}until {one.valid_to:%Y-%m-%d}"
    sources = len(one.properties.get("evidence", ()))
    told = [part for part in (start, f"{sources} sources" if sources > 1 else "") if part]
    return f"{other} ({', '.join(told)})" if told else str(other)


def _sentences(memories: Iterable[AnyMemory], names: Sequence[str]) -> Iterator[str]:
    """Yields the sentences of memories in which one of the names stands, each once, with its day."""
    folded, shown = [name.casefold() for name in names], set[str]()
    for memory in memories:
        for at, text in _parts(memory):
            for sentence in sentences_of(text):
                line = shortened(one_line(sentence), LONGEST_SENTENCE)
                if line not in shown and any(name in line.casefold() for name in folded):
                    shown.add(line)
                    yield f"{at:%Y-%m-%d}: {line}"
                    if len(shown) == MOST_SENTENCES:
                        return


def _parts(memory: AnyMemory) -> Iterator[tuple[datetime, str]]:
    if isinstance(memory, Conversation):
        for turn, text in memory.pieces():
            yield memory.held_at, f"{turn.speaker}: {text}" if turn.speaker else text
    else:
        yield memory.seen_at, memory.text
