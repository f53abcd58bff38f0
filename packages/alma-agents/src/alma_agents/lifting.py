"""Does the memory help here? Failures for which something was known: how many were repaired with it shown, and how many in held-out sessions."""

from math import sqrt
from typing import Any

from alma import ALMA, Outcome
from alma_agents.learning import CODING

_Z = 1.959964


def lift_of(alma: ALMA) -> dict[str, Any]:
    """Returns counts, rates, and their difference with its 95 % interval (Newcombe's hybrid score interval). The unit is a session."""
    sessions: dict[tuple[str, bool], list[bool]] = {}
    for one in alma.list_memories("outcome", limit=10_000):
        if not isinstance(one, Outcome) or not isinstance(facts := one.metadata.get(CODING), dict):
            continue
        shown = facts.get("shown") or []
        if shown:
            sessions.setdefault((str(facts.get("session")), any(each.get("held") for each in shown)), []).append(one.success)
    groups = {held: [all(ended) for (_, is_held), ended in sessions.items() if is_held is held] for held in (False, True)}
    with_notes, without = groups[False], groups[True]
    found: dict[str, Any] = {"sessions with notes": len(with_notes), "sessions held out": len(without)}
    if not with_notes or not without:
        return {**found, "lift": "unknown: both kinds of sessions are needed (alma install HOST --holdout 0.1)"}
    lower, upper, rates = _difference(with_notes, without)
    return {
        **found,
        "repaired with notes": rates[0],
        "repaired without": rates[1],
        "lift": rates[0] - rates[1],
        "lower": lower,
        "upper": upper,
    }


def _difference(one: list[bool], other: list[bool]) -> tuple[float, float, tuple[float, float]]:
    (p, l1, u1), (q, l2, u2) = _wilson(one), _wilson(other)
    return p - q - sqrt((p - l1) ** 2 + (u2 - q) ** 2), p - q + sqrt((u1 - p) ** 2 + (q - l2) ** 2), (p, q)


def _wilson(ended: list[bool]) -> tuple[float, float, float]:
    number, rate = len(ended), sum(ended) / len(ended)
    middle = (rate + _Z**2 / (2 * number)) / (1 + _Z**2 / number)
    half = _Z / (1 + _Z**2 / number) * sqrt(rate * (1 - rate) / number + _Z**2 / (4 * number**2))
    return rate, middle - half, middle + half
