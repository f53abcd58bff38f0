"""What `learn` is asked to record."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from alma.errors import ValidationError
from alma.text import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnRequest:
    """The arguments of `learn` as a caller gave them. They are checked where the outcome is made."""

    agent: object
    task: object
    outcome: object
    strategy_used: object = None
    user_id: object = None
    task_type: object = None
    task_id: object = None
    difficulty: object = None
    verdict_source: object = None
    duration_ms: object = None
    error_message: object = None
    feedback: object = None
    metadata: Mapping[str, Any] | None = None
    timestamp: object = None
    idempotency_key: object = None

    @classmethod
    def of(cls, item: object) -> Self:
        """Returns the request of one item of `learn_many`. `ValidationError` if it is no mapping, lacks a task or an outcome, or has other names."""
        if not isinstance(item, Mapping):
            raise ValidationError(f"a mapping of the arguments of learn() is needed, not {quoted(item)}")
        for name in ("task", "outcome"):
            if name not in item:
                raise ValidationError(f"there is no argument {name!r}")
        for name in item:
            if name not in LEARN_ARGUMENTS:
                raise ValidationError(f"{quoted(name)} is no argument of learn()")
        return cls(**{"agent": None, **item})


LEARN_ARGUMENTS = tuple(field.name for field in fields(LearnRequest))
