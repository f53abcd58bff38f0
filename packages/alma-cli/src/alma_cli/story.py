"""Prints the demonstration: short, with what is not known beside what is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alma.text import one_line, shortened
from alma_cli.output import console, printable, table
from alma_cli.records import brief_table
from alma_cli.replay import SHOWN, Run

if TYPE_CHECKING:
    from alma.types import MemorySlice, StrategyTable
    from alma.types.memories import AnyMemory

MOST_WAYS = 2
MOST_STRATEGIES = 6
TASK_CHARS = 50
WAY_CHARS = 60
RECORD_CHARS = 72
CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """An unseen task, the memories recalled for it, and the strategies tried on tasks like it."""

    run: Run
    found: "MemorySlice"
    tried: "StrategyTable"

    @property
    def name(self) -> str:
        """Topic of the task, in a few words."""
        return SHOWN[self.run.task_id]

    @property
    def rules(self) -> int:
        """Number of rules that are recalled."""
        return len(self.found.heuristics) + len(self.found.anti_patterns)

    @property
    def near(self) -> "StrategyTable":
        """Strategies tried on tasks that are near enough to be counted."""
        return self.tried.model_copy(update={"rows": tuple(row for row in self.tried if row.tasks)})


def print_story(figures: dict[str, Any], asked: list[Asked]) -> None:
    """Prints the story: what was replayed, what is known of unseen tasks, the prompt for one, and how far to trust it."""
    _replayed(figures)
    for one in asked:
        if one.run.task != figures["prompt"]["task"]:  # the prompt for it says the same
            _task(one)
    _unknown(figures["unknown"])
    _prompt(figures["prompt"])
    _tried(max(asked, key=lambda one: len(one.near)))
    _foreseen(figures["failure_warning"])
    _costs(figures)


def _say(text: str = "", *, bold: bool = False) -> None:
    console().print(printable(text), style="bold" if bold else None)


def _replayed(figures: dict[str, Any]) -> None:
    learned = figures["learned"]
    worked = sum(group["successes"] for group in learned["runs"])
    _say(
        f"{figures['runs_learned']} real runs of an airline's service agent were replayed: {figures['tasks_learned']} tasks, tried 4 times "
        f"each, {worked:g} successes. They made {learned['heuristics']} heuristics and {learned['anti_patterns']} anti-patterns. "
        "Then the memory was asked about tasks that it had never seen."
    )


def _task(asked: Asked) -> None:
    _say()
    _say(f"{asked.name}: {_opening(asked.run.task)}", bold=True)
    ways = sorted(asked.found.strategies, key=lambda way: not (way.heuristic_id or way.anti_pattern_id))[:MOST_WAYS]
    if not any(way.heuristic_id or way.anti_pattern_id for way in ways):
        _say("  No rule: what was tried on tasks like this one is too little, or too mixed.")
    for way in ways:
        _say(f"  [{way.tag}] {shortened(one_line(way.strategy), WAY_CHARS)}")
        _say(f"       {shortened(way.record(None), RECORD_CHARS)}")
    if not ways:
        for item in [item for item in asked.found.recalled if item.tag[0] == "O"][:1]:
            _say(f"  [{item.tag}] {_outcome(item.memory)}")


def _outcome(memory: "AnyMemory") -> str:
    from alma.types import Outcome

    assert isinstance(memory, Outcome)
    ended = "Succeeded" if memory.success else "Failed"
    return f"{ended} before: {_opening(memory.task_description)}"


def _opening(task: str) -> str:
    return f"“{shortened(one_line(task), TASK_CHARS)}”"


def _unknown(unknown: dict[str, str]) -> None:
    _say()
    _say(f"Something else: {_opening(unknown['task'])}", bold=True)
    _say(f"  {unknown['prompt']}")


def _prompt(prompt: dict[str, str]) -> None:
    _say()
    _say(f"Prompt (before: empty) for {_opening(prompt['task'])}", bold=True)
    _say(prompt["after"])


def _tried(asked: Asked) -> None:
    _say()
    rows = asked.near.rows[:MOST_STRATEGIES]
    _say(f"{asked.name}: what was tried on such tasks, the best expected first", bold=True)
    if rows:
        shown = console()
        shown.print(brief_table(rows, width=shown.width))
    else:
        _say("  Nothing: no task is near enough.\n")


def _foreseen(warned: dict[str, Any]) -> None:
    _say(f"Expected success, asked before each of {warned['tries']} next tries at {warned['tasks']} known tasks", bold=True)
    rows = [
        ("successes above failures (AUC)", warned["auc"], _range(warned["auc_interval"]), CHANCE),
        ("squared error (Brier)", warned["brier"], _range(warned["brier_interval"]), warned["base_rate_brier"]),
        ("better than the base rate by", warned["brier_gain"], _range(warned["brier_gain_interval"]), 0),
    ]
    console().print(table(("figure", "value", "95 %, over tasks", "base rate"), rows, right=("value", "base rate")))
    if _may_be_chance(warned):
        _say(f"An interval holds the figure of the base rate, too: {warned['tasks']} tasks are too few to claim more than it.")


def _may_be_chance(warned: dict[str, Any]) -> bool:
    ranked, gained = warned["auc_interval"], warned["brier_gain_interval"]
    return ranked is None or gained is None or ranked[0] <= CHANCE or gained[0] <= 0


def _range(interval: list[float] | None) -> str:
    return "unknown" if interval is None else f"{interval[0]} to {interval[1]}"


def _costs(figures: dict[str, Any]) -> None:
    learn, retrieve = figures["learn_ms"], figures["retrieve_ms"]
    _say(
        f"Embedder {figures['embedder']}. Learn {learn['p50']:.0f} ms, retrieve {retrieve['p50']:.0f} ms (median; p95 {learn['p95']:.0f} "
        f"and {retrieve['p95']:.0f}). {figures['memories']} memories in {figures['store_bytes'] / 1024:,.0f} kB; "
        f"{figures['journal_records_verified']} journal records verified. {figures['seconds']:.1f} s in all."
    )
