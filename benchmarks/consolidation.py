"""Whether stated memories that say the same are merged, and no others, and how long it takes: `python -m benchmarks.consolidation`.

Of the pairs written for it one half was tuned on (`dev`), the other judged once. The pairs of strategies and of contradictions were written for
other parts. *Changed* pairs are texts of all files with one number, name, negation or condition changed or lost. A pair is merged as
`alma.consolidate` would: the cosine is at least the threshold, and nothing in the words speaks against it. `--size N` merges a project of N facts,
of which 30 % are copies in other words, undoes it and checks that the content is the very same.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

from alma import ALMA, DomainKnowledge
from benchmarks import gates
from benchmarks.gates import Gate
from benchmarks.guard import MUTATIONS
from benchmarks.memory import resident
from benchmarks.records import read_records
from benchmarks.screen import wide_console

FOLDER = Path(__file__).with_name("data")
FILES = ("consolidation_pairs.jsonl", "strategy_pairs.jsonl", "contradictions.jsonl", "contradictions_judging.jsonl")
SAME = ("equal", "agree", "same")
CONTRARY = ("contradict", "contradiction", "number", "negation", "swapped", "changed")
LEAST_PRECISION = 0.97
SEED, COPIES = 11, 0.3


class Pair(NamedTuple):
    """Two texts, of a fact, a preference or a strategy, and how they were labelled."""

    a: str
    b: str
    of: str
    label: str


def read_pairs(name: str, split: str) -> list[Pair]:
    """Returns the pairs of a file and split."""
    records = [one for one in read_records(FOLDER / name) if one.get("split", split) == split]
    labels = [one.get("label") or ("same" if one["same"] else "other") for one in records]
    return [Pair(one["a"], one["b"], one["of"], label) for one, label in zip(records, labels, strict=True)]


def changed_pairs(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Returns texts beside themselves changed in one place."""
    chance = random.Random(SEED)
    texts = sorted({(pair.a, pair.of) for pair in pairs})
    made = [Pair(a, change(a, chance), of, "changed") for a, of in texts for change in MUTATIONS]
    return chance.sample([pair for pair in made if pair.b.strip() and pair.b != pair.a], count)


def find_merged(alma: ALMA, pairs: Sequence[Pair], threshold: float) -> list[bool]:
    """Returns which pairs would be merged."""
    from alma_knowledge.consolidation.sameness import Verdict, compare

    vectors = dict(zip(texts := sorted({text for pair in pairs for text in pair[:2]}), embed(alma, texts), strict=True))
    return [
        float(vectors[pair.a] @ vectors[pair.b]) >= threshold
        and compare(pair.a, pair.b, labels=("x", "x"), is_wish=pair.of == "preference") is Verdict.SAME
        for pair in pairs
    ]


def embed(alma: ALMA, texts: Sequence[str]) -> NDArray[np.float32]:
    from alma.memory.alma import opened_room

    room = opened_room(alma)
    found = room.store.texts.of(texts, room.project)
    return np.frombuffer(b"".join(found[text] for text in texts), "<f2").reshape(len(texts), -1).astype(np.float32)


def judge_pairs(folder: Path, split: str, threshold: float) -> Iterator[Gate]:
    """Prints how many pairs of each label are merged, and yields the figures."""
    shown = Table(title=f"Merged, {split}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("file", "label", "pairs", "merged"):
        shown.add_column(name)
    every: list[tuple[str, bool]] = []
    with ALMA.open(folder / split, project_id="pairs", embedding_provider="local") as alma:
        files = {name: read_pairs(name, split) for name in FILES}
        files["changed"] = changed_pairs([pair for found in files.values() for pair in found], 200)
        for name, pairs in ((name, pairs) for name, pairs in files.items() if pairs):
            merged = find_merged(alma, pairs, threshold)
            every += [(pair.label, is_merged) for pair, is_merged in zip(pairs, merged, strict=True)]
            counted = Counter((pair.label, is_merged) for pair, is_merged in zip(pairs, merged, strict=True))
            for label in sorted({pair.label for pair in pairs}):
                total = counted[label, True] + counted[label, False]
                shown.add_row(name, label, str(total), str(counted[label, True]))
            right = [is_merged for pair, is_merged in zip(pairs, merged, strict=True) if pair.label in SAME]
            if right:
                yield Gate(f"recall, {name}, {split}", sum(right) / len(right), "", more_is_better=True)
    wide_console().print(shown)
    called = [label in SAME for label, is_merged in every if is_merged]
    contrary = [is_merged for label, is_merged in every if label in CONTRARY]
    yield Gate(f"precision, {split}", sum(called) / len(called), "", limit=LEAST_PRECISION, more_is_better=True)
    yield Gate(f"contradicting pairs merged, of {len(contrary)}, {split}", sum(contrary), "", limit=0)


def merge_many(folder: Path, size: int) -> Iterator[Gate]:
    """Yields the time and memory of merging a project in which three of ten facts are copies in other words, and whether undo is exact."""
    chance = random.Random(SEED)
    names = [
        f"{a}{b}" for a in ("billing", "search", "mail", "export", "login", "audit") for b in ("-api", "-job", "-db", "-web")
    ]
    shapes = ("The {0} of team {1} keeps {2} copies of its log.", "Of its log the {0} of team {1} keeps {2} copies.")
    firsts = round(size * (1 - COPIES))
    texts = [shapes[0].format(names[at % len(names)], at, chance.randint(2, 99)) for at in range(firsts)]
    again = [
        text.replace("The ", "Of its log the ", 1).replace(" of its log", "", 1) for text in chance.sample(texts, size - firsts)
    ]
    with ALMA.open(folder / "many", project_id="many", embedding_provider="hash") as alma:
        alma.add_many([DomainKnowledge(agent="dev", domain="ops", fact=text) for text in (*texts, *again)])
        before, held, started = alma.content_hash(), resident(), perf_counter()
        result = alma.consolidate("dev", threshold=0.5, dry_run=False)
        spent, grown = perf_counter() - started, resident() - held
        assert result.journal_seq is not None
        second = alma.consolidate("dev", threshold=0.5, dry_run=False)
        alma.undo(result.journal_seq - 1)
        is_same = alma.content_hash() == before
        yield Gate(f"merging {size:,} facts, {result.merged_count:,} into others", spent, "s", limit=20.0 * size / 10_000)
        yield Gate("resident memory that it takes", grown / 1e6, "MB", limit=150.0)
        yield Gate("copies merged", result.merged_count / len(again), "", more_is_better=True)
        yield Gate("merged by a second run", second.merged_count, "", limit=0)
        yield Gate("undone to the very same content", float(is_same), "", limit=1, more_is_better=True)


def main() -> None:
    """Runs the benchmark as the command line says. Ends the process with 1 if a limit is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation", description=__doc__)
    parser.add_argument("--split", default="dev", choices=("dev", "held_out"))
    parser.add_argument("--threshold", type=float, default=0.85)
    parser.add_argument("--size", type=int, help="facts to merge, instead of the pairs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        result = list(merge_many(place, options.size) if options.size else judge_pairs(place, options.split, options.threshold))
    gates.show(wide_console(), result, "Consolidation")
    if options.json:
        gates.write_json(options.json, result)
    gates.enforce(result)


if __name__ == "__main__":
    main()
