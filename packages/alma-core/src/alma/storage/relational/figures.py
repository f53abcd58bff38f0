"""The figures of one project, for showing them to a person. Reads only."""

import json
from collections.abc import Mapping, Sequence

from alma.protocols import DayCount, JournalEntry, PartitionDay, Sizes, UsageTotals
from alma.storage.relational.hidden_keys import reveal_operation
from alma.storage.relational.logical import PASSAGE_TEXTS
from alma.storage.relational.seal import Seal
from alma.storage.relational.session import Session
from alma.types.identity import from_micros
from alma.types.partition import Partition
from alma.types.passages import Passage

MICROS_A_DAY = 86_400_000_000


def passages(session: Session, rows: Sequence[int], seal: Seal) -> dict[int, Passage]:
    """Passages by row; unknown rows are left out."""
    found = list(session.all("passages", {"rows": json.dumps(rows)}))
    return {row: _passage(values[:3], values[3], values[4], values[5:], seal) for row, *values in found}


def _passage(place: Sequence[int], time: int | None, is_own: int, texts: Sequence[bytes], seal: Seal) -> Passage:
    _, _, position = place
    speaker, text, keywords = (
        seal.open(value, place=f"passage.{name}", row=tuple(place)).decode()
        for name, value in zip(PASSAGE_TEXTS, texts, strict=True)
    )
    return Passage(
        text=text,
        keywords=keywords,
        speaker=speaker,
        position=position,
        time=None if time is None else from_micros(time),
        is_own=bool(is_own),
    )


def growth(session: Session, project: int | None, partitions: Mapping[int, Partition]) -> list[PartitionDay]:
    """Returns how many memories, archived ones left out, were made in each partition on each day."""
    rows = list(session.all("growth", {"project": project, "a_day": MICROS_A_DAY}))
    return [PartitionDay(partitions[partition], from_micros(day * MICROS_A_DAY).date(), count) for partition, day, count in rows]


def activity(session: Session, project: int | None, seal: Seal) -> list[DayCount]:
    """Returns how many journal records of each operation there are on each day."""
    rows = list(session.all("activity", {"project": project, "a_day": MICROS_A_DAY}))
    named = sorted((day, reveal_operation(seal, stored), count) for stored, day, count in rows)
    return [DayCount(operation, from_micros(day * MICROS_A_DAY).date(), count) for day, operation, count in named]


def newest_records(session: Session, project: int | None, limit: int, seal: Seal) -> list[JournalEntry]:
    """The newest journal records, newest first, without their payloads."""
    rows = list(session.all("journal_newest", {"project": project, "most": limit}))
    return [
        JournalEntry(seq, from_micros(at), actor, reveal_operation(seal, stored), bool(is_purged))
        for seq, at, actor, stored, is_purged in rows
    ]


def telling(session: Session, project: int | None, limit: int) -> list[int]:
    """The memories with the most evidence, best first: used and praised, then tried most often, then newest."""
    return [row for (row,) in session.all("telling", {"project": project, "most": limit})]


def usage_totals(session: Session, project: int | None) -> UsageTotals:
    """Sums the usage of what was shown, over all memories that are not archived."""
    return UsageTotals(*next(session.all("usage_totals", {"project": project})))


def sizes(session: Session, project: int | None) -> Sizes:
    """Returns how much of the database each sort of content takes."""
    given = {"project": project}
    archived = next(session.all("archived_count", given))
    texts = next(session.all("passage_size", given))
    vectors = next(session.all("vector_size", given))
    journal = next(session.all("journal_size", given))
    return Sizes(*archived, *texts, *vectors, *journal)
