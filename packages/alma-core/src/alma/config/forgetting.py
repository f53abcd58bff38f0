"""The settings of forgetting: which memories of which kind are archived, and whether that is done by itself."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from alma.types.kinds import MemoryType

DEFAULT_WINDOW = 10_000
LEAST_PERIOD = timedelta(minutes=1)

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = 10_000


class _Block(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ForgettingRule(_Block):
    """When memories of a kind are archived; what is `None` archives none.

    `max_age_days` counts from when a memory was last seen, as recency does. `min_usefulness` is a bound on the factor that usefulness gives, from
    0.75 to 1.25, and holds only for memories of which enough is known. Of `max_count`, a quota for each owner, the least valuable go.
    """

    max_age_days: Annotated[float, Field(gt=0.0, le=365_000.0, allow_inf_nan=False)] | None = None
    min_confidence: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = None
    min_usefulness: Annotated[float, Field(ge=0.75, le=1.25, allow_inf_nan=False)] | None = None
    max_count: Annotated[int, Field(ge=1, le=10**9)] | None = None


class OutcomeRule(ForgettingRule):
    """As the rules of other kinds, and how many raw outcomes each agent keeps: beyond the `window` the oldest go."""

    window: Annotated[int, Field(ge=1, le=10**9)] | None = DEFAULT_WINDOW


class ForgettingSettings(_Block):
    """The rules by kind; `kinds` has those of kinds that the user registered. By default only the window of outcomes is on."""

    heuristic: ForgettingRule = ForgettingRule()
    outcome: OutcomeRule = OutcomeRule()
    anti_pattern: ForgettingRule = ForgettingRule()
    domain_knowledge: ForgettingRule = ForgettingRule()
    user_preference: ForgettingRule = ForgettingRule()
    kinds: dict[str, ForgettingRule] = {}

    @field_validator("kinds")
    @classmethod
    def _of_users(cls, value: dict[str, ForgettingRule]) -> dict[str, ForgettingRule]:
        for kind in value:
            if kind in set(MemoryType):
                raise ValueError(f"{kind} is a built-in kind; its rule stands beside `kinds`")
        return value

    def rule_of(self, kind: str) -> ForgettingRule:
        """The rule for a kind, which may have nothing on."""
        rule: ForgettingRule = getattr(self, kind) if kind in set(MemoryType) else self.kinds.get(kind, ForgettingRule())
        return rule


def _period(value: Any) -> Any:
    """A duration such as "30m", "12h", "1d" or "2w" as a timedelta."""
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"\s*([0-9]{1,5})\s*([mhdw])\s*", value) if isinstance(value, str) else None
    if found is None or int(found[1]) > _LONGEST:
        raise ValueError('must be a duration such as "30m", "12h", "1d" or "2w"')
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


class MaintenanceSettings(_Block):
    """How often what is due is forgotten in the background, by a thread of the open store; `None`: never by itself."""

    every: Annotated[timedelta, BeforeValidator(_period), Field(ge=LEAST_PERIOD)] | None = None
