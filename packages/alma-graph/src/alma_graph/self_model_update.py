"""An update of a self-model as callers give it: nodes, edges and sentences, and which entities they mean."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alma.errors import ValidationError
from alma.memory.arguments import checked_text
from alma.text import one_line, quoted
from alma_graph.extraction.extractor import EntityExtractor
from alma_graph.naming import THING, USER, VALUE, checked_entity_name, checked_type, entity_id
from alma_graph.records import Owner

LONGEST_FACT, LONGEST_SENTENCE = 500, 900  # a graph database takes ids of 1,000 characters
PREFERS, NOTED = "prefers", "noted"

End = tuple[str, str]
"""Name and type of an entity."""

_SELF_NAMES = frozenset({"user", "me", "myself", "i"})
_KEYS = {
    "nodes": "nodes", "entities": "nodes", "edges": "links", "links": "links", "relations": "links", "relationships": "links",
    "remove": "remove", "sentences": "sentences", "text": "sentences",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Update:
    """Nodes with their facts, links between ends as they are written, names to remove, and sentences."""

    nodes: Sequence[tuple[End, Mapping[str, str]]] = ()
    links: Sequence[tuple[str, str, str]] = ()
    remove: Sequence[str] = ()
    sentences: Sequence[str] = ()


def read_update(given: object) -> Update:
    """Returns an update as it is meant. `ValidationError` for anything but sentences, and mappings of nodes and edges."""
    parts: dict[str, list[Any]] = {"nodes": [], "links": [], "remove": [], "sentences": []}
    for name, value in _parts_of(given):
        parts[name] += _listed(value)
    for one in [*parts["nodes"], *parts["links"]]:
        if not isinstance(one, Mapping):
            raise ValidationError(f"a node or an edge is a mapping, not {quoted(one)}")
    return Update(
        nodes=[_read_node(one) for one in parts["nodes"]],
        links=[_read_link(one) for one in parts["links"]],
        remove=[checked_text(one, "remove", limit=600) for one in parts["remove"]],
        sentences=[checked_text(one, "sentences", limit=LONGEST_SENTENCE) for one in parts["sentences"]],
    )


def _listed(value: object) -> list[Any]:
    if isinstance(value, str | Mapping):
        return [value]
    if isinstance(value, Iterable):
        return list(value)
    raise ValidationError(f"nodes, edges, remove and sentences are lists, not {quoted(value)}")


def _parts_of(given: object) -> Iterator[tuple[str, Any]]:
    if isinstance(given, str):
        yield "sentences", given
    elif isinstance(given, Mapping) and not _KEYS.keys() & given.keys():
        yield ("links" if _first(given, "target", "to") is not None else "nodes"), given
    elif isinstance(given, Mapping):
        if unknown := [name for name in given if name not in _KEYS]:
            raise ValidationError(f"new_data has nodes, edges, remove and sentences, not {quoted(unknown[0])}")
        yield from ((_KEYS[name], value) for name, value in given.items() if value is not None)
    elif isinstance(given, list | tuple) and all(isinstance(one, str | Mapping) for one in given):
        for one in given:
            yield from _parts_of(one)
    else:
        raise ValidationError(f"new_data must be sentences, or mappings of nodes and edges, not {quoted(given)}")


def _first(given: Mapping[str, Any], *names: str) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _read_node(given: Mapping[str, Any]) -> tuple[End, Mapping[str, str]]:
    name = checked_entity_name(_first(given, "name", "id", "label"), "name")
    kind = _first(given, "type", "entity_type")
    facts = _first(given, "facts", "properties", "attributes") or {}
    if not isinstance(facts, Mapping):
        raise ValidationError(f"facts must be a mapping, not {quoted(facts)}")
    end = name, THING if kind is None else checked_type(kind, "type")
    return end, {
        checked_type(key, "facts"): checked_text(str(value), "facts", limit=LONGEST_FACT) for key, value in facts.items()
    }


def _read_link(given: Mapping[str, Any]) -> tuple[str, str, str]:
    ends = [checked_text(_first(given, *names), names[0], limit=600) for names in (("source", "from"), ("target", "to"))]
    return ends[0], checked_type(_first(given, "relation", "type", "relation_type", "edge"), "relation"), ends[1]


def own_end(end: End, owner: Owner) -> End:
    """Returns the user's own entity for a node that is the user."""
    is_self = end[1] == USER and (end[0].casefold() in _SELF_NAMES or end[0] == owner[1])
    return (owner[1] or USER, USER) if is_self else end


def known_end(name: str, known: Mapping[str, End], owner: Owner) -> End:
    """Returns the node that `Type:name` means. `ValidationError` if there is none."""
    kind, colon, rest = name.partition(":")
    end = own_end((rest.strip(), checked_type(kind, "type")), owner) if colon and rest.strip() else None
    found = None if end is None else known.get(entity_id(*end))
    if found is None:
        raise ValidationError(f"the self-model has no node {name[:200]!r}; nodes are named as Type:name, such as Project:shop")
    return found


def find_end(name: str, known: Mapping[str, End], owner: Owner) -> End:
    """Returns the node that an edge names: `Type:name` must be known, a bare name may be new."""
    kind, colon, rest = name.partition(":")
    if colon and rest.strip() and " " not in kind and "/" not in kind:
        if kind.casefold() == USER:
            own = own_end((rest.strip(), USER), owner)
            return known.get(entity_id(*own), own) if own == (owner[1], USER) else known_end(name, known, owner)
        return known_end(name, known, owner)
    if name.casefold() in _SELF_NAMES:
        return owner[1] or USER, USER
    named = [end for end in known.values() if entity_id(end[0], THING) == entity_id(name, THING)]
    return named[0] if len(named) == 1 else (checked_entity_name(name, "an end"), THING)


def is_preference(source: End, relation: str, owner: Owner) -> bool:
    """Returns whether an edge says what the user prefers, which is kept as a preference."""
    return relation == PREFERS and owner[1] is not None and source == (owner[1], USER)


def said_in(sentence: str, owner: Owner) -> Iterator[tuple[End, str, End]]:
    """Yields the edges that a sentence states; where it states none, that it was noted."""
    entities, relationships = EntityExtractor().extract(sentence)
    named = {one.id: own_end((one.name, one.entity_type), owner) for one in entities}
    for one in relationships:
        yield named[one.source_id], checked_type(one.relation_type, "relation"), named[one.target_id]
    if not relationships:
        yield (owner[1] or USER, USER), NOTED, (one_line(sentence).strip(), VALUE)


# what a caller gets
