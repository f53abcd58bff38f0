"""Files that may be larger than memory, record by record."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

LONGEST_RECORD = 64 * 1024 * 1024
"""Bytes of a line, or characters of an element of an array. A longer one is counted as torn."""

_CHUNK = 1 << 20
_PREFIX = 4096
_ARRAY = re.compile(r'\s*(?:\{\s*"(?:loglines|conversations|messages|data)"\s*:\s*)?\[')
_DECODER = json.JSONDecoder()
_SEPARATORS = " \t\r\n,"


class Bytes(Protocol):
    """The part of a stream that is read."""

    def read(self, size: int = -1, /) -> bytes:
        """Returns the next bytes, b"" at the end."""
        ...

    def readline(self, size: int = -1, /) -> bytes:
        """Returns the next line, b"" at the end."""
        ...


def lines(file: Bytes) -> Iterator[bytes]:
    """Yields the lines of a file. Of one that is too long, b"{" is left, which no reader takes as a record."""
    while line := file.readline(LONGEST_RECORD):
        if len(line) == LONGEST_RECORD and not line.endswith(b"\n"):
            while (rest := file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
            line = b"{"
        yield line


def is_array(head: bytes) -> bool:
    """Returns True for a file that is one array of objects, or an object that begins with one."""
    found = _ARRAY.match(head.decode("utf-8-sig", "replace"))
    return found is not None and head.decode("utf-8-sig", "replace")[found.end() :].lstrip()[:1] in ("{", "]", "")


def elements(file: Bytes) -> Iterator[dict[str, Any] | None]:
    """Yields the elements of the array that a file is, `None` for what is no object. A torn end is one `None`."""
    decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
    text, place, wanted, is_end = "", 0, _PREFIX, False
    is_begun = False
    while True:
        while not is_end and len(text) - place <= wanted:
            chunk = file.read(_CHUNK)
            is_end = not chunk
            text, place = text[place:] + decode(chunk, is_end), 0
        if not is_begun:
            found = _ARRAY.match(text)
            if found is None:
                yield None
                return
            is_begun, place = True, found.end()
        while place < len(text) and text[place] in _SEPARATORS:
            place += 1
        if place >= len(text):
            if is_end:
                yield None
                return
            continue
        if text[place] == "]":
            return
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            wanted = 2 * (len(text) - place)
            if is_end or wanted > 2 * LONGEST_RECORD:
                yield None
                return
            continue
        wanted = 0
        yield value if isinstance(value, dict) else None
