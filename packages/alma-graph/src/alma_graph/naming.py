"""Names of entities and of relation types, as they are compared. An equal name of an equal type is one entity; no other likeness makes it one."""

import re
from functools import lru_cache
from unicodedata import normalize

from alma.errors import ValidationError
from alma.memory.arguments import checked_text
from alma.text import one_line, quoted

LONGEST_NAME = 300
LONGEST_VALUE = 1_000
"""Characters of a fact or a sentence, which is stored as an entity of type `value`."""
THING = "thing"
"""Type of an entity of which only the name is known. It is the typed entity of that name, where there is exactly one."""
USER = "user"
"""Type of the user whom a memory is recorded for, whose name is the `user_id`; nobody else of that name is the user."""
VALUE = "value"
"""Type of what is no entity of its own: a status, a port, a taste."""
EXACT = frozenset({"file", "url", "email", "handle", "reference", "version", "identifier"})
"""Types whose names differ by case."""

FUNCTIONAL = frozenset({"works_for", "lives_in", "reports_to", "married_to", "owned_by", "status", "port", "version"})
"""Relation types of which an entity has one target at a time: a newer target ends the former. Of all others any number hold side by side."""
_SAME = {"works_at": "works_for", "owner": "owned_by", "lives_at": "lives_in", "based_in": "located_in"}

LONGEST_TYPE = 200
_BREAK = r"\x00-\"$-*,-/:-@\[-`{-\x9f\s"
"""Spaces and punctuation of ASCII but for + and #, which tell C++ from C#."""
_TYPE = re.compile(rf"(?:[^{_BREAK}]|_){{1,{LONGEST_TYPE}}}")


def fold_name(name: str, entity_type: str) -> str:
    """Returns a name as it is compared: without regard to case, but for paths, handles and the like, and to dots or commas at its end."""
    text = " ".join(normalize("NFC", name).split())
    return text if entity_type in EXACT else text.casefold().rstrip(".,")


def entity_id(name: str, entity_type: str) -> str:
    """Returns the id of an entity, such as "person:alice"."""
    return f"{entity_type}:{fold_name(name, entity_type)}"


def checked_entity_name(value: object, name: str) -> str:
    """Returns the name of an entity on one line. `ValidationError` for anything but text of 1 to 300 characters."""
    return one_line(checked_text(value, name, limit=LONGEST_NAME)).strip()


@lru_cache(maxsize=4_096)
def is_type(value: str) -> bool:
    """Returns whether a text is a type as types are kept."""
    return _TYPE.fullmatch(value) is not None


def plain_type(value: object) -> str:
    """Returns a type as types are kept; `thing` for what is none."""
    try:
        return checked_type(value, "type")
    except ValidationError:
        return THING


def checked_type(value: object, name: str) -> str:
    """Returns a type in small letters with underscores: "Works at" is `works_at`, and that is `works_for`."""
    text = checked_text(value, name, limit=LONGEST_TYPE)
    plain = "_".join(part for part in re.split(rf"[{_BREAK}]+", normalize("NFC", text.casefold())) if part)
    if not (_TYPE.fullmatch(plain) and any(map(str.isalnum, plain))):
        raise ValidationError(f"{name} is {quoted(text)}; a type has letters or digits, such as works_for")
    return _SAME.get(plain, plain)
