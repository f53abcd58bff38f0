"""A store seen by a new process: how long opening and the first answer take, how much memory stays resident, how much disk it has.

Run as `python -m benchmarks.probe FOLDER QUERY …`; prints one JSON object. Linux only for the memory.
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

STATUS = Path("/proc/self/status")
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Probe:
    """Seconds to open and to the first answer after opening; megabytes resident then, in all and without what is mapped from files."""

    open_seconds: float
    first_seconds: float
    resident_mb: float
    private_mb: float


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes of a store: its files, what of them is the text that was given, and the payload of the journal."""

    files: int
    text: int
    journal: int

    @property
    def overhead(self) -> int:
        """What is neither text nor journal."""
        return self.files - self.text - self.journal


def probe(folder: Path, queries: Sequence[str]) -> Probe:
    """Looks at a store, which no other process should be using, from a new process."""
    command = [sys.executable, "-m", "benchmarks.probe", str(folder), *queries]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Probe(**json.loads(output))


def disk(folder: Path, text_bytes: int) -> Disk:
    """What a closed store takes. The database is only read."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    database = next(path for path in files if path.suffix == ".db")
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        journal = connection.execute("SELECT sum(length(payload)) FROM journal").fetchone()[0] or 0
    finally:
        connection.close()
    return Disk(sum(path.stat().st_size for path in files), text_bytes, journal)


def main() -> None:
    """The new process's part."""
    from benchmarks.subject import AlmaSubject

    folder, *queries = sys.argv[1:]
    start = perf_counter()
    subject = AlmaSubject(Path(folder))
    opened = perf_counter()
    subject.retrieve(queries[:1])
    answered = perf_counter()
    subject.retrieve(queries)
    resident = _resident()
    subject.close()
    result = {
        "open_seconds": opened - start,
        "first_seconds": answered - opened,
        "resident_mb": resident["VmRSS"],
        "private_mb": resident["RssAnon"],
    }
    print(json.dumps(result))


def _resident() -> dict[str, float]:
    if not STATUS.exists():
        return {"VmRSS": float("nan"), "RssAnon": float("nan")}
    fields = (line.split() for line in STATUS.read_text().splitlines() if line.startswith(("VmRSS", "RssAnon")))
    return {name.rstrip(":"): int(kilobytes) * 1024 / MEGABYTE for name, kilobytes, _ in fields}


if __name__ == "__main__":
    main()
