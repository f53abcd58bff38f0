"""Makes `tau_airline.jsonl.gz` from trajectories of tau-bench: python condense_tau_airline.py SOURCE [TARGET]

SOURCE holds runs as tau-bench wrote them: a JSON array, or one JSON object a line, either one plain or gzipped. What the agent could not
have known (the instruction of the simulated user, the expected actions) is not looked at. The same source gives the same bytes.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[2] / "packages/alma-cli/src/alma_cli/data/tau_airline.jsonl.gz"
CHANGES = {
    "book_reservation",
    "cancel_reservation",
    "send_certificate",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
}
LEFT_OUT = {"calculate", "get_reservation_details", "get_user_details", "think"}
NO_ERROR = "ended with reward 0: the bookings or the answer were not as the task needed"

Run = dict[str, Any]


def read_runs(source: Path) -> list[Run]:
    data = source.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines() if line.strip()]


def condense(run: Run) -> Run:
    messages = run["traj"]
    calls = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
    failures = [clean(message["content"]).removeprefix("Error: ") for message in messages if is_failed_call(message)]
    succeeded = run["reward"] >= 1
    return {
        "task_id": run["task_id"],
        "trial": run["trial"],
        "task": clean(next(message["content"] for message in messages if message["role"] == "user")),
        "strategy": strategy(calls, changed=changed_anything(messages)),
        "steps": len(calls),
        "success": succeeded,
        "error": None if succeeded else (failures or [NO_ERROR])[-1],
    }


def clean(text: str) -> str:
    return " ".join(text.replace("###STOP###", "").split())


def is_failed_call(message: Run) -> bool:
    return message["role"] == "tool" and message["content"].startswith("Error")


def changed_anything(messages: list[Run]) -> bool:
    return any(message["role"] == "tool" and message["name"] in CHANGES and not is_failed_call(message) for message in messages)


def strategy(calls: list[str], *, changed: bool) -> str:
    """The tools that search and act, each once, in the order of their first use."""
    told = " → ".join(dict.fromkeys(name for name in calls if name not in LEFT_OUT))
    if not told:
        told = "looked up the records" if calls else "answered without any tool"
    return told if changed else f"{told} without any change" if calls else told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path, nargs="?", default=TARGET)
    options = parser.parse_args()
    runs = sorted(map(condense, read_runs(options.source)), key=lambda run: (run["trial"], run["task_id"]))
    lines = "".join(json.dumps(run, ensure_ascii=False) + "\n" for run in runs)
    options.target.write_bytes(gzip.compress(lines.encode(), mtime=0))
    print(f"{len(runs)} runs, {options.target.stat().st_size} bytes: {options.target}")


if __name__ == "__main__":
    main()
