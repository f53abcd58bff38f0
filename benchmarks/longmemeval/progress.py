"""The results so far in a file, so that a run that was stopped goes on where it was: one JSON object a line, the first of which says of what run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.longmemeval.recall import Asked, as_plain, from_plain
from benchmarks.records import DataError

Key = tuple[int, str]
"""The number of a question, and a mode."""


class Progress:
    """The results of a run by question and mode. Without a path they are kept in memory alone."""

    def __init__(self, path: Path | None, run: Mapping[str, Any]) -> None:
        """`run` are the settings that the results depend on. `DataError` if the file is of another run."""
        self.found: dict[Key, Asked] = {}
        self._path = path
        if path is None:
            return
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if not lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(run) + "\n", encoding="utf-8")
            return
        self._read(path, lines, run)

    def _read(self, path: Path, lines: list[str], run: Mapping[str, Any]) -> None:
        try:
            first, *rest = [json.loads(line) for line in lines if line.endswith("}")]  # the last line may be torn
        except ValueError as error:
            raise DataError(f"{path} is no file of results: {error}") from error
        if first != json.loads(json.dumps(run)):
            raise DataError(f"{path} holds results of another run; name another file or delete it")
        for entry in rest:
            self.found[entry["question"], entry["mode"]] = from_plain(entry["found"])
        path.write_text("".join(json.dumps(entry) + "\n" for entry in (first, *rest)), encoding="utf-8")

    def add(self, key: Key, asked: Asked) -> None:
        """Keeps a result."""
        self.found[key] = asked
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"question": key[0], "mode": key[1], "found": as_plain(asked)}) + "\n")
