"""Which strategies near a question are proven to do better or worse: whole votes of the side, looked at only where a proof is possible at all."""

from collections.abc import Collection
from typing import Any

import numpy as np

from alma.learning.consulting import Consulted
from alma.learning.ledger import Side
from alma.learning.proof import LEAST_TASKS, Proofs, Votes, counted, first_votes, proofs

LEAST_SURE = 0.98
"""A strategy about which the estimate is less sure than this cannot be proven: universal inference asks for more."""


def proven_rows(known: Consulted, *, among: Collection[str] | None = None) -> dict[int, dict[str, Any]]:
    """Returns what is proven of the rows of advice, of all or of strategies by their hashes, by row: the arguments of `levels.Row.of`."""
    if len(known.strategies) < 2:
        return {}  # a proof compares
    advice = known.advice
    is_clear = (np.abs(advice.better - 0.5) >= LEAST_SURE - 0.5) & (advice.whole_tasks >= LEAST_TASKS)
    rows = [row for row in np.flatnonzero(is_clear).tolist() if known.strategies[row] >= 0]
    if among is not None:
        wanted = {known.row_of(strategy_hash) for strategy_hash in among}
        rows = [row for row in rows if row in wanted]
    if not rows:
        return {}
    kind = known.question.task_type
    types = _types(known.side)
    if kind not in types:
        return {}
    found = _proofs(known.side, types)
    place = types[kind]
    return {
        row: {
            "better": bool(found.better[place, known.strategies[row]]),
            "worse": bool(found.worse[place, known.strategies[row]]),
            "proven_tasks": float(found.tasks[place, known.strategies[row]]),
        }
        for row in rows
    }


def _types(side: Side) -> dict[str | None, int]:
    return {kind: place for place, kind in enumerate(dict.fromkeys(kind for kind, _ in side.tasks.strata))}


def _proofs(side: Side, types: dict[str | None, int]) -> Proofs:
    """Returns what the first votes of a side prove, of types × strategies: evidence adds over the difficulties of a type.

    An agent's own word and foreign files have no vote.
    """
    task, strategy, _ = side.places.rows.T
    strata = side.tasks.strata
    hardness = {difficulty: place for place, difficulty in enumerate(dict.fromkeys(difficulty for _, difficulty in strata))}
    place_of = np.array([types[kind] * len(hardness) + hardness[difficulty] for kind, difficulty in strata], np.intp)
    first = first_votes(side.counts.rows[:, 5], task, strategy)
    stratum, strategies = place_of[side.tasks.stratum_codes[task]], len(side.strategies)
    votes = counted(first, stratum, strategy, strata=len(types) * len(hardness), strategies=strategies)
    shape = len(types), len(hardness), strategies
    return proofs(Votes(votes.successes.reshape(shape), votes.failures.reshape(shape)))
