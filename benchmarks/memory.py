"""What a process holds while it learns and answers: `python -m benchmarks.memory FOLDER LEARNS RETRIEVES` prints one JSON object. Linux only.

It learns one outcome a call, then answers at that size. Resident memory is read at equal distances; a slope is that of the second half, in bytes a
call, by least squares: what is filled once, say a cache that has a limit, is full by then.
"""

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

STATUS = Path("/proc/self/status")
SAMPLES = 40
CLASSES = 200
TASKS_ASKED = 500


@dataclass(frozen=True, slots=True)
class Held:
    """Resident megabytes before, after learning and after answering; bytes a call in the second half of each; bytes of the index a memory."""

    before_mb: float
    learned_mb: float
    answered_mb: float
    learn_slope: float
    retrieve_slope: float
    index_bytes: float


def held(folder: Path, learns: int, retrieves: int) -> Held:
    """Measures in a new process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(folder), str(learns), str(retrieves)]
    return Held(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def slope(calls: Sequence[int], sizes: Sequence[float]) -> float:
    """Bytes a call over the second half of the samples; not a number where nothing was read."""
    half = len(calls) // 2
    return float(np.polyfit(calls[half:], sizes[half:], 1)[0])


def resident() -> float:
    """Resident bytes of this process, in what is not mapped from files; not a number where the system does not tell."""
    if not STATUS.exists():
        return float("nan")
    fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return float(fields["RssAnon"].split()[0]) * 1024


def _sampled(call: Callable[[int], object], count: int) -> tuple[list[int], list[float]]:
    every = max(count // SAMPLES, 1)
    calls, sizes = [], []
    for number in range(count):
        call(number)
        if (number + 1) % every == 0:
            gc.collect()
            calls.append(number + 1)
            sizes.append(resident())
    return calls, sizes


def main() -> None:
    """The new process's part."""
    from benchmarks.phrases import Phrases
    from benchmarks.subject import AGENT, AlmaSubject

    folder, learns, retrieves = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    subject, phrases = AlmaSubject(folder), Phrases()
    tasks, strategies = phrases.tasks(learns), phrases.strategies(CLASSES)
    before = resident()

    def learn(number: int) -> None:
        kind = f"type {number % CLASSES}" if number % 2 else None
        strategy = strategies[number * 7 % CLASSES]
        subject.alma.learn(AGENT, tasks[number], number % 5 != 0, strategy, task_type=kind)

    learning = _sampled(learn, learns)
    learned = resident()
    subject.alma.retrieve(tasks[0], AGENT)  # loads the index
    loaded = resident()
    answering = _sampled(lambda number: subject.alma.retrieve(tasks[number % TASKS_ASKED], AGENT), retrieves)
    result = Held(
        before_mb=before / 1e6,
        learned_mb=learned / 1e6,
        answered_mb=answering[1][-1] / 1e6,
        learn_slope=slope(*learning),
        retrieve_slope=slope(*answering),
        index_bytes=(loaded - learned) / learns,
    )
    subject.close()
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
