"""The lines of an exported file, to be tampered with."""

import hashlib
import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def lines_of(file: Path) -> list[Line]:
    """Returns the parsed lines."""
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def write_lines(file: Path, lines: list[Line]) -> Path:
    """The lines as a file whose closing line fits them."""
    body = [json.dumps(line).encode() + b"\n" for line in lines[:-1]]
    end = {**lines[-1], "lines": len(body), "sha256": hashlib.sha256(b"".join(body)).hexdigest()}
    file.write_bytes(b"".join(body) + json.dumps(end).encode() + b"\n")
    return file
