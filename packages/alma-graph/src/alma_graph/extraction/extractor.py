"""`EntityExtractor`: entities and relations of a text, by rules or by a language model."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from alma.errors import ConfigurationError
from alma.memory.arguments import checked_text
from alma.text import quoted
from alma_graph.extraction.patterns import CLOSE, OPEN, STATES_NOTHING, Found, find_relations
from alma_graph.extraction.terms import Term, find_terms
from alma_graph.naming import THING, USER, entity_id, fold_name
from alma_graph.types import Entity, Relationship
from alma_knowledge.extraction.rules import read_messages

RULES = "rules"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

Extracted = tuple[list[Entity], list[Relationship]]


@dataclass(frozen=True, slots=True)
class ExtractionConfig:
    """Settings for finding entities: by rules, without a model, unless a `provider` or an `llm` of yours is given. The arguments are those of
    `alma_knowledge.llm.endpoints.create_llm` and `as_llm`. A provider asks for its key; none is asked because its key is at hand."""

    provider: str = RULES
    model: str | None = None
    temperature: float = 0.0
    api_key: str | None = None
    base_url: str | None = None
    llm: object = None


class EntityExtractor:
    """Finds entities and relations in a text. Without a configuration it needs neither a model nor a network. Thread-safe."""

    def __init__(self, config: ExtractionConfig | None = None) -> None:
        self._config = ExtractionConfig() if config is None else config
        if not isinstance(self._config, ExtractionConfig):
            raise ConfigurationError(f"config must be an ExtractionConfig, not {quoted(config)}")
        self._model: Any = None
        if self._config.llm is not None or self._config.provider != RULES:
            from alma_graph.extraction.model import open_model

            self._model = open_model(self._config)

    def extract(
        self,
        text: str,
        existing_entities: Iterable[Entity] | None = None,
        *,
        speaker: str | None = USER,
        at: datetime | None = None,
    ) -> Extracted:
        """Returns the entities and the relationships of a text, each once.

        `existing_entities` are found wherever they are named. `speaker` is who says "I"; `None` leaves such sentences out. `properties` of an
        entity have the `start` and `end` of its first place in the text, those of a relationship the `sentence`. `at` is when the text was written,
        from which relationships hold that name no year.
        """
        checked, known = checked_text(text, "text"), KnownNames.of(existing_entities or ())
        if self._model is not None:
            from alma_graph.extraction.model import extract_by_model

            answer = extract_by_model(self._model, checked)
            if answer is not None:
                return answer
        return extract_by_rules(checked, known, speaker=speaker, at=at)

    def extract_from_conversation(self, messages: Iterable[Any], existing_entities: Iterable[Entity] | None = None) -> Extracted:
        """Returns the entities and the relationships of messages, each a mapping with `role` and `content`, and a `name` for a speaker who has
        one. What an assistant says of itself is left out."""
        known, parts = list(existing_entities or ()), list[Extracted]()
        for one in read_messages(messages):
            is_person = one.is_own and not one.is_users
            parts.append(self.extract(one.text, known, speaker=one.speaker if is_person else USER if one.is_users else None))
            known += [each for each in parts[-1][0] if each.id not in {other.id for other in known}]
        entities = {each.id: each for found, _ in reversed(parts) for each in found}
        relationships = {each.id: each for _, found in reversed(parts) for each in found}
        return list(reversed(entities.values())), list(reversed(relationships.values()))


class KnownNames:
    """Name and type of known entities by their folded names. `words` is the length of the longest, in words."""

    def __init__(self, find: Callable[[str], tuple[str, str] | None], words: int) -> None:
        self.find, self.words = find, words

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> "KnownNames":
        """Returns the names of entities."""
        named = {fold_name(one.name, THING): (one.name, one.entity_type) for one in entities}
        return cls(named.get, max((name.count(" ") + 1 for name in named), default=0))


def extract_by_rules(text: str, known: KnownNames, *, speaker: str | None, at: datetime | None = None) -> Extracted:
    """Returns the entities and the relationships that a text states outright."""
    text = text.replace(OPEN, " ").replace(CLOSE, " ")
    terms = find_terms(text, known.find, known.words)
    found = list[tuple[Found, str]]()
    for marked, sentence in _sentences(text, terms):
        if not STATES_NOTHING.search(sentence):
            found += [(one, sentence) for one in find_relations(marked, terms, speaker)]
    types = _types(terms, found)
    entities, relationships = dict[str, Entity](), dict[str, Relationship]()
    linked = {one for each, _ in found for one in (each.source, each.target) if isinstance(one, Term)}
    for term in terms:
        if term.is_sure or term in linked:
            _add(entities, term.name, types.get(fold_name(term.name, THING), term.type), {"start": term.start, "end": term.end})
    for each, sentence in found:
        ends = [_end(one, types) for one in (each.source, each.target)]
        ids = [_add(entities, name, entity_type, {}).id for name, entity_type in ends]
        if ids[0] != ids[1]:
            key = blake2b("\0".join((ids[0], each.type, ids[1])).encode(), digest_size=10).hexdigest()
            made = Relationship(key, ids[0], ids[1], each.type, {"sentence": sentence, "how": RULES}, valid_from=each.since or at)
            relationships.setdefault(key, made)
    return list(entities.values()), list(relationships.values())


def _sentences(text: str, terms: Sequence[Term]) -> list[tuple[str, str]]:
    """Returns the sentences of a text, with its terms as marks, and as they are."""
    marked, after = list[str](), 0
    for number, term in enumerate(terms):
        if term.start >= after:
            marked += [text[after : term.start], f"{OPEN}{number}{CLOSE}"]
            after = term.end
    whole = "".join([*marked, text[after:]]).replace("`", "")
    pieces = [piece.strip() for piece in _SENTENCE_END.split(whole) if piece.strip()]
    return [(piece, _as_written(piece, text, terms)) for piece in pieces]


def _as_written(piece: str, text: str, terms: Sequence[Term]) -> str:
    """Returns a sentence with its terms in place of their marks."""
    return re.sub(rf"{OPEN}(\d+){CLOSE}", lambda one: text[terms[int(one[1])].start : terms[int(one[1])].end], piece)


def _types(terms: Sequence[Term], found: Sequence[tuple[Found, str]]) -> dict[str, str]:
    """Returns the type of each name of the type `thing`, from the relations that it stands in, by its folded name."""
    types: dict[str, str] = {}
    for each, _ in found:
        for one, kind in ((each.source, each.source_type), (each.target, each.target_type)):
            if isinstance(one, Term) and one.type == THING and kind not in (THING, "value"):
                types.setdefault(fold_name(one.name, THING), kind)
    for term in terms:
        if term.type != THING and fold_name(term.name, THING) not in types:
            types[fold_name(term.name, THING)] = term.type
    return types


def _end(one: Term | tuple[str, str], types: Mapping[str, str]) -> tuple[str, str]:
    if isinstance(one, Term):
        return one.name, types.get(fold_name(one.name, THING), one.type)
    return one


def _add(entities: dict[str, Entity], name: str, entity_type: str, properties: dict[str, Any]) -> Entity:
    key = entity_id(name, entity_type)
    if key not in entities:
        entities[key] = Entity(key, name, entity_type, properties)
    elif properties and not entities[key].properties:
        entities[key] = replace(entities[key], properties=properties)
    return entities[key]
