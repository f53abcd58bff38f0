"""In which relation a text puts a thing to what is done: from or to a place, by or to an amount, before, during or after an event."""

from collections.abc import Iterable, Iterator

from alma.learning.reading import COMMA, Item
from alma.learning.stems import stem

_NAMES = {
    "from": "from", "off": "from", "to": "to", "into": "to", "onto": "to", "toward": "to", "towards": "to", "by": "by",
    "before": "before", "after": "after", "once": "after", "during": "during", "while": "during", "until": "until", "till": "until",
    "within": "within", "inside": "within", "every": "every", "each": "every",
}  # fmt: skip
"""Words with the relation that they put the next thing in."""
_OUT_OF = ("out", "of")
_ADDED = frozenset(("within", "every"))
"""Relations that do not replace one named just before: "from within the cluster", "to every region"."""
_EXCLUDING = frozenset(
    frozenset(pair.split("/")) for pair in ("from/to", "by/to", "before/after", "before/during", "during/after", "after/until")
)
_EXCLUDING_OF_NUMBERS = _EXCLUDING | frozenset(
    frozenset(pair.split("/")) for pair in ("by/from", "after/within", "after/every", "within/every")
)
_ENDING = frozenset((COMMA, "and", "or", "then"))
_SAME_TIME = "during"
_TIMES = frozenset(("before", "after", _SAME_TIME))

Relations = frozenset[tuple[str, str]]
"""Things, as the stem of their first telling word or as a number, each with its relation."""


def relations(items: Iterable[Item], silent: frozenset[str]) -> Relations:
    """The relations that a text names. `silent` are the words that are no things."""
    return frozenset(_found(items, silent))


def _found(items: Iterable[Item], silent: frozenset[str]) -> Iterator[tuple[str, str]]:
    relation, before, is_named = "", "", False
    for text, is_number in items:
        is_out_of, before = (before, text) == _OUT_OF, text
        if is_out_of:
            relation, is_named = "from", False
        elif text in _NAMES:
            relation = relation if relation and not is_named and _NAMES[text] in _ADDED else _NAMES[text]
            is_named = False
        elif not relation or text in _ENDING:
            relation = ""
        elif is_number:
            yield text, relation
            relation = ""
        elif text not in silent:
            if not is_named:
                yield stem(text), relation
            relation, is_named = ("" if is_named else relation), True  # "to roughly 10"


def excluded(mine: Relations, theirs: Relations) -> tuple[str, str, str] | None:
    """A thing, its relation in one text, and that in the other, where the two exclude each other; `None` if there is no such thing."""
    for thing, one in sorted(mine - theirs):
        others = {relation for other, relation in theirs if other == thing}
        excluding = _EXCLUDING_OF_NUMBERS if thing[0].isdigit() else _EXCLUDING
        other = next((other for other in sorted(others) if frozenset((one, other)) in excluding), None)
        if other and not any((thing, relation) in mine for relation in others):
            return thing, one, other
    return None


def is_at_another_time(mine: Relations, theirs: Relations) -> bool:
    """Returns True if one text puts a thing before or after another, and the other only both at the same time."""
    times, others = ({relation for _, relation in some} & _TIMES for some in (mine, theirs))
    return times != others and {_SAME_TIME} in (times, others) and bool(times and others)
