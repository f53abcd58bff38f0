"""Whether codes find what an exact search finds, and how quickly: `python -m benchmarks.nearest --data FILE [--sizes …]`.

The vectors are those of MiniLM for sentences of a LongMemEval file, cut to the length of a task, and mixtures of them (`benchmarks.mixtures`) where
there are too few. Each question of the file is put to two indexes of the same vectors in turn, one of which has codes. Processor time is that of
the searching thread: on a busy machine it tells what waiting does not.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from alma.protocols import VectorChanges
from alma.vectors import ProjectIndex
from alma.vectors.index import RECALL
from benchmarks import gates
from benchmarks.arguments import positive
from benchmarks.gates import Gate
from benchmarks.measures import mean, percentile
from benchmarks.mixtures import Halves, batches
from benchmarks.records import DataError
from benchmarks.screen import wide_console
from benchmarks.texts import RealTexts

SIZES = (10_000, 100_000, 1_000_000)
SENTENCES = 40_000
NEAREST = 50
LIMIT = 100
"""The number of hits that a retrieval asks for."""
CHUNK = 256

Queries = NDArray[np.float32]


@dataclass(slots=True)
class Seen:
    """What one index answered: seconds of waiting and of processor time, and the passages of each question."""

    waited: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)
    found: list[list[int]] = field(default_factory=list)

    def ask(self, index: ProjectIndex, query: NDArray[np.float32]) -> None:
        """Puts a question to an index."""
        start, begun = perf_counter(), thread_time()
        scores = index.search(query, partitions=[0], limit=LIMIT)
        self.worked.append(thread_time() - begun)
        self.waited.append(perf_counter() - start)
        self.found.append(scores.passages[:NEAREST].tolist())


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if fewer than are promised are found."""
    options = _parser().parse_args(arguments)
    console = wide_console()
    with Progress(console=console) as progress:
        try:
            real, queries = _vectors(options, progress)
        except DataError as error:
            sys.exit(str(error))
        result = [gate for size in sorted(set(options.sizes)) for gate in measure(real, queries, size, progress)]
    gates.show(console, result, f"Nearest {NEAREST} of {LIMIT} by codes, beside an exact search; {len(real):,} real vectors")
    if options.json:
        gates.write_json(options.json, result, real=len(real), questions=len(queries))
    gates.enforce(result)


def measure(real: Halves, queries: Queries, size: int, progress: Progress) -> list[Gate]:
    """Fills both indexes and puts all questions to each in turn."""
    exact, coded = (_filled(real, size, codes_above) for codes_above in (sys.maxsize, 0))
    seen = {False: Seen(), True: Seen()}
    for number, query in enumerate(progress.track(queries, description=f"{size:,} vectors")):
        for is_coded in (True, False) if number % 2 else (False, True):
            seen[is_coded].ask(coded if is_coded else exact, query)
    return _gates(size, seen[False], seen[True])


def _gates(size: int, exact: Seen, coded: Seen) -> list[Gate]:
    shared = [len({*one} & {*other}) / len(one) for one, other in zip(exact.found, coded.found, strict=True)]
    return [
        Gate(f"recall, {size:,} vectors", mean(shared), "", limit=RECALL, more_is_better=True),
        Gate(f"lowest recall of a question, {size:,} vectors", min(shared), ""),
        Gate(f"questions with the same {NEAREST}, {size:,} vectors", mean([share == 1 for share in shared]), ""),
        *(
            Gate(
                f"{name} p50, {size:,} vectors",
                1e3 * percentile(ours, 0.5),
                "ms",
                reference=1e3 * percentile(theirs, 0.5),
                is_same_run=True,
            )
            for name, ours, theirs in (("waited", coded.waited, exact.waited), ("processor", coded.worked, exact.worked))
        ),
    ]


def _filled(real: Halves, size: int, codes_above: int) -> ProjectIndex:
    index, start = ProjectIndex(real.shape[1], codes_above=codes_above, wide_up_to=0), 0
    for upto, vectors in enumerate(batches(real, size), start=1):
        rows = np.arange(start, start + len(vectors))
        index.apply(
            VectorChanges(
                upto=upto,
                passages=rows,
                memories=rows,
                partitions=np.zeros(len(rows), dtype=np.int64),
                is_own=np.ones(len(rows), dtype=np.bool_),
                ties=rows,
                vectors=vectors,
                removed=np.empty(0, dtype=np.int64),
            )
        )
        start += len(rows)
    index.search(real[0].astype(np.float32), partitions=[0], limit=1)  # has the codes made
    return index


def _vectors(options: argparse.Namespace, progress: Progress) -> tuple[Halves, Queries]:
    """The vectors of sentences and of questions, from the file of an earlier run if there is one."""
    if options.vectors and options.vectors.exists():
        with np.load(options.vectors) as stored:
            return stored["sentences"], stored["questions"]
    texts = RealTexts(options.data)
    sentences = [task.task for task in texts.tasks(options.sentences)]
    made = np.concatenate(
        [*progress.track(_embedded([*texts.questions, *sentences]), total=len(sentences) // CHUNK, description="embedding")]
    )
    questions, real = made[: len(texts.questions)], made[len(texts.questions) :].astype(np.float16)
    if options.vectors:
        np.savez(options.vectors, sentences=real, questions=questions)
    return real, questions


def _embedded(texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    from alma.embedding import MiniLMEmbedder

    embedder = MiniLMEmbedder()
    for start in range(0, len(texts), CHUNK):
        yield embedder.embed(texts[start : start + CHUNK])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nearest", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a LongMemEval file, for its texts")
    parser.add_argument("--sizes", type=positive, nargs="+", default=list(SIZES), metavar="N", help="vectors in each index")
    parser.add_argument("--sentences", type=positive, default=SENTENCES, metavar="N", help="how many sentences to embed")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="an .npz file that keeps the vectors for the next run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    return parser


if __name__ == "__main__":
    main()
