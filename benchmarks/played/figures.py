"""The figures: n of N each, medians, a table, and the comparison of two runs question by question."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

FIGURES = {
    "prompt_first_best": "high",
    "prompt_first_best_of_answered": "high",
    "prompt_first_bad": "low",
    "prompt_first_bad_of_answered": "low",
    "prompt_first_none": "low",
    "best_known_is_bad": "floor",
    "advised_bad": "low",
    "advised_foreign": "low",
    "table_first_best": "high",
    "table_first_bad": "low",
    "counts_true": "high",
    "counts_true_table": "high",
    "counts_true_prompt": "high",
    "counts_more": "0",
    "counts_more_anywhere": "0",
    "split_ways": "low",
    "foreign_rows": "low",
    "lumped_rows": "0",
    "mixed_rows": "0",
    "lumped_rules": "0",
    "check_warned": "high",
    "check_warned_same_words": "high",
    "check_warned_other_words": "high",
    "check_false": "low",
    "assess_true": "high",
    "assess_unknown_though_tried": "low",
    "surfaces_differ": "0",
    "outcome_lines_of_bad_ways": "low",
    "outcome_lines_foreign": "low",
    "unrelated_filler": "low",
    "unrelated_filler_english": "low",
    "unrelated_filler_other": "low",
    "wakeup_true": "high",
    "wakeup_silent": "low",
    "one_kind_heuristic": "high",
    "one_kind_mixed": "0",
    "one_kind_heuristic_free": "high",
    "one_kind_mixed_free": "0",
    "unread": "0",
}
"""Each figure, and what is better: high, low, 0, or nothing where it is the floor of another. `README.md` says what they count."""

MEDIANS = ("prompt_tokens", "retrieve_ms", "learn_ms")
FIRSTS = {"prompt_first_best": True, "prompt_first_bad": False, "table_first_best": True, "table_first_bad": False}


class Tally:
    """Counts what is true of how many, keeps values for medians, and the answer to each question."""

    def __init__(self) -> None:
        self.hits: dict[str, int] = defaultdict(int)
        self.totals: dict[str, int] = defaultdict(int)
        self.values: dict[str, list[float]] = defaultdict(list)
        self.questions: list[dict[str, Any]] = []

    def count(self, name: str, is_true: object) -> None:
        """Counts one more of a figure."""
        self.hits[name] += bool(is_true)
        self.totals[name] += 1

    def add(self, other: "Tally") -> None:
        """Adds what another one counted."""
        for name, total in other.totals.items():
            self.totals[name] += total
            self.hits[name] += other.hits[name]
        for name, values in other.values.items():
            self.values[name] += values
        self.questions += other.questions

    def share(self, name: str) -> float:
        """The share of a figure; nan where nothing was counted."""
        return self.hits[name] / self.totals[name] if self.totals[name] else math.nan

    def median(self, name: str) -> float:
        """The median of the values of a name; nan where there are none."""
        return statistics.median(self.values[name]) if self.values[name] else math.nan

    def as_json(self) -> dict[str, Any]:
        """The figures and medians as plain values."""
        shares = {
            name: {
                "n": self.hits[name],
                "of": self.totals[name],
                "share": round(self.share(name), 3) if self.totals[name] else None,
            }
            for name in FIGURES
        }
        medians = {
            f"{name}_median": {
                "median": round(self.median(name), 1) if self.values[name] else None,
                "of": len(self.values[name]),
            }
            for name in MEDIANS
        }
        return shares | medians


def make_table(columns: Mapping[str, Tally]) -> str:
    """Returns the figures in Markdown: n/N a column, and the share of the last one."""
    last = list(columns.values())[-1]
    rows = [["", *columns, "share of all", "better"]]
    for name, better in FIGURES.items():
        cells = [f"{each.hits[name]}/{each.totals[name]}" for each in columns.values()]
        rows.append([name, *cells, f"{last.share(name):.3f}" if last.totals[name] else "–", better])
    for name in MEDIANS:
        cells = [f"{each.median(name):.1f}" for each in columns.values()]
        rows.append([f"{name} median", *cells, f"N = {len(last.values[name])}", "low"])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(_pad(cell, width, place) for place, (cell, width) in enumerate(zip(row, widths, strict=True))) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def compare(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns for each first-figure on how many questions it became better and worse, with the two-sided sign test.

    The questions of one store are not independent: p is too small rather than too large.
    """
    old = {each["question"]: each for each in before}
    lines = []
    for name, wanted in FIRSTS.items():
        pairs = [(old[each["question"]][name], each[name]) for each in now if each["question"] in old]
        better = sum(first != second and second is wanted for first, second in pairs)
        worse = sum(first != second and second is not wanted for first, second in pairs)
        lines.append(
            f"{name}: better on {better}, worse on {worse} of {len(pairs)} questions, p = {sign_test(better, worse):.3f}"
        )
    return lines


def sign_test(better: int, worse: int) -> float:
    """The two-sided p of so uneven a split by chance."""
    total = better + worse
    tail = sum(math.comb(total, number) for number in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / 2**total) if total else 1.0


def _pad(cell: str, width: int, place: int) -> str:
    return cell.rjust(width) if place else cell.ljust(width)
