"""Peak memory and speed of ingestion, over the size of the file: `python -m benchmarks.coding_agents_streaming [--megabytes 200] [--json OUT]`.

Each file is read by a process of its own. The transcript is mostly output of tools, as real ones are; the export is one line of JSON whose chats hold
answers of a model and results of tools. The embedder is `hash`, so that reading is measured and not a model.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from alma import ALMA
from alma_agents.ingestion import ingest_conversations
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.screen import wide_console

_OUTPUT = 20_000


def transcript(path: Path, size: int) -> None:
    """Writes a session of Claude Code of about `size` bytes with a repair every 50 calls."""
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            command, error = ("pytest", number % 50 == 0) if number % 25 == 0 else (f"cat src/file{number}.py", False)
            known = {"sessionId": "s", "cwd": "/p", "uuid": f"u{number}", "timestamp": "2026-01-01T00:00:00Z"}
            use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
            output = f"Exit code 1\nKeyError: 'name{number}'" if error else f"line {number} of output\n" * (_OUTPUT // 20)
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": error, "content": output}
            changed = {"file_path": f"a{number}.py", "old_string": "a", "new_string": f"b{number}"}
            edit = {"type": "tool_use", "id": f"e{number}", "name": "Edit", "input": changed}
            edited = {"type": "tool_result", "tool_use_id": f"e{number}", "content": "ok"}
            blocks = [use, result, *((edit, edited) if error else ())]
            for block in blocks:
                file.write(json.dumps({**known, "message": {"content": [block]}}) + "\n")
            file.write(json.dumps({"type": "progress", "data": {"type": "agent_progress", "text": "x" * 2_000}}) + "\n")
            number += 1


def export(path: Path, size: int) -> None:
    """Writes an export of ChatGPT of about `size` bytes."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        number = 0
        while file.tell() < size:
            mapping: dict[str, Any] = {}
            parent = None
            answer = f"Thing {number} is done so."
            turns = (("user", f"How is thing {number} done?"), ("tool", "row\n" * 60_000), ("assistant", answer))
            for place, (role, text) in enumerate(turns):
                said = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
                mapping[str(place)] = {"id": str(place), "parent": parent, "message": said}
                parent = str(place)
            chat = {"conversation_id": f"c{number}", "create_time": 1767225600.0, "current_node": parent, "mapping": mapping}
            file.write((", " if number else "") + json.dumps(chat))
            number += 1
        file.write("]")


WRITERS: dict[str, Callable[[Path, int], None]] = {"transcript": transcript, "export": export}


def measured(path: Path, store: Path) -> dict[str, float]:
    """Peak resident megabytes, seconds and what was saved, of a process that ingests a file."""
    command = [sys.executable, "-m", "benchmarks.coding_agents_streaming", "--child", str(path), str(store)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


def child(path: str, store: str) -> None:
    """Ingests a file and prints what it took."""
    with ALMA.open(store, project_id="p", embedding_provider="hash") as alma:
        start = time.perf_counter()
        report = ingest_conversations(path, alma=alma)
        seconds = time.perf_counter() - start
    print(json.dumps({"peak": _peak(), "seconds": seconds, "saved": report.saved}))


def _peak() -> float:
    """Returns the peak of this process. The kernel's own count is preferred: `getrusage` begins with that of the process which started this one."""
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)):
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def figures(megabytes: int, folder: Path) -> list[Gate]:
    """Peak memory of a small and a large file of each kind, and the speed of the large one."""
    found = []
    for name, write in WRITERS.items():
        sizes = {}
        for size in (5, megabytes):
            path = folder / f"{name}-{size}.{'jsonl' if name == 'transcript' else 'json'}"
            write(path, size << 20)
            sizes[size] = measured(path, folder / f"store-{name}-{size}")
        again = measured(path, folder / f"store-{name}-{megabytes}")
        path.unlink()
        large = sizes[megabytes]
        found += [
            Gate(f"{name}: peak at {megabytes} MB", large["peak"], "MB", 200),
            Gate(f"{name}: more than at 5 MB", large["peak"] - sizes[5]["peak"], "MB", 60),
            Gate(f"{name}: speed", megabytes / large["seconds"], "MB/s", more_is_better=True),
            Gate(f"{name}: saved", large["saved"], "memories", 1, more_is_better=True),
            Gate(f"{name}: saved by a second run", again["saved"], "memories", 0),
        ]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures; ends with 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coding_agents_streaming")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2)
    given = parser.parse_args(arguments)
    if given.child:
        child(*given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        found = figures(given.megabytes, Path(folder))
    gates.show(wide_console(), found, "Streaming")
    if given.json:
        gates.write_json(given.json, found)
    gates.enforce(found)


if __name__ == "__main__":
    main()
