"""Values of a domain: what its work is about, what agents learn in it, and what they leave to others."""

import re
from typing import Any, Self

from pydantic import Field, field_validator, model_validator
from pydantic import ValidationError as PydanticError

from alma import CustomMemoryType, MemoryScope
from alma.errors import ValidationError
from alma.text import normalised, quoted
from alma_harness.values import Value

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{quoted(name)} is no name: a lower-case letter, then letters, digits and _, at most 64")
    return name


class EntityType(Value):
    """A kind of thing that work in a domain is about, such as a lead with its stage and value."""

    name: str
    description: str = ""
    attributes: tuple[str, ...] = ()

    _named = field_validator("name")(staticmethod(_checked_name))

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        self.memory_type()
        return self

    def memory_type(self) -> CustomMemoryType:
        """Returns the kind of memory for such things: a required `name`, and each attribute as an optional text."""
        fields: dict[str, Any] = {**dict.fromkeys(self.attributes, str | None), "name": str}
        return CustomMemoryType(self.name, fields, list(fields))


class RelationshipType(Value):
    """A kind of relation between two kinds of things. An empty end is any kind."""

    name: str
    description: str = ""
    source: str = ""
    target: str = ""

    _named = field_validator("name")(staticmethod(_checked_name))


class DomainSchema(Value):
    """A domain: its entities and relations, the categories that agents learn in it, and those that they must not learn.

    The learning categories are also the classes of tasks: without a `task_type`, a task belongs to the nearest one, and a task
    nearest to an excluded category is refused.
    """

    name: str
    description: str = ""
    entity_types: tuple[EntityType, ...] = ()
    relationship_types: tuple[RelationshipType, ...] = ()
    learning_categories: tuple[str, ...] = Field(min_length=1)
    excluded_categories: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    min_occurrences_for_heuristic: int = Field(default=3, ge=1)

    _named = field_validator("name")(staticmethod(_checked_name))

    @field_validator("excluded_categories")
    @classmethod
    def _are_not_learned(cls, excluded: tuple[str, ...], info: Any) -> tuple[str, ...]:
        learned = set(map(normalised, info.data.get("learning_categories", ())))
        twice = next((category for category in excluded if normalised(category) in learned), None)
        if twice is not None:
            raise ValueError(f"{quoted(twice)} is both learned and excluded")
        return excluded

    def to_scope(self, **rules: Any) -> MemoryScope:
        """Returns the starting rules of an agent of this domain. `rules` are further fields of `MemoryScope`, which take precedence."""
        own = {
            "domain": self.name,
            "can_learn": self.learning_categories,
            "cannot_learn": self.excluded_categories,
            "min_occurrences_for_heuristic": self.min_occurrences_for_heuristic,
        }
        try:
            return MemoryScope(**{**own, **rules})
        except PydanticError as error:
            first = error.errors(include_url=False)[0]
            raise ValidationError(f"rules of an agent: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error

    def get_entity_type(self, name: str) -> EntityType | None:
        """Returns the kind of things of this name, `None` if there is none."""
        return next((each for each in self.entity_types if each.name == name), None)
