"""What a prompt says of times where the question asks for them: the order of the notes, and a line with the days between the events."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from alma.types.memories import Memory
from alma.types.recalled import Recalled
from alma.types.sentences import brief
from alma.types.tags import defused, parts_of
from alma.types.timeline import DATED, DatedEvent, Relation, Timeline, days_from

_COMPARED = (Relation.INTERVAL, Relation.ORDER)


def is_dated(memory: Memory) -> bool:
    """Returns True for what happened at a time: a conversation, an outcome."""
    return memory.kind in DATED


def in_time_order(items: Mapping[str, Recalled], timeline: Timeline | None) -> Mapping[str, Recalled]:
    """Returns the items by tag, what happened at a time earliest first where a question compares times; else as they are."""
    if timeline is None or timeline.relation not in _COMPARED:
        return items
    dated = [(tag, item) for tag, item in items.items() if is_dated(item.memory)]
    rest = [(tag, item) for tag, item in items.items() if not is_dated(item.memory)]
    return dict([*rest, *sorted(dated, key=lambda pair: pair[1].memory.seen_at)])


def dates(items: Mapping[str, Recalled], timeline: Timeline | None, now: datetime) -> Sequence[str]:
    """Returns the line on the events of which the memory is among the items; none where nothing is to compute."""
    if timeline is None or timeline.relation is Relation.DATE:
        return ()
    tags = {item.memory.id: tag for tag, item in items.items()}
    shown = [event for event in timeline.events if event.memory_id in tags]
    if not shown:
        return ()
    since = now if timeline.relation is Relation.AGE else None
    return [f"Dates of the nearest notes: {'; '.join(_said(shown, tags, since))}."]


def _said(events: Sequence[DatedEvent], tags: Mapping[str, str], now: datetime | None) -> Iterator[str]:
    before: DatedEvent | None = None
    for event in events:
        tag = tags[event.memory_id]
        after = ""
        if before is not None and before.memory_id != event.memory_id:
            after = f", {_days(days_from(before.at, event.at))} later"
        ago = "" if now is None else f", {_days(days_from(event.at, now))} ago"
        yield f"{defused(brief(event.event), parts_of(tag)[0])} {event.at:%Y-%m-%d} [{tag}]{after}{ago}"
        before = event


def _days(count: int) -> str:
    return f"{count} day{'' if count == 1 else 's'}"
