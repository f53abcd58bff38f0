"""Helpers that make and inspect episodes."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from alma import ALMA, Outcome
from facade import exported_lines

TASK = "Rebook a flight"
GOOD, BAD = ("look up", "rebook"), ("look up", "refund")
"""The tools of attempts that succeed, and of such that fail."""


def ended(alma: ALMA, tools: Sequence[str], verdict: str = "unverified", *, agent: str = "clerk", task: str = TASK) -> str:
    """Makes an attempt with these tools, and returns its id."""
    with alma.episode(agent, task) as episode:
        for tool in tools:
            episode.step(tool, ok=True)
        episode.end(verdict)
    return episode.id


def judge(alma: ALMA, times: int, *, agent: str = "clerk") -> None:
    """Makes attempts of both sorts that are judged."""
    for _ in range(times):
        ended(alma, GOOD, "success", agent=agent)
        ended(alma, BAD, "failure", agent=agent)


class Counts(NamedTuple):
    used: int
    ignored: int


def usage_of(alma: ALMA, memory_id: str) -> Mapping[str, float]:
    """Returns the usage counts of a memory: an empty mapping if it was never shown."""
    (usage,) = (line["usage"] for line in exported_lines(alma, "memory") if line["id"] == memory_id)
    return usage or {}


def counts(alma: ALMA, memory_id: str) -> Counts:
    """How often a memory was used and passed over."""
    usage = usage_of(alma, memory_id)
    return Counts(int(usage.get("used", 0)), int(usage.get("ignored", 0)))


def outcomes(alma: ALMA, task: str, agent: str) -> list[Outcome]:
    """Returns all outcomes of an agent on a task, oldest first; with equal times the steps in order, then the outcome of the whole."""

    def order(outcome: Outcome) -> tuple[datetime, float]:
        return outcome.timestamp, outcome.metadata.get("step", math.inf)

    found = (memory for memory in alma.list_memories("outcome", agent=agent, limit=1000) if isinstance(memory, Outcome))
    return sorted((outcome for outcome in found if outcome.task_description == task), key=order)


def told(found: Sequence[Outcome]) -> list[tuple[str, str, str | None]]:
    """How each went, by what strategy, with which error."""
    return [(outcome.outcome.value, outcome.strategy_used, outcome.error_message) for outcome in found]
