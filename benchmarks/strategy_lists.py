"""Whether strategies of one list are told apart, and wordings of one strategy recognised: `python -m benchmarks.strategy_lists`.

A list has four to six ways to do one kind of task, each in four wordings, as agents record them. In `data/strategy_lists.jsonl` they are short
sentences; those of `data/strategy_lists_2.jsonl`, each with the task that it was used for, have commands, calls, names, amounts and reasons in them.
Two that are called one way are summed in a row, so a wrong pair is a false count. Half of the lists were tuned on; of the others, in other domains,
only the totals were looked at. Which pairs are one way depends on what else an agent tries for such tasks, so each list is asked in several ways:
whole, half of it at random, each strategy alone, alone beside one wording of another, one wording of each and a second one of one, and four lists at
once. The vocabularies of `benchmarks.simulation` (six strategies, five wordings in quite other words) are asked whole.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from alma_learning import Question
from benchmarks.checks import FOLDER
from benchmarks.screen import wide_console
from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.told import vocabulary
from benchmarks.trials import fold_wordings

SHORT, WITH_COMMANDS = FOLDER / "strategy_lists.jsonl", FOLDER / "strategy_lists_2.jsonl"
DEVELOPMENT, JUDGING = ("operations", "airline", "office"), ("banking", "debugging", "helpdesk", "repositories", "orders")
SEEDS, TOGETHER = 3, 4

Strategies = Sequence[Sequence[str]]
Wordings = list[tuple[str, int]]
"""Texts, each with the number of its strategy."""


def read(split: str, path: Path = SHORT) -> list[Strategies]:
    """The lists of a split: "tuned on" or "judging"."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [[[*map(_text, wordings)] for wordings in one["strategies"]] for one in found if one["split"] == split]


def _text(wording: str | tuple[str, str]) -> str:
    """The strategy of a wording that may stand beside the task it was used for."""
    return wording if isinstance(wording, str) else wording[1]


def whole(strategies: Strategies, _: np.random.Generator) -> Iterator[Wordings]:
    """All wordings together."""
    yield [(wording, number) for number, wordings in enumerate(strategies) for wording in wordings]


def half(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """Half of them."""
    (found,) = whole(strategies, chance)
    yield [found[place] for place in chance.permutation(len(found))[: len(found) // 2]]


def alone(strategies: Strategies, _: np.random.Generator) -> Iterator[Wordings]:
    """Each strategy by itself."""
    for number, wordings in enumerate(strategies):
        yield [(wording, number) for wording in wordings]


def beside_another(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """Each strategy, and one wording of another."""
    for found in alone(strategies, chance):
        other = (found[0][1] + 1 + int(chance.integers(len(strategies) - 1))) % len(strategies)
        yield [*found, (str(chance.choice(strategies[other])), other)]


def one_of_each(strategies: Strategies, chance: np.random.Generator) -> Iterator[Wordings]:
    """One wording of each strategy, and a second one of one."""
    found = [(str(chance.choice(wordings)), number) for number, wordings in enumerate(strategies)]
    twice = int(chance.integers(len(strategies)))
    rest = [wording for wording in strategies[twice] if wording != found[twice][0]]
    yield [*found, (str(chance.choice(rest)), twice)]


def together(lists: Sequence[Strategies], chance: np.random.Generator) -> Iterator[Wordings]:
    """Halves of four lists at once."""
    order = chance.permutation(len(lists))
    for start in range(0, len(lists) - TOGETHER + 1, TOGETHER):
        chosen = [half(lists[place], chance) for place in order[start : start + TOGETHER]]
        yield [(text, 100 * number + way) for number, (found,) in enumerate(chosen) for text, way in found]


def judged(asked: Sequence[Wordings], embedder: CachedEmbedder) -> tuple[int, int, int]:
    """Of all pairs: how many are rightly called one way, how many wrongly, and how many are one."""
    right = wrong = same = 0
    for found in asked:
        texts = [text for text, _ in found]
        numbers = np.array([number for _, number in found])
        table = fold_wordings(embedder.embed, texts).table(Question())
        row_of = {outcome: place for place, row in enumerate(table.rows) for outcome in row.outcomes}
        rows = np.array([row_of[f"{place}"] for place in range(len(texts))])
        pairs = np.triu_indices(len(texts), 1)
        is_one = (numbers[:, None] == numbers)[pairs]
        is_called = (rows[:, None] == rows)[pairs]
        right, wrong, same = right + (is_called & is_one).sum(), wrong + (is_called & ~is_one).sum(), same + is_one.sum()
    return int(right), int(wrong), int(same)


def main() -> None:
    """Prints precision and recall of each set and way of asking."""
    embedder = CachedEmbedder("minilm")
    table = Table("set", "asked", "called one way", "precision", "recall", box=SIMPLE_HEAD)
    ways: tuple[Callable[[Strategies, np.random.Generator], Iterator[Wordings]], ...] = (
        whole,
        half,
        alone,
        beside_another,
        one_of_each,
    )
    for path, split in product((SHORT, WITH_COMMANDS), ("tuned on", "judging")):
        name, lists = f"{'short' if path == SHORT else 'with commands'}, {split}", read(split, path)
        for ask in ways:
            asked = [ask(one, np.random.default_rng([seed, place])) for seed in range(SEEDS) for place, one in enumerate(lists)]
            _add(table, name, ask.__name__.replace("_", " "), judged([*chain.from_iterable(asked)], embedder))
        mixed = chain.from_iterable(together(lists, np.random.default_rng(seed)) for seed in range(SEEDS))
        _add(table, name, "four lists together", judged([*mixed], embedder))
    for name, names in (("vocabularies tuned on", DEVELOPMENT), ("vocabularies for judging", JUDGING)):
        asked = [whole(vocabulary(one).strategies, np.random.default_rng(0)) for one in names]
        _add(table, name, "whole", judged([*chain.from_iterable(asked)], embedder))
    wide_console().print(table)


def _add(table: Table, name: str, asked: str, counts: tuple[int, int, int]) -> None:
    right, wrong, same = counts
    called = right + wrong
    table.add_row(name, asked, str(called), f"{right / called:.2f}" if called else "–", f"{right / same:.2f}" if same else "–")


if __name__ == "__main__":
    main()
