"""What prompts cost and keep of the evidence, how long questions take, and how well ALMA knows that it has found nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.longmemeval.questions import Question
from benchmarks.longmemeval.recall import BUDGETS, Asked
from benchmarks.measures import mean, percentile


def times(found: Mapping[str, Sequence[Asked]]) -> dict[str, dict[str, float]]:
    """The median and the 95th percentile of the seconds of a question, by mode, embedding left out."""
    return {
        mode: {name: percentile([asked.seconds for asked in each], share) for name, share in (("p50", 0.5), ("p95", 0.95))}
        for mode, each in found.items()
    }


def show(console: Console, questions: Sequence[Question], found: Sequence[Asked], title: str) -> list[dict[str, Any]]:
    """Prints and returns what prompts of each budget cost, and of how many questions they show evidence turns: any, and all of them."""
    whole = mean([_tokens_of(question) for question in questions])
    marked = [(question, asked) for question, asked in zip(questions, found, strict=True) if question.gold_turns]
    rows = [_row(budget, found, marked, whole) for budget in BUDGETS]
    table = Table(title=f"{title}: prompts", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("at most", "tokens", "of the full context", "shows any evidence turn", "shows all", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        shares = (f"{row[name]:.3f}" if marked else "-" for name in ("any", "all"))
        cells = (str(row["budget"]), f"{row['tokens']:.0f}", f"{row['share']:.2%}", *shares, str(len(marked)))
        table.add_row(*cells)
    seconds = times({"": found})[""]
    console.print(table)
    console.print(
        f"Full context: {whole:,.0f} tokens. A question takes {seconds['p50'] * 1000:.1f} ms (p95 {seconds['p95'] * 1000:.1f})."
    )
    return rows


def _row(budget: int, found: Sequence[Asked], marked: Sequence[tuple[Question, Asked]], whole: float) -> dict[str, Any]:
    shown = [(question.gold_turns, set(asked.prompts[budget].turns), question.missing_turns) for question, asked in marked]
    tokens = mean([asked.prompts[budget].tokens for asked in found])
    return {
        "budget": budget,
        "tokens": tokens,
        "share": tokens / whole,
        "any": mean([float(bool(gold & turns)) for gold, turns, _ in shown]),
        "all": mean([float(gold <= turns and not missing) for gold, turns, missing in shown]),
        "questions": len(marked),
    }


def _tokens_of(question: Question) -> int:
    """The tokens of a haystack as a whole, by ALMA's estimate."""
    from alma.text import estimate_tokens

    return sum(estimate_tokens(f"{turn.speaker}: {turn.text}\n") for session in question.sessions for turn in session.turns)


def show_relevance(
    console: Console, questions: Sequence[Question], found: Sequence[Asked], title: str
) -> dict[str, float | int | None]:
    """Prints and returns how well the relevance of a slice tells questions of this haystack from those of another, and from those that it cannot
    answer though their evidence seems to be there."""
    pairs = list(zip(questions, found, strict=True))
    own = [asked.relevance for question, asked in pairs if asked.relevance is not None and not question.is_abstention]
    hard = [asked.relevance for question, asked in pairs if asked.relevance is not None and question.is_abstention]
    foreign = [asked.foreign for asked in found if asked.foreign is not None]
    if not own or not foreign:
        return {"own": len(own), "foreign": len(foreign)}
    wrong = mean([float(value < 0.5) for value in own]), mean([float(value >= 0.5) for value in foreign])
    result: dict[str, float | int | None] = {
        "own": len(own),
        "foreign": len(foreign),
        "auc": auc(own, foreign),
        "error": (wrong[0] + wrong[1]) / 2,
        "own called irrelevant": wrong[0],
        "foreign called relevant": wrong[1],
        "brier": mean([(1 - value) ** 2 for value in own] + [value**2 for value in foreign]),
        "abstention called relevant": mean([float(value >= 0.5) for value in hard]) if hard else None,
        "abstention auc": auc(own, hard) if hard else None,
    }
    console.print(
        f"{title}: nothing relevant. Of {len(own)} questions on this haystack {wrong[0]:.1%} are said to find nothing, of {len(foreign)} on another "
        f"{wrong[1]:.1%} to find something; error {result['error']:.1%}, AUC {result['auc']:.3f}, Brier {result['brier']:.3f}."
    )
    if hard:
        console.print(
            f"Of {len(hard)} questions that cannot be answered from sessions that look as if they could, "
            f"{result['abstention called relevant']:.1%} are said to find something (AUC {result['abstention auc']:.3f})."
        )
    return result


def auc(greater: Sequence[float], smaller: Sequence[float]) -> float:
    """The probability that one of the first is greater than one of the second; equal ones count half."""
    wins = sum((a > b) + 0.5 * (a == b) for a in greater for b in smaller)
    return wins / (len(greater) * len(smaller))
