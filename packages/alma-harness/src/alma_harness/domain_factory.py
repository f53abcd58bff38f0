"""`DomainMemoryFactory`: opens memories whose agents start with the rules of a domain."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from alma import ALMA, MemoryScope
from alma.errors import ValidationError
from alma.text import quoted
from alma_harness.domain_schema import DomainSchema
from alma_harness.domain_schemas import schema_named
from alma_integration import checked_name


class DomainMemoryFactory:
    """Makes schemas, and opens memories by them. The memories are stored as by `ALMA.open`."""

    def create_schema(self, name: str, definition: Mapping[str, Any]) -> DomainSchema:
        """Returns a schema of one's own from plain values: `learning_categories`, and optionally the other fields of `DomainSchema`.

        Relations and constraints that the definition leaves out are empty, also where `name` is that of a built-in schema.
        """
        if not isinstance(definition, Mapping):
            raise ValidationError(f"a definition is a mapping of the fields of a DomainSchema, not {quoted(definition)}")
        if not all(isinstance(key, str) for key in definition) or "name" in definition:
            raise ValidationError("the keys of a definition are fields of a DomainSchema other than its name")
        return DomainSchema(name=name, **definition)

    def create_alma(
        self,
        schema: DomainSchema | str,
        project_id: str,
        *,
        agents: Iterable[str] | Mapping[str, Mapping[str, Any]] = ("agent",),
        storage_dir: str | Path = ".alma",
        **options: Any,
    ) -> ALMA:
        """Opens the memory of a project whose agents start with the rules of the domain, and registers its kinds of things.

        `agents` are names, or names with rules of `MemoryScope` that take precedence. `options` are those of `ALMA.open`.
        """
        found = schema_named(schema)
        return self._opened(found, project_id, _scopes(found, agents), storage_dir, options)

    def create_alma_for_agent(
        self,
        schema: DomainSchema | str,
        project_id: str,
        agent: str,
        *,
        storage_dir: str | Path = ".alma",
        share_with: Iterable[str] | None = None,
        inherit_from: Iterable[str] = (),
        **options: Any,
    ) -> ALMA:
        """Opens the memory of a project for one agent of the domain, with the agents that it shares with and inherits from."""
        found = schema_named(schema)
        shared = None if share_with is None else tuple(share_with)
        rules = found.to_scope(share_with=shared, inherit_from=tuple(inherit_from))
        return self._opened(found, project_id, {checked_name(agent, "agent"): rules}, storage_dir, options)

    def _opened(
        self,
        schema: DomainSchema,
        project_id: str,
        agents: Mapping[str, MemoryScope],
        storage_dir: str | Path,
        options: Mapping[str, Any],
    ) -> ALMA:
        kinds = [entity.memory_type() for entity in schema.entity_types]
        alma = ALMA.open(storage_dir, project_id=project_id, agents=agents, **options)
        try:
            for kind in kinds:
                alma.register_memory_type(kind)
        except BaseException:
            alma.close()
            raise
        return alma


def _scopes(schema: DomainSchema, agents: Iterable[str] | Mapping[str, Mapping[str, Any]]) -> dict[str, MemoryScope]:
    given = agents if isinstance(agents, Mapping) else {name: {} for name in ([agents] if isinstance(agents, str) else agents)}
    return {checked_name(name, "agent"): schema.to_scope(**rules) for name, rules in given.items()}
