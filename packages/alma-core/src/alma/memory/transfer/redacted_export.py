"""An export without the secrets in it: what an old file holds is replaced before anything of the file is checked, embedded or stored.

Evidence is named by the keys of its task and its strategy, so where one of these changes, the names of evidence and all that rests on it follow.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from alma.errors import ValidationError
from alma.memory.learn.idempotency import LEARNED, with_task
from alma.memory.redacting import Redaction
from alma.memory.transfer.import_checks import Contents, Line, line_from, lines_between, lines_of, memory_of
from alma.observing import blank_evidence, place_of
from alma.types.evidence import NO_STRATEGY, evidence_id, is_of_steps, text_key
from alma.types.exported import ExportedEvidence, ExportedMemory, ExportedPurge, ExportEnd, ExportHeader
from alma.types.kinds import MemoryType
from alma.types.memories import Outcome

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
        moved = _Moved(redaction, header)
        if not sum(moved.note(line) for line in lines_between(file)):  # all of them are to be noted
            return file
        moved.name_evidence()
        _write(spool, header, chain(map(moved.placed, lines_between(file)), purges_in(file)))
    except (ValidationError, ValueError, StopIteration):  # the checks that follow say what is wrong with it
        return file
    return spool


@dataclass(slots=True)
class _Moved:
    """The places of tasks and the ids of evidence that change with the texts that they are made of."""

    redaction: Redaction
    header: ExportHeader
    places: dict[str, str] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    """Of outcomes whose task changes the task as it is to be."""
    cells: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Of all evidence its id, agent, place and the key of its strategy as it is to be."""

    def note(self, line: Line) -> bool:
        """Returns True if a line changes; what changes with it is noted."""
        changed = redacted_line(self.redaction, line)
        if isinstance(changed, ExportedEvidence):
            self.cells.append((changed.id, changed.agent, changed.task_class, _strategy_key(changed)))
        if changed is line:
            return False
        if isinstance(changed, ExportedMemory) and changed.kind == MemoryType.OUTCOME:
            self.tasks[changed.id] = str(changed.body.get("task_description"))
        if isinstance(line, ExportedEvidence) and isinstance(changed, ExportedEvidence) and line.task and changed.task:
            was = text_key(line.task)
            if line.task_class.endswith(was):
                self.places[line.task_class] = line.task_class.removesuffix(was) + text_key(changed.task)
        if (
            isinstance(line, ExportedMemory)
            and line.kind == MemoryType.OUTCOME
            and line.evidence
            and isinstance(changed, ExportedMemory)
        ):
            (place, self.evidence[line.evidence]) = self._of_outcome(changed, line.evidence)
            self.places[self._of_outcome(line, line.evidence)[0]] = place
        return True

    def name_evidence(self) -> None:
        """Finds the ids of all evidence, now that all places are known."""
        self.evidence |= {
            number: evidence_id(agent, self.places.get(place, place), key) for number, agent, place, key in self.cells
        }

    def _of_outcome(self, line: ExportedMemory, evidence: str) -> tuple[str, str]:
        """The place of its task, and the id of the evidence that it belongs to."""
        outcome = memory_of(line, Contents(self.header))
        assert isinstance(outcome, Outcome)
        task = min(line.passages, key=lambda passage: passage.position).text
        place = place_of(outcome, task, is_step=is_of_steps(evidence))
        return place, blank_evidence(outcome, place, task).id

    def placed(self, line: Line) -> Line:
        """The line as it is imported."""
        changed = redacted_line(self.redaction, line)
        if isinstance(changed, ExportedMemory):
            passages = tuple(passage.model_copy(update={"vector": None}) for passage in changed.passages)
            evidence = self.evidence.get(changed.evidence or "", changed.evidence)
            return changed.model_copy(update={"passages": passages, "evidence": evidence})
        if isinstance(changed, ExportedEvidence):
            place = self.places.get(changed.task_class, changed.task_class)
            names = {"id": self.evidence[changed.id], "task_class": place, "strategy_hash": _strategy_key(changed)}
            return changed.model_copy(update=names)
        if changed.kind == LEARNED and (task := self.tasks.get(str(changed.body.get("outcome_id")))):
            return changed.model_copy(update={"body": with_task(changed.body, task)})
        return changed


def _strategy_key(line: ExportedEvidence) -> str:
    return text_key(line.strategy) if line.strategy else NO_STRATEGY


def purges_in(file: BinaryIO) -> Iterator[ExportedPurge]:
    """The lines that state what was purged."""
    lines = (line_from(number, data) for number, data in lines_of(file) if number > 1)
    yield from (line for line in lines if isinstance(line, ExportedPurge))


def _write(spool: BinaryIO, header: ExportHeader, lines: Iterator[Line | ExportedPurge]) -> None:
    """A whole export: its vectors are made anew, for some are of texts that changed."""
    digest, count = hashlib.sha256(), 0
    for line in (header.model_copy(update={"has_vectors": False}), *lines):
        data = line.model_dump_json().encode() + b"\n"
        digest.update(data)
        spool.write(data)
        count += 1
    spool.write(ExportEnd(lines=count, sha256=digest.hexdigest()).model_dump_json().encode() + b"\n")
