"""What redaction and screening cost: a kilobyte of conversation, and one `learn`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.records import read_records

TEXTS = 2_000
LEARNS = 300
ROUNDS = 3
MOST_MS_A_KB, MOST_TIMES = 0.3, 1.3


def figures(data: Path, half: str, embedder: str, folder: Path) -> list[Gate]:
    """Milliseconds a kilobyte, and how many times as long a `learn` takes as without redaction, measured in pairs."""
    texts = list(islice(_texts(data / "longmemeval_s_dev.jsonl.gz"), TEXTS))
    return [
        Gate("redaction and screening of a kilobyte, processor time", _ms_a_kilobyte(texts), "ms", MOST_MS_A_KB),
        Gate(f"learn with redaction, of {LEARNS} pairs", _times(texts, folder), "times", MOST_TIMES),
    ]


def _texts(path: Path) -> Iterator[str]:
    for question in read_records(path):
        for session in question["haystack_sessions"]:
            yield from (turn["content"] for turn in session if turn["content"].strip())


def _ms_a_kilobyte(texts: list[str]) -> float:
    from alma_guard import Redactor, reason_to_doubt

    redact = Redactor(b"benchmark")
    rounds = []
    for _ in range(ROUNDS):
        begun = process_time()
        for text in texts:
            redact(text)
            reason_to_doubt(text)
        rounds.append(process_time() - begun)
    return min(rounds) * 1_000_000 / sum(map(len, texts))


def _times(texts: list[str], folder: Path) -> float:
    from alma import ALMA

    taken: dict[str, list[float]] = {"on": [], "off": []}
    stores = {name: ALMA.open(folder / name, project_id="trust", embedding_provider="hash", redact=name) for name in taken}
    for number, text in enumerate(islice(texts, LEARNS)):
        for name, alma in stores.items():
            begun = perf_counter()
            alma.learn("dev", text[:600], bool(number % 2), text[600:1200] or "as asked", feedback=text[1200:1800])
            taken[name].append(perf_counter() - begun)
    for alma in stores.values():
        alma.close()
    return percentile(taken["on"], 0.5) / percentile(taken["off"], 0.5)
