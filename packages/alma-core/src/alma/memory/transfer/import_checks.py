"""Checks a whole export before any of it is stored. The content of a file is untrusted data."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticError

from alma.errors import AlmaError, ValidationError
from alma.files import SQLITE_HEADER
from alma.memory import arguments as args
from alma.memory.episodes.records import check_body
from alma.memory.learn.adding import checked_fields, checked_passages
from alma.memory.texts import UNIT_TOLERANCE
from alma.text import fault_in, quoted, shortened
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
from alma.types.memories import MEMORY_CLASSES, CustomMemory, Memory
from alma.types.passages import Passage
from alma.types.rules import RULE, fault_in_rule

LONGEST_LINE = 256 * 1024 * 1024

Line = ExportedMemory | ExportedRecord
AnyLine = Line | ExportedEvidence | ExportedPurge | ExportEnd

_LINE: TypeAdapter[AnyLine] = TypeAdapter(ExportedLine)


@dataclass(slots=True)
class Contents:
    """Content of a sound export: enough to store it in a second reading."""

    header: ExportHeader
    definitions: dict[str, CustomMemoryType] = field(default_factory=dict)
    memories: set[str] = field(default_factory=set)
    records: set[tuple[str, str]] = field(default_factory=set)
    evidence: set[str] = field(default_factory=set)
    purged: list[ExportedPurge] = field(default_factory=list)
    archived: int = 0
    sha256: str = ""

    @property
    def counts(self) -> ExportedCounts:
        return ExportedCounts(
            memories=len(self.memories), archived=self.archived, records=len(self.records), evidence=len(self.evidence)
        )


def lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the lines with their numbers, each with its line end. `ValidationError` for one without end or too long."""
    file.seek(0)
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if not line.endswith(b"\n"):
            raise ValidationError(f"line {number} is cut short: the file was not written or copied to its end")
        yield number, line


def line_from(number: int, line: bytes) -> AnyLine:
    """Parses a line."""
    try:
        return _LINE.validate_json(line)
    except PydanticError as error:
        raise ValidationError(f"line {number}: {first_fault(error)}") from error


def version_of(file: BinaryIO) -> object:
    """Returns the version that the first line states; `None` if it states none."""
    try:
        return json.loads(next(lines_of(file), (1, b""))[1])["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def lines_between(file: BinaryIO) -> Iterator[Line]:
    """Yields the lines with content: all between the first and the last, but for those that state what was purged or counted."""
    return (line for line in all_lines(file) if isinstance(line, ExportedMemory | ExportedRecord))


def all_lines(file: BinaryIO) -> Iterator[AnyLine]:
    """Yields all lines but the first."""
    return (line_from(number, data) for number, data in lines_of(file) if number > 1)


def first_fault(error: PydanticError) -> str:
    """Describes the first fault in one line."""
    found = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    return shortened(f"{place}: {found['msg']}" if place else found["msg"], 300)


def checked_file(file: BinaryIO) -> Contents:
    """Returns the contents of a whole, sound export. `ValidationError` names the line and its fault."""
    lines = lines_of(file)
    number, first = next(lines, (1, b""))
    contents = Contents(_header(first))
    digest = hashlib.sha256(first)
    for number, data in lines:
        line = line_from(number, data)
        if isinstance(line, ExportEnd):
            _check_end(contents, line, number, digest.hexdigest())
            if next(lines, None) is not None:
                raise ValidationError(f"line {number + 1}: there is something after the end")
            return contents
        digest.update(data)
        try:
            _take(contents, line)
        except AlmaError as error:
            raise ValidationError(f"line {number}: {error}") from error
    raise ValidationError(f"it ends after line {number}, without the closing line: it was not written or copied to its end")


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


def _check_end(contents: Contents, end: ExportEnd, number: int, digest: str) -> None:
    if end.lines != number - 1:
        raise ValidationError(
            f"the closing line says {end.lines} lines, but there are {number - 1}: lines are missing or were added"
        )
    if end.sha256 != digest:
        raise ValidationError("the SHA-256 of its lines is not the one in the closing line: it was changed after it was written")
    if contents.counts != contents.header.counts:
        raise ValidationError("it does not hold what its first line says")
    contents.sha256 = digest


def _take(contents: Contents, line: Line | ExportedEvidence | ExportedPurge) -> None:
    match line:
        case ExportedPurge():
            contents.purged.append(line)
        case ExportedMemory():
            _distinct(line.id, contents.memories, f"memory {quoted(line.id)}")
            contents.archived += line.archived_at is not None
            checked_memory(line, contents)
        case ExportedRecord():
            _distinct((line.kind, line.key), contents.records, f"record {line.kind}/{line.key}")
            _check_record(line, contents)
        case ExportedEvidence():
            _distinct(line.id, contents.evidence, f"evidence {quoted(line.id)}")
            for name in ("id", "agent", "task_class", "strategy", "heuristic", "anti_pattern", "task"):
                _check_text(getattr(line, name) or "", f"evidence.{name}")


def _distinct(key: Any, known: set[Any], what: str) -> None:
    if key in known:
        raise ValidationError(f"{what} is there twice")
    known.add(key)


def _check_record(line: ExportedRecord, contents: Contents) -> None:
    for text in (line.kind, line.key):
        _check_text(text, "the key of a record")
    if "/" in line.kind:
        raise ValidationError(f"the kind of a record holds a slash: {quoted(line.kind)}")
    _check_json(line.body, f"record {line.kind}/{line.key}")
    check_body(line.kind, line.key, line.body)
    if line.kind == RULE and (fault := fault_in_rule(line.body)):
        raise ValidationError(f"the record of rule {quoted(line.key)} is none: {fault}")
    if line.kind == DEFINITIONS:
        try:
            definition = stored_type(line.body)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"the definition of {quoted(line.key)} is none: {error}") from error
        if definition.name != line.key:
            raise ValidationError(f"the definition of {quoted(line.key)} is one of {definition.name!r}")
        contents.definitions[line.key] = definition


def checked_memory(line: ExportedMemory, contents: Contents) -> Memory:
    """Returns the memory of a line. `ValidationError` unless ALMA itself would have stored it so."""
    _check_json(line.body, f"memory {line.id}")
    memory = memory_of(line, contents)
    for name, value in checked_fields(memory).items():
        if value != getattr(memory, name):
            raise ValidationError(f"{name} of memory {line.id} is not as ALMA keeps it")
    if isinstance(memory, CustomMemory):
        _check_custom(memory)
    args.optional_text(line.evidence, "evidence")
    passages = checked_passages([passage_of(passage) for passage in line.passages])
    if not passages:
        raise ValidationError(f"memory {line.id} has no passage, so nothing could find it")
    for passage in line.passages:
        _check_vector(passage, contents.header)
    return memory


def memory_of(line: ExportedMemory, contents: Contents) -> Memory:
    """Builds the memory of a line."""
    shared = {name: getattr(line, name) for name in ("id", "agent", "confidence", "created_at", "updated_at")}
    given = {**line.body, **shared, "kind": line.kind}
    if overlap := sorted({*line.body} & {*shared, "kind", "project_id", "definition"}):
        raise ValidationError(f"the body of memory {line.id} has no place for {', '.join(overlap)}")
    try:
        if line.kind not in MEMORY_CLASSES:
            return CustomMemory(**given, definition=_definition(line.kind, contents))
        spec = KINDS[MemoryType(line.kind)]
        counts = {name: int(getattr(line, column) or 0) for name, column in spec.counts.items()}
        return MEMORY_CLASSES[line.kind].model_validate({**given, **counts, spec.time_field: line.seen_at})
    except PydanticError as error:
        raise ValidationError(f"memory {line.id}: {first_fault(error)}") from error


def _definition(kind: str, contents: Contents) -> CustomMemoryType:
    if kind not in contents.definitions:
        raise ValidationError(f"there is no definition of the kind {quoted(kind)} before it")
    return contents.definitions[kind]


def _check_custom(memory: CustomMemory) -> None:
    known = {name: value for name, value in memory.fields.items() if name in memory.definition.fields}
    memory.definition.checked(known)


def passage_of(line: ExportedPassage) -> Passage:
    """Builds the passage of a line."""
    return Passage(
        text=line.text,
        keywords=line.keywords,
        speaker=line.speaker,
        position=line.position,
        time=line.time,
        is_own=line.is_own,
    )


def _check_vector(passage: ExportedPassage, header: ExportHeader) -> None:
    if passage.vector is None:
        if header.has_vectors and passage.is_embedded:
            raise ValidationError("the first line promises vectors, but a passage has none")
        return
    if not header.has_vectors or not passage.is_embedded:
        raise ValidationError("a passage has a vector that it should not have")
    vector = np.frombuffer(decoded_vector(passage.vector), dtype="<f2").astype(np.float64)
    length = float(np.linalg.norm(vector)) if vector.shape == (header.embedder.dimension,) else float("nan")
    if not abs(length - 1.0) <= UNIT_TOLERANCE:
        raise ValidationError(f"a passage has a vector that is none of {header.embedder.dimension} numbers and length 1")


def decoded_vector(text: str) -> bytes:
    """Returns the bytes of a vector."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise ValidationError("a passage has a vector that is not base64") from error
    if len(data) % 2:
        raise ValidationError("a passage has a vector of an odd number of bytes")
    return data


def _check_json(value: Mapping[str, Any], what: str) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"{what} holds what cannot be stored: {error}") from error
    for part in _texts(value):
        _check_text(part, what)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _check_text(text: str, what: str) -> None:
    if fault := fault_in(text):
        raise ValidationError(f"{what} cannot be stored: {fault}")
