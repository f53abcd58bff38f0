"""The limits of the figures: those of development worlds, and what is expected on worlds that were kept aside."""

import math
from collections.abc import Mapping
from dataclasses import replace

from benchmarks.gates import Gate
from benchmarks.played.figures import Tally

ABOVE_FLOOR = "prompt_first_bad_above_floor"
AT_LEAST = {
    "prompt_first_best": (0.77, 0.64),
    "prompt_first_best_of_answered": (0.83, 0.74),
    "counts_true": (0.68, 0.50),
    "check_warned": (0.80, 0.70),
    "assess_true": (0.70, None),
    "wakeup_true": (0.80, None),
    "one_kind_heuristic": (1.0, 1.0),
}
AT_MOST = {
    "prompt_first_none": (0.10, 0.13),
    ABOVE_FLOOR: (0.08, 0.14),
    "counts_more": (0.06, 0.07),
    "split_ways": (0.12, 0.21),
    "foreign_rows": (0.09, 0.10),
    "lumped_rules": (0.09, 0.15),
    "check_false": (0.03, 0.06),
    "surfaces_differ": (0.0, 0.0),
    "unrelated_filler_english": (0.05, None),
    "unrelated_filler_other": (0.30, None),
    "wakeup_silent": (0.05, None),
    "one_kind_mixed": (0.0, 0.0),
    "unread": (0.0, 0.0),
}
LANGUAGES = ("unrelated_filler_english", "unrelated_filler_other")
"""Figures that a file of worlds in one language cannot have. Any other figure with nothing to count misses its limit."""


def make_gates(tally: Tally, *, is_kept: bool = False, left_out: frozenset[str] = frozenset()) -> list[Gate]:
    """Returns the figures with their limits. Where nothing was counted, a memory has said nothing, and the limit is missed."""
    gates = [
        *_gates_of(tally, AT_LEAST, is_kept=is_kept, more_is_better=True),
        *_gates_of(tally, AT_MOST, is_kept=is_kept, more_is_better=False),
    ]
    return [each for each in gates if each.what not in left_out]


def above_floor(tally: Tally) -> float:
    """How much more often the first suggestion is truly bad than the best known way is."""
    return tally.share("prompt_first_bad") - tally.share("best_known_is_bad")


def _gates_of(
    tally: Tally, limits: Mapping[str, tuple[float, float | None]], *, is_kept: bool, more_is_better: bool
) -> list[Gate]:
    found = []
    for name, pair in limits.items():
        value = above_floor(tally) if name == ABOVE_FLOOR else tally.share(name)
        gate = Gate(name, value, "", pair[is_kept], more_is_better=more_is_better)
        is_missing = math.isnan(value) and name not in LANGUAGES
        found.append(replace(gate, value=0.0 if more_is_better else 1.0, unit="(nothing counted)") if is_missing else gate)
    return found
