"""The block `graph:` of a configuration, and the extractor that it names."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from alma.config.loading import settings_block
from alma.errors import ConfigurationError
from alma.text import quoted
from alma_graph.naming import checked_type
from alma_graph.types import Entity, Relationship

GROUP = "alma.entity_extractors"
RULES, MODEL = "rules", "model"


class GraphSettings(BaseModel):
    """Settings of a graph: whether memories are read for entities, by which extractor, and further types of relations with one target at a time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    extractor: str = RULES
    functional: tuple[str, ...] = ()


class ExtractsEntities(Protocol):
    """An extractor of a package, by an entry point of the group `alma.entity_extractors`: a function without arguments that returns it."""

    def extract(
        self, text: str, existing_entities: Sequence[Entity] | None = None, /
    ) -> tuple[Sequence[Entity], Sequence[Relationship]]:
        """Returns the entities and the relationships of a text. Ends are named by the ids of its entities."""


def check_graph(given: object, prefix: str = "") -> GraphSettings:
    """Returns the settings of a graph. `ConfigurationError` names the key that is wrong."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{prefix}graph: must hold `key: value` lines, as `enabled: true`")
    settings = settings_block(GraphSettings, given, f"{prefix}graph")
    for one in settings.functional:
        checked_type(one, f"{prefix}graph.functional")
    return settings


def settings_of(block: Mapping[str, Any] | None) -> GraphSettings:
    """Returns the settings of a block that was checked when it was loaded."""
    return GraphSettings(**(block or {}))


@lru_cache(maxsize=16)
def load_extractor(name: str) -> ExtractsEntities:
    """Returns the extractor that a package provides under a name. `ConfigurationError` lists the known ones."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        known = ", ".join((RULES, MODEL, *sorted(points)))
        raise ConfigurationError(f"graph.extractor: no package provides {quoted(name)}; known are {known}")
    try:
        made: ExtractsEntities = points[name].load()()
    except ImportError as error:
        raise ConfigurationError(f"graph.extractor: {quoted(name)} could not be loaded: {error}") from error
    return made
