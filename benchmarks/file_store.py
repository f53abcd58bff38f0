"""The file store as it grows to its limit: the time to open it and to learn once more, and its size on the disk.

    python -m benchmarks.file_store [--sizes 1000,5000,20000] [--json OUT]

Tasks are short and differ, vectors are those of hashed words.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from alma import ALMA
from benchmarks.stores import milliseconds, strategy, task

CALLS = 20
BATCH = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,5000,20000", help="numbers of outcomes, ascending")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="files-") as name:
        made = 0
        for size in map(int, options.sizes.split(",")):
            fill(Path(name), made, size)
            rows.append(measured(Path(name), size))
            made = size + CALLS + 1
            print(json.dumps(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def opened(folder: Path) -> ALMA:
    return ALMA.open(folder, project_id="bench", embedding_provider="hash", storage="file")


def fill(folder: Path, first: int, size: int) -> None:
    """Learns the tasks from `first` to `size`."""
    with opened(folder) as alma:
        for start in range(first, size, BATCH):
            numbers = range(start, min(start + BATCH, size))
            alma.learn_many([_item(number) for number in numbers])


def _item(number: int) -> dict[str, Any]:
    outcome = "success" if number % 3 else "failure"
    return {"agent": "helena", "task": task(number), "outcome": outcome, "strategy_used": strategy(number)}


def measured(folder: Path, size: int) -> dict[str, object]:
    began = time.perf_counter()
    with opened(folder) as alma:
        seconds = time.perf_counter() - began
        alma.learn(**_item(size))
        learned = [milliseconds(lambda number: alma.learn(**_item(size + 1 + number)), number) for number in range(CALLS)]
        asked = [milliseconds(lambda number: alma.retrieve(task(7 * number), "helena"), number) for number in range(CALLS)]
        total = alma.get_stats().total
    sizes = {path.suffix: path.stat().st_size for path in (folder / "alma.files").glob("*.jsonl")}
    return {
        "outcomes": size,
        "memories": total,
        "open_seconds": round(seconds, 2),
        "learn_p50_ms": round(median(learned), 1),
        "retrieve_p50_ms": round(median(asked), 1),
        "journal_mb": round(sum(sizes.values()) / 1e6, 1),
    }


if __name__ == "__main__":
    main()
