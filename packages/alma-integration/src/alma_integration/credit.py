"""The calls that a run is credited with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alma.text import shortened

STRATEGY_CHARS = 600
_PLANS = frozenset({"write_todos", "write_todo", "todo_write", "todowrite", "update_plan"})
"""Tools that keep a list of what is to be done: of LangChain and deepagents, Claude Code and Codex."""


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One call of a tool in a run.

    `action` is the call in words, as it is stored. `ok` is `None` where the outcome is unknown; `is_made` is false for a call that was
    refused before the tool ran. `output` and `error` are texts of at most 2,000 characters.
    """

    agent: str
    tool: str
    action: str
    ok: bool | None
    arguments: Mapping[str, Any]
    output: str | None = None
    error: str | None = None
    duration_ms: float | None = None
    is_made: bool = True


def strategy_of(steps: Sequence[ToolStep]) -> str | None:
    """Returns the strategy of a run from its tool calls, `check, then deploy(way="blue-green")`; `None` if no call succeeded.

    Left out are calls that plan or hand over, and failed ones, which are evidence against themselves only. So is a call that was made again,
    differently, to repair a later failure: in `deploy(way="rolling")`, `verify` failed, `deploy(way="blue-green")`, `verify`, the first
    deployment gets no credit.
    """
    replaced = _replaced(steps)
    done = (step for place, step in enumerate(steps) if step.is_made and step.ok is not False and place not in replaced)
    kept = (step.action for step in done if _is_work(step))
    return shortened(", then ".join(dict.fromkeys(kept)), STRATEGY_CHARS) or None


def unrepaired(steps: Sequence[ToolStep]) -> ToolStep | None:
    """Returns the last failed call that no later call of the same tool repaired, or `None`."""
    for place in range(len(steps) - 1, -1, -1):
        if steps[place].ok is False and not any(_repairs(later, steps[place]) for later in steps[place + 1 :]):
            return steps[place]
    return None


def tools_succeeded(steps: Sequence[ToolStep]) -> bool | None:
    """Returns True when the last call of each tool succeeded; `None` if no call was judged. Does not detect a limit of calls that cut the
    run short."""
    last = {step.tool: step.ok for step in steps if step.ok is not None}
    return all(last.values()) if last else None


def _is_work(step: ToolStep) -> bool:
    """Returns False for a list of what is to be done, and where a sub-agent of deepagents or Claude Code is given the work."""
    return step.tool.casefold() not in _PLANS and not (step.tool.casefold() == "task" and "subagent_type" in step.arguments)


def _replaced(steps: Sequence[ToolStep]) -> set[int]:
    """Returns the places of calls that were made again between a failure and the call that repaired it."""
    result: set[int] = set()
    for failed, step in enumerate(steps):
        if step.ok is not False:
            continue
        repaired = next((place for place in range(failed + 1, len(steps)) if _repairs(steps[place], step)), None)
        if repaired is None:
            continue
        again = {later.tool: later.action for later in steps[failed + 1 : repaired]}
        result |= {place for place in range(failed) if again.get(steps[place].tool, steps[place].action) != steps[place].action}
    return result


def _repairs(later: ToolStep, failed: ToolStep) -> bool:
    return later.tool == failed.tool and later.ok is True
