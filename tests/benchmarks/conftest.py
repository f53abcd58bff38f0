"""The benchmarks are run from the root of the repository and are no installed package; and a small file in LongMemEval's form."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

TOPICS = {
    "kitchen": "oven recipe flour butter bread sourdough baking knife pan",
    "travel": "flight luggage hotel passport airport itinerary visa museum",
    "garden": "tomato seedling compost watering pruning greenhouse soil mulch",
    "music": "guitar chord amplifier rehearsal drummer melody concert tuning",
    "health": "running knee stretching doctor appointment sleep vitamin yoga",
    "money": "budget savings invoice mortgage insurance receipt pension bank",
}
FACTS = {
    "kitchen": ("What do I keep my sourdough starter in?", "I keep my sourdough starter in a blue ceramic jar beside the oven."),
    "travel": ("Which seat did I book on the flight to Lisbon?", "I booked seat 14C on the flight to Lisbon, and the hotel too."),
    "garden": ("What is eating my tomato seedlings?", "Snails are eating my tomato seedlings, even in the greenhouse."),
}


@pytest.fixture
def record() -> dict[str, Any]:
    """One question with six sessions, the third of which holds the evidence."""
    return make_record("kitchen", 0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three questions as JSON lines."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(make_record(topic, number)) + "\n" for number, topic in enumerate(FACTS)))
    return path


@pytest.fixture
def run_benchmark() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m benchmarks.NAME …` at the root, as a user does."""

    def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)

    return run


@pytest.fixture
def check_verdict() -> Callable[[subprocess.CompletedProcess[str], Path], None]:
    """That a benchmark ended with 1 and named the figures if any missed its limit, which depends on the machine; else with 0."""

    def check(done: subprocess.CompletedProcess[str], out: Path) -> None:
        missed = [row["what"] for row in json.loads(out.read_text())["gates"] if row["holds"] is False]
        assert (done.returncode, "limits missed" in done.stderr) == ((1, True) if missed else (0, False)), done.stderr
        assert all(what in done.stderr for what in missed)

    return check


def make_record(topic: str, number: int) -> dict[str, Any]:
    """A question on one topic, with a session on each; the evidence session's id begins with "answer", as in the public data."""
    question, fact = FACTS[topic]
    chance = random.Random(number)
    ids = [f"answer_{number}" if name == topic else f"session_{number}_{name}" for name in TOPICS]
    return {
        "question_id": f"q{number}",
        "question_type": "single-session-user",
        "question": question,
        "question_date": "2023/05/30 (Tue) 20:36",
        "answer": "",
        "answer_session_ids": [f"answer_{number}"],
        "haystack_dates": [f"2023/05/{day:02} (Sat) 03:29" for day in range(1, len(TOPICS) + 1)],
        "haystack_session_ids": ids,
        "haystack_sessions": [session(name, chance, fact if name == topic else None) for name in TOPICS],
    }


def session(topic: str, chance: random.Random, fact: str | None) -> list[dict[str, str]]:
    """A few turns about a topic."""
    words = TOPICS[topic].split()

    def sentences(count: int) -> str:
        return " ".join(
            f"About the {' and the '.join(chance.choices(words, k=6))}, number {chance.randrange(10**6)}." for _ in range(count)
        )

    turns = [{"role": role, "content": sentences(8)} for _ in range(5) for role in ("user", "assistant")]
    if fact:
        turns.insert(4, {"role": "user", "content": fact})
    return turns
