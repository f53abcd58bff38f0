"""Reads an export. Each line is checked, for a file is untrusted data, and loses its secrets on the way into a copy, which is what is stored."""

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticError

from alma.errors import AlmaError, ValidationError
from alma.extensions import extension
from alma.files import SQLITE_HEADER, checked_path, opened_file
from alma.memory import arguments as args
from alma.memory.arguments import Redaction, with_composed_names
from alma.memory.episodes.records import check_body, first_fault
from alma.memory.learn.adding import checked_fields, checked_passages
from alma.memory.learn.storing import LEARNED, with_task
from alma.memory.room import Room
from alma.memory.texts import UNIT_TOLERANCE
from alma.memory.transfer.export import Target
from alma.storage.relational.rows import memory_row
from alma.text import composed, fault_in, quoted
from alma.types.custom import DEFINITIONS, CustomMemoryType, stored_type
from alma.types.exported import (
    FORMAT,
    FORMER_VERSION,
    VERSION,
    ExportedCounts,
    ExportedEvidence,
    ExportedLine,
    ExportedMemory,
    ExportedPassage,
    ExportedPurge,
    ExportedRecord,
    ExportEnd,
    ExportHeader,
)
from alma.types.kinds import KINDS, MemoryType
from alma.types.memories import MEMORY_CLASSES, CustomMemory, Memory, Passage
from alma.types.strategies import RULE, SIDES, fault_in_rule
from alma_guard import placeholders_in

LONGEST_LINE = 256 * 1024 * 1024
PART = 1024 * 1024
"""Bytes of an open file that are copied at once."""

Line = ExportedMemory | ExportedRecord
Key = str | tuple[str, str]
"""The id of a memory; kind and key of a record."""

_LINE: TypeAdapter[Line | ExportedEvidence | ExportedPurge | ExportEnd] = TypeAdapter(ExportedLine)
_KNOWN = {"memory": "memories", "record": "records", "evidence": "evidence"}
"""Names of the attributes of an export that have the keys of lines of a type."""

_to_json = json.JSONEncoder(sort_keys=True).encode

_SEAM = re.compile("\n\x00(\\d+)\x00\n")
"""Stands between two passages while they are redacted as one text. No stored text holds a NUL character."""


@dataclass(slots=True)
class SoundExport:
    """Content of a whole, sound file. `memories` and `records` have the place of each in the copy; `secrets` are the placeholders that
    redaction put into `redacted` lines."""

    header: ExportHeader
    copy: BinaryIO
    redaction: Redaction
    memories: dict[str, int] = field(default_factory=dict)
    records: dict[tuple[str, str], int] = field(default_factory=dict)
    evidence: dict[str, int] = field(default_factory=dict)
    purged: list[ExportedPurge] = field(default_factory=list)
    definitions: dict[str, CustomMemoryType] = field(default_factory=dict)
    archived: int = 0
    redacted: int = 0
    secrets: set[str] = field(default_factory=set)
    tasks: dict[str, str] = field(default_factory=dict)
    """Tasks of outcomes that redaction changed: notes of what was learned under a key state a digest of it."""
    former: Any = None
    """Rules and counts of a file of the former version."""

    def __post_init__(self) -> None:
        if self.header.version == FORMER_VERSION:
            self.former = extension(
                "alma_upgrade.exports", "upgrade", "the file is of a former version, whose upgrade is"
            ).FormerExport()

    @property
    def claimed(self) -> Sequence[str]:
        """The rules and counts of a file of the former version that no outcome in it bears out."""
        claimed: Sequence[str] = self.former.claimed if self.former else ()
        return claimed

    @property
    def counts(self) -> ExportedCounts:
        """The number of its lines of each sort."""
        return ExportedCounts(archived=self.archived, **{name: len(getattr(self, name)) for name in _KNOWN.values()})

    def lines(self) -> Iterator[Line]:
        """Yields the memories and records as they are to be stored."""
        self.copy.seek(0)
        yield from map(self._line, self.copy)

    def memory(self, memory_id: str) -> ExportedMemory | None:
        """Returns the line of a memory, if the file has one. Not to be called while `lines` is read."""
        if memory_id not in self.memories:
            return None
        self.copy.seek(self.memories[memory_id])
        line = self._line(self.copy.readline())
        return line if isinstance(line, ExportedMemory) else None

    def _line(self, data: bytes) -> Line:
        line = _LINE.validate_json(data)
        assert isinstance(line, Line)
        if isinstance(line, ExportedMemory):
            renewed: Line = self.former.renewed(line) if self.former else line
            return renewed
        if line.kind == LEARNED and (task := self.tasks.get(str(line.body.get("outcome_id")))):
            return line.model_copy(update={"body": with_task(line.body, task)})
        return line

    def take(self, line: Line | ExportedEvidence | ExportedPurge) -> None:
        """Checks a line and copies it without its secrets, names in composed form. `ValidationError` unless ALMA itself would have written it."""
        check_storable(line.model_dump(exclude={"passages": {"__all__": {"vector"}}}), _name(line))
        if isinstance(line, ExportedPurge):
            self.purged.append(line)
            return
        if not isinstance(line, ExportedEvidence):
            agent = {"agent": composed(line.agent)} if isinstance(line, ExportedMemory) else {}
            line = line.model_copy(update={"body": with_composed_names(line.body), **agent})
        known: dict[Any, int] = getattr(self, _KNOWN[line.type])
        key = line.id if isinstance(line, ExportedEvidence) else key_of(line)
        if key in known:
            raise ValidationError(f"{_name(line)} is there twice")
        known[key] = self.copy.tell()
        self._check(line)
        if isinstance(line, ExportedMemory):
            self.archived += line.archived_at is not None
            _check_vectors(line, self.header)
        kept = self._redact(line)
        if self.former:
            self.former.note(kept)
        if not isinstance(kept, ExportedEvidence):
            self.copy.write(kept.model_dump_json().encode() + b"\n")

    def _check(self, line: Line | ExportedEvidence) -> None:
        if isinstance(line, ExportedMemory):
            check_memory(line, self.definitions)
        elif isinstance(line, ExportedRecord):
            _check_record(line)
            if line.kind == DEFINITIONS:
                self.definitions[line.key] = _definition_in(line)

    def _redact(self, line: Any) -> Any:
        kept = redacted_line(self.redaction, line)
        if kept is line:
            return line
        self._check(kept)
        self.redacted += 1
        self.secrets |= placeholders_in(kept.model_dump_json()) - placeholders_in(line.model_dump_json())
        if isinstance(kept, ExportedMemory) and kept.kind == MemoryType.OUTCOME:
            self.tasks[kept.id] = str(kept.body.get("task_description"))
        return kept

    def renew(self) -> None:
        """Replaces the counts and learned rules of a file of the former version. Its vectors are made again, for texts of rules changed."""
        if self.former is None:
            return
        self.header = self.header.model_copy(update={"has_vectors": False})
        for rule in self.former.judge():
            self.records[RULE, rule.id] = self.memories.pop(rule.id)
            self.archived -= rule.row["archived_at"] is not None
        for line in self.former.stated(self.header.project):
            if line.id not in self.memories:
                self.take(line)
                self.former.claimed.append(line.id)
        self.evidence.clear()


def key_of(line: Line) -> Key:
    """Returns the id of a memory; kind and key of a record."""
    return line.id if isinstance(line, ExportedMemory) else (line.kind, line.key)


@contextmanager
def opened_export(room: Room, source: Target, redaction: Redaction) -> Iterator[SoundExport]:
    """Opens a file, which is read at once: what becomes of it later changes nothing. `ValidationError` unless it is a whole, sound export."""
    with room.store.spool() as copy:
        with _open(room, source) as file:
            try:
                export = read_export(file, copy, redaction)
            except ValidationError as error:
                name = str(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", "the file")
                raise ValidationError(f"{name} cannot be imported: {error}; nothing was stored") from error
        yield export


@contextmanager
def _open(room: Room, source: Target) -> Iterator[BinaryIO]:
    if isinstance(source, str | os.PathLike):
        with opened_file(checked_path(source)) as file:
            yield file
        return
    read = getattr(source, "read", None)
    if not callable(read):
        raise ValidationError(f"an import needs a path or an open file, not {quoted(source)}")
    with room.store.spool() as file:
        while part := read(PART):
            file.write(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part)
        file.seek(0)
        yield file


def read_export(file: BinaryIO, copy: BinaryIO, redaction: Redaction) -> SoundExport:
    """Returns the content of a file, copied line by line. `ValidationError` names the line and its fault."""
    lines = _lines_of(file)
    number, first = next(lines, (1, b""))
    export, digest = SoundExport(_header(first), copy, redaction), hashlib.sha256(first)
    for number, data in lines:
        try:
            line = _LINE.validate_json(data)
            if not isinstance(line, ExportEnd):
                export.take(line)
                digest.update(data)
                continue
        except PydanticError as error:
            raise ValidationError(f"line {number}: {first_fault(error)}") from error
        except AlmaError as error:
            raise ValidationError(f"line {number}: {error}") from error
        _check_end(export, line, number, digest.hexdigest())
        if next(lines, None) is not None:
            raise ValidationError(f"line {number + 1}: there is something after the end")
        export.renew()
        return export
    raise ValidationError(f"it ends after line {number}, without the closing line: it was not written or copied to its end")


def _lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the lines with their numbers, each with its line end."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if not line.endswith(b"\n"):
            raise ValidationError(f"line {number} is cut short: the file was not written or copied to its end")
        yield number, line


def _header(line: bytes) -> ExportHeader:
    if line.startswith(SQLITE_HEADER):
        raise ValidationError(
            "it is no export of ALMA but a SQLite database; `alma import --from alma-memory` reads one of alma-memory"
        )
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValidationError("it is no export of ALMA: its first line is not JSON") from error
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise ValidationError(f"it is no export of ALMA: its first line does not say {FORMAT!r}")
    if (version := given.get("version")) not in (VERSION, FORMER_VERSION):
        is_former = isinstance(version, int) and version < VERSION
        raise ValidationError(
            f"it is written in version {quoted(version)} of the format, and this ALMA reads version {VERSION}; "
            + ("open the store that it came from with this ALMA, and export it again" if is_former else "upgrade alma-core")
        )
    try:
        return ExportHeader.model_validate_json(line)
    except PydanticError as error:
        raise ValidationError(f"line 1: {first_fault(error)}") from error


def _check_end(export: SoundExport, end: ExportEnd, number: int, digest: str) -> None:
    if end.lines != number - 1:
        raise ValidationError(
            f"the closing line says {end.lines} lines, but there are {number - 1}: lines are missing or were added"
        )
    if end.sha256 != digest:
        raise ValidationError("the SHA-256 of its lines is not the one in the closing line: it was changed after it was written")
    if export.counts != export.header.counts:
        raise ValidationError("it does not hold what its first line says")


def _name(line: Line | ExportedEvidence | ExportedPurge) -> str:
    if isinstance(line, ExportedRecord):
        return f"record {line.kind}/{line.key}"
    return line.type if isinstance(line, ExportedPurge) else f"{line.type} {quoted(line.id)}"


def check_storable(value: object, name: str) -> None:
    """Raises `ValidationError` if a text or a number in a value cannot be stored."""
    if isinstance(value, str) and (fault := fault_in(value)):
        raise ValidationError(f"{name} cannot be stored: {fault}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValidationError(f"{name} holds {value}, which is no number")
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple):
        for part in value:
            check_storable(part, name)


def _check_record(line: ExportedRecord) -> None:
    if "/" in line.kind:
        raise ValidationError(f"the kind of a record holds a slash: {quoted(line.kind)}")
    check_body(line.kind, line.key, line.body)
    if line.kind == RULE and (fault := fault_in_rule(line.body)):
        raise ValidationError(f"the record of rule {quoted(line.key)} is none: {fault}")


def _definition_in(line: ExportedRecord) -> CustomMemoryType:
    try:
        definition = stored_type(line.body)
    except (TypeError, ValueError) as error:
        raise ValidationError(f"the definition of {quoted(line.key)} is none: {error}") from error
    if definition.name != line.key:
        raise ValidationError(f"the definition of {quoted(line.key)} is one of {definition.name!r}")
    return definition


def check_memory(line: ExportedMemory, definitions: Mapping[str, CustomMemoryType]) -> None:
    """Raises `ValidationError` unless ALMA itself would have stored the memory of a line so."""
    memory = memory_of(line, definitions)
    if isinstance(memory, CustomMemory):
        fields = memory.definition.fields
        memory.definition.checked({name: value for name, value in memory.fields.items() if name in fields})
    args.optional_text(line.evidence, "evidence")
    _check_row(line, memory.model_copy(update=checked_fields(memory)))
    if not checked_passages([passage_of(passage) for passage in line.passages]):
        raise ValidationError(f"memory {line.id} has no passage, so nothing could find it")


def _check_row(line: ExportedMemory, memory: Memory) -> None:
    """Raises `ValidationError` unless the values of the line, which are stored as they are, are those of the memory in the same form."""
    made = memory.model_dump(mode="json") | memory_row(memory)["body"]
    body = {name: value for name, value in line.body.items() if value not in (None, {})}
    faults = [name for name, value in body.items() if _to_json(value) != _to_json(made.get(name))]
    # the counts of a former version's learned rules are sums of shares
    columns = ("agent", "seen_at", "successes", "trials")[: 2 if line.evidence and line.kind in SIDES else 4]
    if faults := [*faults, *(name for name in columns if getattr(line, name) != getattr(memory, name))]:
        raise ValidationError(f"{faults[0]} of memory {line.id} is not as ALMA keeps it")


def memory_of(line: ExportedMemory, definitions: Mapping[str, CustomMemoryType]) -> Memory:
    """Returns the memory of a line."""
    shared = {name: getattr(line, name) for name in ("id", "agent", "confidence", "created_at", "updated_at")}
    given = {**line.body, **shared, "kind": line.kind}
    if overlap := sorted({*line.body} & {*shared, "kind", "project_id", "definition"}):
        raise ValidationError(f"the body of memory {line.id} has no place for {', '.join(overlap)}")
    try:
        if line.kind in MEMORY_CLASSES:
            spec = KINDS[MemoryType(line.kind)]
            counts = {name: int(getattr(line, column) or 0) for name, column in spec.counts.items()}
            return MEMORY_CLASSES[line.kind].model_validate({**given, **counts, spec.time_field: line.seen_at})
        if line.kind not in definitions:
            raise ValidationError(f"there is no definition of the kind {quoted(line.kind)} before it")
        return CustomMemory(**given, definition=definitions[line.kind])
    except PydanticError as error:
        raise ValidationError(f"memory {line.id}: {first_fault(error)}") from error


def passage_of(line: ExportedPassage) -> Passage:
    """Returns the passage of a line."""
    return Passage(**{name: getattr(line, name) for name in ("text", "keywords", "speaker", "position", "time", "is_own")})


def _check_vectors(line: ExportedMemory, header: ExportHeader) -> None:
    for passage in line.passages:
        if passage.vector is not None:
            if not header.has_vectors or not passage.is_embedded:
                raise ValidationError("a passage has a vector that it should not have")
            vector_in(passage.vector, header.embedder.dimension)
        elif header.has_vectors and passage.is_embedded:
            raise ValidationError("the first line promises vectors, but a passage has none")


def vector_in(text: str, dimension: int) -> bytes:
    """Returns the bytes of a vector. `ValidationError` unless it has that dimension and length 1."""
    try:
        data = base64.b64decode(text, validate=True)
        vector = np.frombuffer(data, dtype="<f2").astype(np.float64)
    except ValueError as error:
        raise ValidationError("a passage has a vector that is not float16 in base64") from error
    length = float(np.linalg.norm(vector)) if vector.shape == (dimension,) else math.nan
    if not abs(length - 1.0) <= UNIT_TOLERANCE:
        raise ValidationError(f"a passage has a vector that is none of {dimension} numbers and length 1")
    return data


def redacted_line(redaction: Redaction, line: Any) -> Any:
    """Returns a line without the secrets in it; the line itself if there are none.

    The passages of a memory are looked at as one text, too: a private key is longer than a passage, and no part of it looks like one.
    """
    changed = redaction.value(line)
    if not isinstance(line, ExportedMemory) or redaction.given == "off":
        return changed
    passages = changed.passages
    if not callable(redaction.given):
        joined = "".join(f"\n\x00{number}\x00\n{passage.text}" for number, passage in enumerate(line.passages))
        first, *rest = _SEAM.split(redaction.text(joined))
        left = dict(zip(map(int, rest[::2]), rest[1::2], strict=True))
        if not first and left != {number: passage.text for number, passage in enumerate(passages)}:
            made = (one.model_copy(update={"text": left.get(number, "")}) for number, one in enumerate(passages))
            passages = tuple(one for one in made if one.text.strip())
    if changed is line and passages is changed.passages:
        return line
    unembedded = tuple(passage.model_copy(update={"vector": None}) for passage in passages)  # texts may have changed
    return changed.model_copy(update={"passages": unembedded})
