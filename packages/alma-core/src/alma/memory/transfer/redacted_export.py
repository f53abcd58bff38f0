"""An export without the secrets in it: what an old file holds is replaced before anything of the file is checked, embedded or stored."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from alma.errors import ValidationError
from alma.memory.learn.idempotency import LEARNED, with_task
from alma.memory.redacting import Redaction
from alma.memory.transfer.import_checks import Line, all_lines, lines_between, lines_of
from alma.types.exported import ExportedMemory, ExportedPurge, ExportEnd, ExportHeader
from alma.types.kinds import MemoryType

_SEAM = re.compile("\n\x00(\\d+)\x00\n")
"""Stands between two passages while they are redacted as one text. No stored text holds a NUL character."""


def redacted_line(redaction: Redaction, line: Line) -> Line:
    """Returns a line without the secrets in it; the line itself if there are none.

    The passages of a memory are looked at as one text, too: a private key is longer than a passage, and no part of it looks like one.
    """
    changed = redaction.value(line)
    if not isinstance(line, ExportedMemory) or not isinstance(changed, ExportedMemory) or callable(redaction.given):
        return changed
    texts = [passage.text for passage in line.passages]
    first, *rest = _SEAM.split(redaction.text("".join(f"\n\x00{number}\x00\n{text}" for number, text in enumerate(texts))))
    left = dict(zip(map(int, rest[::2]), rest[1::2], strict=True))
    if first or left == {number: passage.text for number, passage in enumerate(changed.passages)}:
        return changed
    passages = (passage.model_copy(update={"text": left.get(number, "")}) for number, passage in enumerate(changed.passages))
    return changed.model_copy(update={"passages": tuple(passage for passage in passages if passage.text.strip())})


def redacted_export(file: BinaryIO, redaction: Redaction, spool: BinaryIO) -> BinaryIO:
    """The file itself if there is nothing in it to replace, or if it is no sound export; else `spool`, with the same but for that."""
    try:
        header = ExportHeader.model_validate_json(next(lines_of(file))[1])
        moved = _Moved(redaction)
        if not sum(moved.note(line) for line in lines_between(file)):  # all of them are to be noted
            return file
        write_export(spool, header, chain(map(moved.placed, lines_between(file)), purges_in(file)))
    except (ValidationError, ValueError, StopIteration):  # the checks that follow say what is wrong with it
        return file
    return spool


@dataclass(slots=True)
class _Moved:
    """Outcomes whose task changes, with the task as it is to be: notes of what was learned under a key state it, too."""

    redaction: Redaction
    tasks: dict[str, str] = field(default_factory=dict)

    def note(self, line: Line) -> bool:
        """Returns True if a line changes; what changes with it is noted."""
        changed = redacted_line(self.redaction, line)
        if changed is line:
            return False
        if isinstance(changed, ExportedMemory) and changed.kind == MemoryType.OUTCOME:
            self.tasks[changed.id] = str(changed.body.get("task_description"))
        return True

    def placed(self, line: Line) -> Line:
        """Returns the line as it is imported."""
        changed = redacted_line(self.redaction, line)
        if isinstance(changed, ExportedMemory):
            passages = tuple(passage.model_copy(update={"vector": None}) for passage in changed.passages)
            return changed.model_copy(update={"passages": passages})
        if changed.kind == LEARNED and (task := self.tasks.get(str(changed.body.get("outcome_id")))):
            return changed.model_copy(update={"body": with_task(changed.body, task)})
        return changed


def purges_in(file: BinaryIO) -> Iterator[ExportedPurge]:
    """The lines that state what was purged."""
    return (line for line in all_lines(file) if isinstance(line, ExportedPurge))


def write_export(spool: BinaryIO, header: ExportHeader, lines: Iterator[Line | ExportedPurge]) -> None:
    """Writes a whole export, without vectors: they are made anew, for some may be of texts that changed."""
    digest, count = hashlib.sha256(), 0
    for line in (header.model_copy(update={"has_vectors": False}), *lines):
        data = line.model_dump_json().encode() + b"\n"
        digest.update(data)
        spool.write(data)
        count += 1
    spool.write(ExportEnd(lines=count, sha256=digest.hexdigest()).model_dump_json().encode() + b"\n")
