"""The figures of one project, for showing them to a person. Reads only."""

import json
import sqlite3
from collections.abc import Mapping, Sequence

from alma.protocols import DayCount, JournalEntry, PartitionDay, Sizes, UsageTotals
from alma.storage import compiled
from alma.storage.seal import Seal
from alma.types.identity import from_micros
from alma.types.partition import Partition
from alma.types.passages import Passage

MICROS_A_DAY = 86_400_000_000


def passages(connection: sqlite3.Connection, rows: Sequence[int], seal: Seal) -> dict[int, Passage]:
    """Passages by row; unknown rows are left out."""
    found = connection.execute(compiled.PASSAGES, {"rows": json.dumps(rows)}).fetchall()
    return {row: _passage(position, time, is_own, texts, seal) for row, position, time, is_own, *texts in found}


def _passage(position: int, time: int | None, is_own: int, texts: Sequence[bytes], seal: Seal) -> Passage:
    speaker, text, keywords = (
        seal.open(value, place=f"passage.{name}").decode()
        for name, value in zip(("speaker", "text", "keywords"), texts, strict=True)
    )
    return Passage(
        text=text,
        keywords=keywords,
        speaker=speaker,
        position=position,
        time=None if time is None else from_micros(time),
        is_own=bool(is_own),
    )


def growth(connection: sqlite3.Connection, project: int | None, partitions: Mapping[int, Partition]) -> list[PartitionDay]:
    """How many memories, archived ones left out, were made in each partition on each day."""
    rows = connection.execute(compiled.GROWTH, {"project": project, "a_day": MICROS_A_DAY}).fetchall()
    return [PartitionDay(partitions[partition], from_micros(day * MICROS_A_DAY).date(), count) for partition, day, count in rows]


def activity(connection: sqlite3.Connection, project: int | None) -> list[DayCount]:
    """How many journal records of each operation there are on each day."""
    rows = connection.execute(compiled.ACTIVITY, {"project": project, "a_day": MICROS_A_DAY}).fetchall()
    return [DayCount(operation, from_micros(day * MICROS_A_DAY).date(), count) for operation, day, count in rows]


def newest_records(connection: sqlite3.Connection, project: int | None, limit: int) -> list[JournalEntry]:
    """The newest journal records, newest first, without their payloads."""
    rows = connection.execute(compiled.JOURNAL_NEWEST, {"project": project, "most": limit}).fetchall()
    return [
        JournalEntry(seq, from_micros(at), actor, operation, bool(is_purged)) for seq, at, actor, operation, is_purged in rows
    ]


def telling(connection: sqlite3.Connection, project: int | None, limit: int) -> list[int]:
    """The memories with the most evidence, best first: used and praised, then tried most often, then newest."""
    return [row for (row,) in connection.execute(compiled.TELLING, {"project": project, "most": limit})]


def usage_totals(connection: sqlite3.Connection, project: int | None) -> UsageTotals:
    """What was used of what was shown, over all memories that are not archived."""
    return UsageTotals(*connection.execute(compiled.USAGE_TOTALS, {"project": project}).fetchone())


def sizes(connection: sqlite3.Connection, project: int | None) -> Sizes:
    """How much of the database each sort of content takes."""
    given = {"project": project}
    archived = connection.execute(compiled.ARCHIVED_COUNT, given).fetchone()
    texts = connection.execute(compiled.PASSAGE_SIZE, given).fetchone()
    vectors = connection.execute(compiled.VECTOR_SIZE, given).fetchone()
    journal = connection.execute(compiled.JOURNAL_SIZE, given).fetchone()
    return Sizes(*archived, *texts, *vectors, *journal)
