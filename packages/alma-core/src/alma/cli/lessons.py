"""What the demonstration learned: rules, strategies and success over runs, gathered as plain values and shown to a person."""

from typing import TYPE_CHECKING, Any

from alma.cli.intervals import marks, picture
from alma.cli.output import console, printable, table
from alma.cli.records import records_table
from alma.cli.replay import AGENT

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import AntiPattern, Heuristic

MOST = 500


def lessons(alma: "ALMA") -> dict[str, Any]:
    """The rules that were formed, one of each kind told, the strategies that have a verdict, and success over runs."""
    from alma.types.strategies import Judgement

    heuristics, anti_patterns = _heuristics(alma), _anti_patterns(alma)
    tried = alma.strategies(agent=AGENT, limit=MOST).rows
    decided = [row for row in tried if row.verdict not in (Judgement.UNDECIDED, Judgement.UNKNOWN)]
    return {
        "heuristics": len(heuristics),
        "anti_patterns": len(anti_patterns),
        "heuristic": _note(alma, max(heuristics, key=_weight, default=None)),
        "anti_pattern": _note(alma, max(anti_patterns, key=_weight, default=None)),
        "strategies": len(tried),
        "decided": [row.model_dump(mode="json") for row in decided],
        "runs": [group.model_dump(mode="json") for group in alma.overview(verify=False).learning.runs],
    }


def _heuristics(alma: "ALMA") -> "list[Heuristic]":
    from alma.types import Heuristic

    return [memory for memory in alma.list_memories("heuristic", AGENT, limit=MOST) if isinstance(memory, Heuristic)]


def _anti_patterns(alma: "ALMA") -> "list[AntiPattern]":
    from alma.types import AntiPattern

    return [memory for memory in alma.list_memories("anti_pattern", AGENT, limit=MOST) if isinstance(memory, AntiPattern)]


def _weight(rule: "Heuristic | AntiPattern") -> tuple[bool, float, str]:
    """One that names an alternative tells more, then one that is surer."""
    return bool(getattr(rule, "better_alternative", None)), rule.confidence, rule.text


def _note(alma: "ALMA", rule: "Heuristic | AntiPattern | None") -> str | None:
    """The rule as a prompt would tell it."""
    from alma.types.prompt import note

    return None if rule is None else note(rule, max(rule.seen_at, rule.updated_at))


def show(learned: dict[str, Any]) -> None:
    """Prints them."""
    from alma.types import StrategyRecord

    out = console()
    out.print(
        f"\nWhat the outcomes taught: {learned['heuristics']} heuristics, {learned['anti_patterns']} anti-patterns, for example",
        style="bold",
    )
    for title, rule in (("works", learned["heuristic"]), ("fails", learned["anti_pattern"])):
        out.print(printable(f"{title}: {rule or 'nothing that is sure enough'}"), soft_wrap=True)
    rows = [StrategyRecord.model_validate(row) for row in learned["decided"]]
    out.print(f"\nThe strategies that have a verdict, {len(rows)} of the {learned['strategies']} that were tried", style="bold")
    out.print(records_table(rows))
    out.print("Success over runs (whoever made them had no memory to get better by)", style="bold")
    out.print(_runs_table(learned["runs"]))


def _runs_table(runs: list[dict[str, Any]]) -> Any:
    from alma.types.overview import RunsView

    rows, last = [], 0
    for group in map(RunsView.model_validate, runs):
        first, last = last + 1, last + group.trials
        drawn = picture(group.share, group.interval, marks())
        rows.append((f"{first} to {last}", f"{group.successes:g} of {group.trials}", f"{group.share:.0%}", drawn))
    return table(("runs", "worked", "rate", "0      ½      1"), rows, right=("worked", "rate"))
