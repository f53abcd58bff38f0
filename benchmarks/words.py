"""What words alone decide of the labelled lists, without a store: `python -m benchmarks.words [--judging] [--fit]`.

Each pair of a list is a pattern and an action (`alma_learning.actions.is_warned_of`), or two strategies (`alma_learning.differences.differ`), with
the cosine of their vectors by MiniLM. Of pairs of strategies, "same" are pairs in which nothing speaks against one way. The lists that were tuned on
are shown, with `--judging` the others, too, of which only the totals are to be looked at. `--fit` looks at random for the terms of
`alma_learning.sentences` with the most warnings that are right, less two for each false one, on the lists that were tuned on.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from alma_learning import sentences
from alma_learning.actions import is_warned_of
from alma_learning.differences import differ
from benchmarks.records import read_records
from benchmarks.screen import wide_console

FOLDER = Path(__file__).with_name("data")
CHECKS = {"check_tuning": True, "check_held_out": True} | {f"check_judging{number}": False for number in ("", "_2", "_3", "_4")}
LISTS = ("strategy_lists", "strategy_lists_2")
TUNED = {"dev", "tuned on"}
EMBEDDED_AT_ONCE, TEXT_CHARS = 64, 800
ROUNDS, COSTS = 150, 2
TERMS = {
    "LACKING": (-0.1, 0.0), "MORE": (-0.03, 0.05), "PLACE": (0.06, 0.25), "SHORTENED": (0.0, 0.2), "FIRST": (0.0, 0.15),
    "OTHER_WORDS": (0.45, 0.7), "ENOUGH": (0.8, 1.4),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of a list, and whether they belong together; `is_judging` says that the list was not tuned on."""

    of: str
    one: str
    other: str
    is_positive: bool
    is_judging: bool
    is_action: bool


def main() -> None:
    """Runs the benchmark as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judging", action="store_true", help="the lists that were not tuned on, too")
    parser.add_argument("--fit", action="store_true", help="look for better terms")
    options = parser.parse_args()
    pairs = [pair for pair in read_pairs() if options.judging or not pair.is_judging]
    cosines = embedded(pairs)
    if options.fit:
        fit([(pair, cosine) for pair, cosine in zip(pairs, cosines, strict=True) if pair.is_action and not pair.is_judging])
        return
    table = Table("list", "pairs that belong together", "pairs that do not", title="Decided by words and cosines")
    for of in dict.fromkeys(pair.of for pair in pairs):
        some = [(pair, cosine) for pair, cosine in zip(pairs, cosines, strict=True) if pair.of == of]
        decide = is_warned if some[0][0].is_action else is_same
        table.add_row(of, *(counted(some, decide, is_positive=wanted) for wanted in (True, False)))
    wide_console().print(table)


def read_pairs() -> list[Pair]:
    """The pairs of all lists."""
    return [*_checks(), *_strategies(), *_lists()]


def is_warned(pair: Pair, cosine: float) -> bool:
    """Returns True if the second text does what the first one names."""
    return is_warned_of(pair.one, pair.other, cosine)


def is_same(pair: Pair, _: float) -> bool:
    """Returns True if nothing speaks against one way."""
    return not differ(pair.one, pair.other)


def counted(pairs: Sequence[tuple[Pair, float]], decide: Callable[[Pair, float], bool], *, is_positive: bool) -> str:
    """How many of the pairs that belong together, or that do not, are decided so."""
    decided = [decide(pair, cosine) for pair, cosine in pairs if pair.is_positive is is_positive]
    return f"{sum(decided)} of {len(decided)}"


def fit(pairs: Sequence[tuple[Pair, float]]) -> None:
    """Shows the terms of each round that is the best so far."""
    random, best = np.random.default_rng(0), -len(pairs)
    for _ in range(ROUNDS):
        found = [is_warned(pair, cosine) for pair, cosine in pairs]
        right, wrong = (
            sum(is_one for is_one, (pair, _) in zip(found, pairs, strict=True) if is_one and pair.is_positive is wanted)
            for wanted in (True, False)
        )
        if right - COSTS * wrong > best:
            best = right - COSTS * wrong
            wide_console().print(right, wrong, {name: round(getattr(sentences, name), 3) for name in TERMS})
        for name, (least, most) in TERMS.items():
            setattr(sentences, name, random.uniform(least, most))


def embedded(pairs: Sequence[Pair]) -> list[float]:
    """The cosine of each pair."""
    from alma.embedding import create_embedder

    places = {text: place for place, text in enumerate(dict.fromkeys(text for pair in pairs for text in (pair.one, pair.other)))}
    texts, embedder = [text[:TEXT_CHARS] for text in places], create_embedder("local")
    parts = [embedder.embed(texts[at : at + EMBEDDED_AT_ONCE]) for at in range(0, len(texts), EMBEDDED_AT_ONCE)]
    vectors = np.concatenate([np.asarray(part, np.float32) for part in parts])
    return [float(vectors[places[pair.one]] @ vectors[places[pair.other]]) for pair in pairs]


def _checks() -> Iterator[Pair]:
    for name, is_tuned in CHECKS.items():
        for one in read_records(FOLDER / f"{name}.jsonl"):
            yield Pair(name, one["pattern"], one["action"], one["warn"], not is_tuned, is_action=True)


def _strategies() -> Iterator[Pair]:
    pairs: list[dict[str, Any]] = [one for one in read_records(FOLDER / "strategy_pairs.jsonl") if one["of"] == "strategy"]
    for is_action in (True, False):
        for one in pairs:
            if not (is_action and one["kind"] == "narrower"):
                of = f"strategy_pairs, {one['split']}, {'as actions' if is_action else 'as ways'}"
                yield Pair(of, one["a"], one["b"], one["same"], one["split"] not in TUNED, is_action)


def _lists() -> Iterator[Pair]:
    for name in LISTS:
        for one in read_records(FOLDER / f"{name}.jsonl"):
            told = [
                (way if isinstance(way, str) else way[1], place) for place, ways in enumerate(one["strategies"]) for way in ways
            ]
            for (first, way), (second, other) in combinations(told, 2):
                yield Pair(f"{name}, {one['split']}", first, second, way == other, one["split"] not in TUNED, is_action=False)


if __name__ == "__main__":
    main()
