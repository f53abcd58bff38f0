"""From rankings to figures and a table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.longmemeval.questions import Question
from benchmarks.measures import all_at, any_at, interval, mean, ndcg_at, reciprocal_rank

Ranking = Sequence[Any]
Gold = frozenset[Any]
Measure = Callable[[Ranking, Gold], float]

MEASURES: Mapping[str, Measure] = {
    "any@1": lambda ranking, gold: any_at(ranking, gold, 1),
    "any@5": lambda ranking, gold: any_at(ranking, gold, 5),
    "any@10": lambda ranking, gold: any_at(ranking, gold, 10),
    "all@5": lambda ranking, gold: all_at(ranking, gold, 5),
    "all@10": lambda ranking, gold: all_at(ranking, gold, 10),
    "NDCG@10": lambda ranking, gold: ndcg_at(ranking, gold, 10),
    "MRR": reciprocal_rank,
}


@dataclass(frozen=True, slots=True)
class Level:
    """What is ranked, sessions or turns: which of them a question needs, those that cannot be found included."""

    name: str
    gold: Callable[[Question], Gold]
    possible: Callable[[Question], Gold]


def _gold_sessions(question: Question) -> Gold:
    """The gold places; sessions that the haystack lacks stand for themselves, below zero, and are never found."""
    return question.gold | frozenset(range(-question.missing, 0))


def _gold_turns(question: Question) -> Gold:
    return question.gold_turns | frozenset((-1, number) for number in range(question.missing_turns))


SESSIONS = Level("sessions", _gold_sessions, lambda question: question.gold)
TURNS = Level("turns", _gold_turns, lambda question: question.gold_turns)

OVERALL = "all questions"
ANSWERABLE = "without abstention"
CEILING = "attainable"
GATED = ("any@5", "NDCG@10")
"""In these, all searches together have to find more than any of them alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """The measures over one group of questions, each with its 95 % interval where that was asked for."""

    mode: str
    group: str
    count: int
    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]


def rows(mode: str, questions: Sequence[Question], rankings: Sequence[Ranking], level: Level = SESSIONS) -> list[Row]:
    """One row overall, one without abstention questions, one for each type of question."""
    groups: dict[str, list[int]] = {OVERALL: list(range(len(questions)))}
    groups[ANSWERABLE] = [place for place, question in enumerate(questions) if not question.is_abstention]
    for kind in sorted({question.kind for question in questions}):
        groups[kind] = [place for place, question in enumerate(questions) if question.kind == kind]
    return [
        _row(mode, group, [questions[i] for i in places], [rankings[i] for i in places], level)
        for group, places in groups.items()
    ]


def ceiling(questions: Sequence[Question], level: Level = SESSIONS) -> Row:
    """What a perfect ranking would score: less than 1 where there are more gold sessions than places, or some are not in the haystack."""
    perfect = _row("", CEILING, questions, [sorted(level.possible(question)) for question in questions], level)
    return replace(perfect, intervals={})


def gains(
    mode: str,
    others: Sequence[str],
    questions: Sequence[Question],
    found: Mapping[str, Sequence[Ranking]],
    level: Level = SESSIONS,
) -> list[Row]:
    """How much better a mode is than each of the others: the mean of the differences, question by question, with its interval."""
    return [_gain(mode, other, questions, found, level) for other in others]


def unbeaten(mode: str, others: Sequence[str], result: Sequence[Row]) -> list[str]:
    """Which of the other modes find as much as a mode does over all questions, though more could be found, and by which measure."""
    means = {row.mode: row.means for row in result if row.group in (OVERALL, CEILING)}
    best = means[""]
    return [
        f"{mode} does not beat {other} in {name} ({means[mode][name]:.3f} against {means[other][name]:.3f})"
        for other in others
        for name in GATED
        if means[mode][name] <= means[other][name] and means[mode][name] < best[name]
    ]


def _gain(mode: str, other: str, questions: Sequence[Question], found: Mapping[str, Sequence[Ranking]], level: Level) -> Row:
    better, worse = _values(questions, found[mode], level), _values(questions, found[other], level)
    differences = {name: [a - b for a, b in zip(better[name], worse[name], strict=True)] for name in MEASURES}
    return _summary(f"{mode} - {other}", OVERALL, differences, with_intervals=True)


def _row(mode: str, group: str, questions: Sequence[Question], found: Sequence[Ranking], level: Level) -> Row:
    return _summary(mode, group, _values(questions, found, level), with_intervals=group in (OVERALL, ANSWERABLE))


def _values(questions: Sequence[Question], found: Sequence[Ranking], level: Level) -> dict[str, list[float]]:
    """Each measure of each question."""
    pairs = [(ranking, level.gold(question)) for question, ranking in zip(questions, found, strict=True)]
    return {name: [measure(ranking, gold) for ranking, gold in pairs] for name, measure in MEASURES.items()}


def _summary(mode: str, group: str, values: Mapping[str, list[float]], *, with_intervals: bool) -> Row:
    count = len(next(iter(values.values())))
    intervals = {name: interval(each) for name, each in values.items()} if with_intervals else {}
    return Row(mode, group, count, {name: mean(each) for name, each in values.items()}, intervals)


def show(console: Console, result: Sequence[Row], title: str) -> None:
    """Prints the rows as a table; the intervals stand below the figures that they belong to."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("mode", "questions"):
        table.add_column(name, no_wrap=True)
    for name in ("n", *MEASURES):
        table.add_column(name, justify="right", no_wrap=True)
    for row in result:
        table.add_row(row.mode, row.group, str(row.count), *(_cell(row, name) for name in MEASURES))
    console.print(table)


def _cell(row: Row, name: str) -> str:
    if row.count == 0:
        return "-"
    low, high = row.intervals.get(name, (None, None))
    return f"{row.means[name]:.3f}" if low is None else f"{row.means[name]:.3f}\n{_brief(low)}-{_brief(high)}"


def _brief(share: float | None) -> str:
    return f"{share:.2f}".removeprefix("0") if share is not None else ""


def as_json(result: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as plain values; a group without questions has `null` for its measures."""
    return [
        {
            "mode": row.mode,
            "group": row.group,
            "questions": row.count,
            "measures": {name: value if row.count else None for name, value in row.means.items()},
            "intervals": {name: list(bounds) for name, bounds in row.intervals.items()} if row.count else {},
        }
        for row in result
    ]
