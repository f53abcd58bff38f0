"""Where vectors can be searched, beside SQLite with FAISS in the same run: recall of the search, and calls in pairs.

    python -m benchmarks.backends --data FILE --stores qdrant,chroma,postgres --url postgres://alma@127.0.0.1/postgres [--json OUT]

Texts are real (LongMemEval, cut to the length of a task), vectors are those of MiniLM, made once and kept in `--vectors`; making them is not
counted. Each store holds the same facts of two agents, one of whom has a twentieth of them. *Recall* is the share of the 50 nearest passages
of a partition, compared exactly, that the search names. A *pair* is the same call on SQLite and on the other store, one right after the other,
each of them first in half of the pairs; the ratio is the median of those of the pairs.
"""

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alma import ALMA
from alma.embedding import create_embedder
from alma.types import DomainKnowledge
from benchmarks.arguments import positive
from benchmarks.longmemeval.embedding_cache import CachedEmbedder
from benchmarks.measures import percentile
from benchmarks.records import DataError
from benchmarks.stores import in_pairs
from benchmarks.texts import TASK_CHARS, RealTexts

STORES = ("postgres", "qdrant", "chroma")
AGENTS = ("helena", "victor")
SMALL_EVERY = 20
NEAREST = 50
BATCH = 1_000
MEMORIES = 20_000


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured of one store. Times are in milliseconds, but for the seconds that catching up took; recall is from 0 to 1."""

    store: str
    memories: int
    fill_seconds: float
    catch_up_seconds: float
    recall_large: float
    recall_small: float
    search_p50_ms: float
    retrieve_p50_ms: float
    retrieve_p95_ms: float
    sqlite_retrieve_p50_ms: float
    retrieve_ratio: float
    learn_p50_ms: float
    sqlite_learn_p50_ms: float
    learn_ratio: float


class Vectors:
    """Texts with their vectors, kept in a file. `DataError` if the file has too few of them."""

    def __init__(self, texts: RealTexts, count: int, file: Path) -> None:
        self.model = CachedEmbedder(create_embedder("minilm"))
        if not file.exists():
            chosen = texts.tasks(count)
            self._keep(file, [task.task for task in chosen])
        with np.load(file, allow_pickle=False) as kept:
            self.texts = [str(text) for text in kept["texts"][:count]]
            self.model.remember(dict(zip(self.texts, kept["vectors"][:count].astype(np.float32), strict=True)))
        if len(self.texts) < count:
            raise DataError(f"{file} has {len(self.texts):,} texts, {count:,} are needed; delete it to have it made anew")

    def _keep(self, file: Path, texts: Sequence[str]) -> None:
        rows = [self.model.embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        np.savez(file, texts=np.array(texts), vectors=np.concatenate(rows).astype(np.float16))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the stores that the command line names, prints a line of JSON for each, and writes all of them."""
    options = _parser().parse_args(arguments)
    wanted = options.stores.split(",")
    if unknown := set(wanted) - set(STORES):
        sys.exit(f"unknown store {sorted(unknown)[0]!r}; there is {', '.join(STORES)}")
    try:
        texts = RealTexts(options.data)
        vectors = Vectors(texts, options.memories, options.vectors)
    except DataError as error:
        sys.exit(str(error))
    vectors.model.embed(texts.questions)
    found: list[Figures] = []
    with tempfile.TemporaryDirectory(prefix="backends-") as name:
        folder = Path(name)
        with opened(folder / "sqlite", vectors) as (plain, _):
            for store in wanted:
                with opened(folder / store, vectors, **place_of(store, options.url, folder)) as (alma, seconds):
                    found.append(measured(store, alma, plain, seconds, vectors, texts.questions, options.pairs))
                print(json.dumps(asdict(found[-1])), flush=True)
                if options.json:
                    options.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n", encoding="utf-8")


def place_of(store: str, url: str, folder: Path) -> dict[str, Any]:
    """The arguments of `ALMA.open` that lead to an empty store."""
    if store == "postgres":
        named = {} if "schema=" in url else {"schema": f"bench_{uuid.uuid4().hex[:12]}"}
        return {"storage": store, "storage_options": {"url": url, **named}}
    place = {"qdrant": {"url": f"path:{folder / 'qdrant-index'}"}, "chroma": {"persist_directory": str(folder / "chroma-index")}}
    return {"storage": store, "storage_options": place[store]}


@contextmanager
def opened(folder: Path, vectors: Vectors, **store: Any) -> Iterator[tuple[ALMA, float]]:
    """A store with all texts, those of them that are not there yet stored, and the seconds that storing took."""
    with ALMA.open(folder, project_id="bench", embedding_provider=vectors.model, **store) as alma:
        began = time.perf_counter()
        there = alma.get_stats().total
        for start in range(there, len(vectors.texts), BATCH):
            alma.add_many(
                DomainKnowledge(agent=agent_of(number), domain="talk", fact=vectors.texts[number])
                for number in range(start, min(start + BATCH, len(vectors.texts)))
            )
        yield alma, time.perf_counter() - began


def agent_of(number: int) -> str:
    return AGENTS[number % SMALL_EVERY == 0]


def measured(
    store: str, alma: ALMA, plain: ALMA, seconds: float, vectors: Vectors, questions: Sequence[str], pairs: int
) -> Figures:
    """Measures a store beside SQLite."""
    began = time.perf_counter()
    for each in (alma, plain):  # the first call fills the search
        each.retrieve(questions[0], AGENTS[0])
    caught_up = time.perf_counter() - began
    both = (plain, alma)
    asked = [_retrieve(each, questions) for each in both]
    told = [_learn(each, vectors.texts) for each in both]
    for call in (*asked, *told):
        call(-1)
    large, small, times = recalls(alma, vectors, questions)
    retrieved, learned = in_pairs(asked, pairs), in_pairs(told, pairs)
    return Figures(
        store,
        len(vectors.texts),
        round(seconds, 1),
        round(caught_up, 1),
        round(large, 4),
        round(small, 4),
        round(median(times), 2),
        round(median(retrieved[1]), 2),
        round(percentile(retrieved[1], 0.95), 2),
        round(median(retrieved[0]), 2),
        _ratio(retrieved),
        round(median(learned[1]), 2),
        round(median(learned[0]), 2),
        _ratio(learned),
    )


def recalls(alma: ALMA, vectors: Vectors, questions: Sequence[str]) -> tuple[float, float, list[float]]:
    """Recall in the large and in the small partition, and the milliseconds of each search of the large one."""
    room = alma._room
    room.index.current()
    search: Any = room.index._index._candidates  # type: ignore[union-attr] # the searches measured here are outside
    asked = vectors.model.embed(questions)
    rows = {each.owner: row for row, each in room.project.partitions().items() if each.kind == "domain_knowledge"}
    large, times = _recall(room.project, search, asked, rows[AGENTS[0]])
    small, _ = _recall(room.project, search, asked, rows[AGENTS[1]])
    return large, small, times


def _recall(project: Any, search: Any, asked: NDArray[np.float32], row: int) -> tuple[float, list[float]]:
    parts = list(project.vectors_in([row]))
    memories = np.concatenate([part.memories for part in parts])
    matrix = np.concatenate([part.vectors for part in parts]).astype(np.float32)
    shares: list[float] = []
    times: list[float] = []
    for question in asked:
        nearest = set(memories[np.argsort(-(matrix @ question), kind="stable")[:NEAREST]].tolist())
        began = time.perf_counter()
        named = set(search.search(question, partitions=[row], limit=NEAREST).tolist())
        times.append((time.perf_counter() - began) * 1000)
        shares.append(len(nearest & named) / len(nearest))
    return sum(shares) / len(shares), times


def _retrieve(alma: ALMA, questions: Sequence[str]) -> Callable[[int], object]:
    return lambda number: alma.retrieve(questions[number % len(questions)], AGENTS[0])


def _learn(alma: ALMA, texts: Sequence[str]) -> Callable[[int], object]:
    """Each task is new, and its vector is known."""
    return lambda number: alma.learn(AGENTS[0], texts[number], "success", strategy_used=texts[number // 10])


def _ratio(times: Sequence[Sequence[float]]) -> float:
    ratios: list[float] = [theirs / ours for ours, theirs in zip(*times, strict=True)]
    return round(float(median(ratios)), 2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backends", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help=f"a LongMemEval file; its turns are cut to {TASK_CHARS} characters"
    )
    parser.add_argument(
        "--stores", default="postgres,chroma,qdrant", help=f"of {', '.join(STORES)} (default: postgres,chroma,qdrant)"
    )
    parser.add_argument(
        "--url",
        default="postgres://alma@127.0.0.1/postgres",
        help="a PostgreSQL database with pgvector; with ?schema=… a store that may be filled",
    )
    parser.add_argument("--memories", type=positive, default=MEMORIES, help=f"(default: {MEMORIES:,})")
    parser.add_argument("--pairs", type=positive, default=100, help="pairs of each call (default: 100)")
    parser.add_argument(
        "--vectors", type=Path, default=Path("backends-vectors.npz"), help="texts and vectors; made if it is not there"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
