"""Stated memories as they are compared: which may be merged at all, and field by field whether two say the same."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alma.text import spelt
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, CustomMemory
from alma.types.provenance import FLAGGED
from alma_knowledge.consolidation.sameness import Verdict, compare
from alma_knowledge.lesson_ids import is_lesson_id
from alma_learning import normalise
from alma_learning.wording import read_wording

_TEXTS: Mapping[str, tuple[str, ...]] = {
    MemoryType.USER_PREFERENCE: ("preference",),
    MemoryType.DOMAIN_KNOWLEDGE: ("fact",),
    MemoryType.ANTI_PATTERN: ("pattern", "why_bad", "better_alternative"),
    MemoryType.HEURISTIC: ("condition", "strategy"),
}
_LABELS: Mapping[str, str] = {MemoryType.USER_PREFERENCE: "category", MemoryType.DOMAIN_KNOWLEDGE: "domain"}


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated memory: its texts, and the labels that have to be equal.

    `key` is equal for memories that may say the same: labels, and the telling words and numbers of each text in any order.
    """

    memory: AnyMemory
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    key: tuple[object, ...]

    @property
    def shown(self) -> str:
        """The memory in one text, as a language model reads it."""
        return "\n".join(text for text in (*self.labels, *self.texts) if text)


def _key_of(text: str) -> object:
    read = read_wording(text)
    return (*sorted(read.telling), *sorted(read.numbers)) or normalise(text)


def text_fields(memory: AnyMemory) -> tuple[str, ...]:
    """Returns the names of the texts of a memory of a built-in kind, as `Stated` has them; none for another kind."""
    return _TEXTS.get(memory.kind, ())


def read_stated(memory: AnyMemory) -> Stated | None:
    """Returns a memory as it is compared; `None` for one that is never merged: an outcome, a conversation, suspicious, learned from outcomes, or a
    lesson, which goes with the outcomes that it was made of."""
    if not isinstance(memory, CustomMemory) and memory.kind not in _TEXTS:
        return None
    if memory.metadata.get(FLAGGED) or memory.metadata.get("learned") or is_lesson_id(memory.id):
        return None
    fields: Mapping[str, Any] = memory.fields if isinstance(memory, CustomMemory) else {}
    if isinstance(memory, CustomMemory):
        named = [name for name in sorted(fields) if _is_text(memory, name)]
        texts, plain = tuple(str(fields[name] or "") for name in named), memory.definition.plain(fields)
        labels = tuple(f"{name}: {json.dumps(plain.get(name), default=str)}" for name in sorted(fields.keys() - {*named}))
    else:
        texts = tuple(str(getattr(memory, name) or "") for name in _TEXTS[memory.kind])
        labels = (spelt(getattr(memory, _LABELS[memory.kind])),) if memory.kind in _LABELS else ()
    return Stated(memory, texts, labels, (labels, *map(_key_of, texts)))


def _is_text(memory: CustomMemory, name: str) -> bool:
    """Returns True for a text, and for a text that was left out. A number that was left out says something: no limit is not any limit."""
    value = memory.fields[name]
    return isinstance(value, str) or (value is None and memory.definition.fields.get(name) == str | None)


def compare_stated(one: Stated, other: Stated) -> Verdict:
    """Returns how two memories of one kind and owner stand to each other: the same only if each text is, and each label equal."""
    if one.labels != other.labels:
        return Verdict.LABEL
    is_wish = one.memory.kind == MemoryType.USER_PREFERENCE
    labels = (one.labels[0], other.labels[0]) if one.memory.kind in _LABELS else ("", "")
    for mine, theirs in zip(one.texts, other.texts, strict=True):
        if bool(mine) != bool(theirs):
            return Verdict.REFINEMENT
        verdict = compare(mine, theirs, labels=labels, is_wish=is_wish) if mine else Verdict.SAME
        if verdict is not Verdict.SAME:
            return verdict
    return Verdict.SAME
