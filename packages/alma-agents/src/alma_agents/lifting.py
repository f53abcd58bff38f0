"""Does the memory help here? Failures for which something was known: how many were repaired with it shown, and how many in held-out sessions."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any

from alma import ALMA, Outcome
from alma.errors import MemoryNotFoundError
from alma.text import shortened
from alma_agents.learning import CODING, coding_outcomes
from alma_agents.warning import WARNING, shown_commands

_Z = 1.959964
_MOST_RULES = 20


@dataclass(slots=True)
class _Ended:
    """Result of a session for which something was known. `probability` is that of the side on which the session was."""

    host: str
    is_held: bool
    probability: float
    rules: set[str]
    repaired: bool = True


def lift_of(alma: ALMA) -> dict[str, Any]:
    """Returns counts, rates, and their difference with its 95 % interval, of all, of each host and of each rule. The unit is a session.

    The interval is Newcombe's hybrid score interval. Where the share of held-out sessions has changed, sessions are weighted by their logged
    probabilities (Hájek), and the interval counts their effective number (Kish). A session counts by the side that it was assigned to.
    Intervals of twenty rules are twenty looks: one of them excludes 0 by chance.
    """
    sessions = list(_sessions(alma).values())
    hosts = sorted({each.host for each in sessions})
    counts: dict[str, int] = {}
    for each in sessions:
        for rule in each.rules:
            counts[rule] = counts.get(rule, 0) + 1
    rules = sorted(counts, key=lambda rule: (-counts[rule], rule))[:_MOST_RULES]
    return {
        **_lift(sessions),
        "hosts": {host: _lift(each for each in sessions if each.host == host) for host in hosts},
        "rules": {
            rule: {"what": _summary(alma, rule), **_lift(each for each in sessions if rule in each.rules)} for rule in rules
        },
    }


def _sessions(alma: ALMA) -> dict[tuple[str, str], _Ended]:
    found: dict[tuple[str, str], _Ended] = {}
    for one in coding_outcomes(alma, 10_000):
        facts = one.metadata[CODING]
        exposures = [each for each in facts.get("shown") or () if isinstance(each, dict)] if isinstance(facts, dict) else []
        if not exposures:
            continue
        is_held = any(each.get("held") for each in exposures)
        shown = _probability(exposures[0].get("probability"))
        session = found.setdefault(
            (one.agent, str(facts.get("session"))), _Ended(one.agent, is_held, 1.0 - shown if is_held else shown, set())
        )
        session.rules |= {str(each.get("fix")) for each in exposures}
        session.repaired = session.repaired and one.success
    return found


def _probability(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0.0 < value <= 1.0 else 1.0


def _lift(sessions: Iterable[_Ended]) -> dict[str, Any]:
    listed = list(sessions)
    with_notes, without = ([each for each in listed if each.is_held is held] for held in (False, True))
    found: dict[str, Any] = {"sessions with notes": len(with_notes), "sessions held out": len(without)}
    if not with_notes or not without:
        return {**found, "lift": "unknown: both kinds of sessions are needed (alma install HOST --holdout 0.1)"}
    (p, l1, u1), (q, l2, u2) = _wilson(with_notes), _wilson(without)
    lower, upper = p - q - sqrt((p - l1) ** 2 + (u2 - q) ** 2), p - q + sqrt((u1 - p) ** 2 + (q - l2) ** 2)
    return {**found, "repaired with notes": p, "repaired without": q, "lift": p - q, "lower": lower, "upper": upper}


def _wilson(sessions: list[_Ended]) -> tuple[float, float, float]:
    """Returns the weighted share of repaired sessions and the limits of Wilson's interval, at their effective number."""
    weights = [1.0 / max(each.probability, 1e-6) for each in sessions]
    number = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    rate = sum(weight for weight, each in zip(weights, sessions, strict=True) if each.repaired) / sum(weights)
    middle = (rate + _Z**2 / (2 * number)) / (1 + _Z**2 / number)
    half = _Z / (1 + _Z**2 / number) * sqrt(rate * (1 - rate) / number + _Z**2 / (4 * number**2))
    return rate, middle - half, middle + half


def _summary(alma: ALMA, rule: str) -> str:
    """Returns what a rule says, in short."""
    if rule == "briefing":
        return "rules at the start of the session"
    if rule.startswith(WARNING):
        command = shown_commands(alma).get(rule.removeprefix(WARNING))
        return f"warning of `{shortened(command, 100)}`" if command else "warning of a command that is gone"
    try:
        memory = alma.get(rule)
    except MemoryNotFoundError:
        return "a memory that is gone"
    return shortened(memory.strategy_used if isinstance(memory, Outcome) else memory.text, 100)
