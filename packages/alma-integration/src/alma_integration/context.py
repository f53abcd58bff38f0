"""The origin of a run, and the user and tenant that it is for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from alma.errors import ConfigurationError, ValidationError
from alma.memory.arguments import optional_name


@dataclass(frozen=True, slots=True)
class RunContext:
    """Facts that the framework knows about a run: its `context` object, its `configurable` values and its `metadata`.

    LangGraph fills all three. Other frameworks fill those they have: LlamaIndex its workflow's context, CrewAI the crew's inputs.
    """

    context: Any = None
    configurable: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pinned: Mapping[str, str | None] = field(default_factory=dict)
    """Names that `Integration.pinned` has looked up; they take precedence over the options."""

    def find(self, name: str) -> Any:
        """Returns the value of this name from `context`, else `configurable`, else `metadata`. `None` if none has it."""
        for place in (self.context, self.configurable, self.metadata):
            found = place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
            if found is not None:
                return found
        return None


Identity: TypeAlias = str | int | UUID | Callable[[RunContext], str | int | UUID | None] | None
"""A name or a value that holds one (a whole number, a UUID, a member of an enum), a function of the run that returns one, or `None` to take
the run's own value of that name."""


def identified(given: Identity, name: str, context: RunContext) -> str | None:
    """Returns the name that an option gives for this run, checked. `ValidationError` for an invalid one."""
    if name in context.pinned:
        return context.pinned[name]
    found: Any = given(context) if callable(given) else given if given is not None else context.find(name)
    return optional_name(found, name)


def check_identity(value: object, name: str, *, is_optional: bool = True) -> None:
    """Raises unless the value is a name, a function or, if that `is_optional`, `None`."""
    if value is None and not is_optional:
        raise ConfigurationError(f"{name} must be a name or a function, not None")
    if not callable(value):
        optional_name(value, name)


def required(name: str | None, option: str) -> str:
    """Returns the name. `ValidationError` if a function of the run returned none."""
    if name is None:
        raise ValidationError(f"{option} gave no name for this run")
    return name
