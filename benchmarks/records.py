"""Reading public data files: a JSON array, or one JSON object a line, either of them gzipped or not."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

GZIP_MAGIC = b"\x1f\x8b"


class DataError(Exception):
    """A data file cannot be read as what it should be."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """The objects of the file, in order. `DataError` names the file and what is wrong with it."""
    try:
        with _opened(path) as file:
            records = list(_records(file))
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not records:
        raise DataError(f"{path} holds no records")
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise DataError(f"record {number} of {path} is no JSON object")
    return records


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as file:
        is_gzip = file.read(2) == GZIP_MAGIC
    return cast(IO[str], gzip.open(path, "rt", encoding="utf-8")) if is_gzip else path.open(encoding="utf-8")


def _records(file: IO[str]) -> Iterator[dict[str, Any]]:
    """Tells the two formats apart by their first character, so that a name's ending does not matter."""
    first = file.readline()
    while first and not first.strip():
        first = file.readline()
    if first.lstrip().startswith("["):
        yield from json.loads(first + file.read())
        return
    if first:
        yield json.loads(first)
    for line in file:
        if line.strip():
            yield json.loads(line)
