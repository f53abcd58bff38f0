"""Settings for archiving: which memories of each kind, and how often in the background."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from alma.types.value import Value

DEFAULT_WINDOW = 10_000
LEAST_PERIOD = timedelta(minutes=1)

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = 10_000


class ForgettingRule(Value):
    """Conditions under which memories of a kind are archived. A condition that is `None` archives none.

    `max_age_days` counts from when a memory was last seen, as recency does. `min_usefulness` is a bound on the factor that usefulness
    gives, from 0.75 to 1.25, and applies only to memories with enough usage data. `max_count` is a quota for each owner; the least
    valuable memories above it are archived.
    """

    max_age_days: Annotated[float, Field(gt=0.0, le=365_000.0, allow_inf_nan=False)] | None = None
    min_confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = None
    min_usefulness: Annotated[float, Field(ge=0.75, le=1.25, allow_inf_nan=False)] | None = None
    max_count: Annotated[int, Field(ge=1, le=10**9)] | None = None


class OutcomeRule(ForgettingRule):
    """Adds a limit on the raw outcomes that each agent keeps: the oldest beyond the `window` are archived."""

    window: Annotated[int, Field(ge=1, le=10**9)] | None = DEFAULT_WINDOW


class ForgettingSettings(Value):
    """Rules by kind; `kinds` has those of kinds that the user registered. By default only the window of outcomes is active."""

    heuristic: ForgettingRule = ForgettingRule()
    outcome: OutcomeRule = OutcomeRule()
    anti_pattern: ForgettingRule = ForgettingRule()
    domain_knowledge: ForgettingRule = ForgettingRule()
    user_preference: ForgettingRule = ForgettingRule()
    kinds: dict[str, ForgettingRule] = Field(default_factory=dict)

    @field_validator("kinds")
    @classmethod
    def _of_users(cls, value: dict[str, ForgettingRule]) -> dict[str, ForgettingRule]:
        for kind in value:
            if kind in _BUILT_IN:
                raise ValueError(f"{kind} is a built-in kind; its rule stands beside `kinds`")
        return value

    def rule_of(self, kind: str) -> ForgettingRule:
        """Returns the rule for a kind; all its conditions may be `None`."""
        rule: ForgettingRule = getattr(self, kind) if kind in _BUILT_IN else self.kinds.get(kind, ForgettingRule())
        return rule


_BUILT_IN = frozenset(ForgettingSettings.model_fields) - {"kinds"}


def _period(value: Any) -> Any:
    """Parses a duration such as "30m", "12h", "1d" or "2w" into a timedelta."""
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"\s*([0-9]{1,5})\s*([mhdw])\s*", value) if isinstance(value, str) else None
    if found is None or int(found[1]) > _LONGEST:
        raise ValueError('must be a duration such as "30m", "12h", "1d" or "2w"')
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


class MaintenanceSettings(Value):
    """How often a background thread of the open store archives what is due. `None` disables it."""

    every: Annotated[timedelta, BeforeValidator(_period), Field(ge=LEAST_PERIOD)] | None = None
