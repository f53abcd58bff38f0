"""What was tried, and how it went: the table that a person asks for."""

from collections.abc import Iterable, Sequence

from alma.errors import ValidationError
from alma.learning.ledger import MOST_CLASSES, MOST_STRATEGIES
from alma.learning.records import record_of
from alma.memory import arguments as args
from alma.memory.nearby import LEARNED_KINDS, NearClass, near, near_classes, place_of
from alma.memory.room import Room
from alma.memory.scopes import readable
from alma.memory.swaps import check_order
from alma.text import spelt
from alma.types.evidence import BY_TYPE, STEP, WHOLE_CLASS, Evidence
from alma.types.kinds import MemoryType
from alma.types.strategies import StrategyRecord, StrategyTable

NEAR_ENOUGH = 0.35
"""Tasks below this cosine have nothing to do with the one that is asked about."""

MOST_NEAR_CLASSES = 8


def strategies(
    room: Room, *, task: object, agent: object, task_type: object, include_steps: bool, limit: object
) -> StrategyTable:
    """The strategies tried for tasks like this one, or for all, the surest to work first."""
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    text = None if task is None else args.checked_text(task, "task")
    kind = args.optional_label(task_type, "task_type")
    most = args.checked_count(limit, "limit")
    if text is not None and kind is not None:
        raise ValidationError("give a task or a task_type, not both")
    wanted = [place for place in _places(room, reader, text, kind) if include_steps or not place.task_class.startswith(STEP)]
    rows = [
        row
        for place in wanted
        for row in records(*class_of(room, place), reader=reader, similarity=None if text is None else place.cosine)
    ]
    return StrategyTable(agent=reader, task=text, rows=tuple(sorted(rows, key=surest_first)[:most]))


def class_of(room: Room, place: NearClass) -> tuple[Evidence | None, list[Evidence]]:
    """The evidence on a class as a whole, and on the strategies that were tried in it, those tried most often first."""
    key = place.agent, place.task_class
    found = [stored.evidence for stored in room.project.learned.of_classes([key], most=MOST_STRATEGIES).get(key, ())]
    return whole_of(room, place, found), [seen for seen in found if not seen.is_whole_class]


def records(whole: Evidence | None, tried: Iterable[Evidence], *, reader: str, similarity: float | None) -> list[StrategyRecord]:
    """The records of strategies of one class."""
    if whole is None:
        return []
    kind = type_of(whole.task_class)
    return [record_of(seen, whole, task_type=kind, reader=reader, similarity=similarity) for seen in tried]


def whole_of(room: Room, place: NearClass, found: Iterable[Evidence]) -> Evidence | None:
    """The evidence on a class as a whole; where there was a single outcome, that on its strategy is all there is."""
    known = list(found)
    whole = next((seen for seen in known if seen.is_whole_class), None)
    if whole is None:
        stored = room.project.learned.at(place.agent, place.task_class, WHOLE_CLASS)
        whole = stored.evidence if stored else next(iter(known), None)
    return whole


def type_of(task_class: str) -> str | None:
    """The type that names a class; `None` if a task does."""
    name = task_class.removeprefix(STEP)
    return name.removeprefix(BY_TYPE) if name.startswith(BY_TYPE) else None


def surest_first(row: StrategyRecord) -> tuple[float, float, float, str]:
    """Where a task was asked about the nearest tasks first, by the tenth of a cosine; then by the lower bound of the rate; in doubt what was tried
    more often."""
    return -round(row.similarity or 0.0, 1), -row.interval.lower, -row.trials, row.strategy


def _places(room: Room, reader: str, text: str | None, task_type: str | None) -> Sequence[NearClass]:
    if text is not None:
        return _near(room, reader, text)
    return _all(room, reader) if task_type is None else _of_type(room, reader, task_type)


def _near(room: Room, reader: str, text: str) -> Sequence[NearClass]:
    found = near(room, reader=reader, text=text, kinds=LEARNED_KINDS, least=NEAR_ENOUGH)
    return near_classes(room, found)[:MOST_NEAR_CLASSES]


def _all(room: Room, reader: str) -> list[NearClass]:
    """The classes of all agents that share with the reader: the newest, the largest, and all with a rule."""
    learned, owners = room.project.learned, _owners(room, reader)
    newest = learned.classes(owners, most=MOST_CLASSES)
    found = [
        stored
        for owner in owners
        for stored in (
            *newest[owner],
            *learned.largest_classes(owner, most=MOST_CLASSES),
            *learned.with_rules(owner),
        )
    ]
    return [NearClass(*place, 1.0) for place in dict.fromkeys(map(place_of, found))]


def _of_type(room: Room, reader: str, task_type: str) -> list[NearClass]:
    name = f"{BY_TYPE}{spelt(task_type)}"
    return [NearClass(owner, key, 1.0) for owner in _owners(room, reader) for key in (name, STEP + name)]


def _owners(room: Room, reader: str) -> list[str]:
    """Whose outcomes the reader sees."""
    scope = readable(room, agent=reader, user_id=None)
    return sorted({partition.owner for partition in scope if partition.kind == MemoryType.OUTCOME})
