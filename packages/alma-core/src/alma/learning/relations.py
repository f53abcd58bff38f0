"""In which relation a text puts a thing to what is done: from or to a place, by or to an amount, before, during or after an event."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from alma.learning.reading import COMMA, Item
from alma.learning.stems import stem
from alma.learning.vocabulary import NEGATORS

MOST_COMPARED = 64
"""The number of numbers of a text that are looked at for having changed places."""

_NAMES = {
    "from": "from", "off": "from", "to": "to", "into": "to", "onto": "to", "toward": "to", "towards": "to", "by": "by",
    "before": "before", "after": "after", "once": "after", "during": "during", "while": "during", "until": "until", "till": "until",
    "within": "within", "inside": "within", "every": "every", "each": "every",
}  # fmt: skip
"""Words with the relation that they put the next thing in."""
_OUT_OF = ("out", "of")
_ADDED = frozenset(("within", "every"))
"""Relations that do not replace one named just before: "from within the cluster", "to every region"."""


def _pairs(*pairs: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair.split("/")) for pair in pairs)


_EXCLUDING = _pairs("from/to")
_EXCLUDING_OF_NUMBERS = _EXCLUDING | _pairs("by/to", "by/from", "after/within", "after/every", "within/every")
_EXCLUDING_TIMES = _pairs("before/after", "before/during", "during/after")
_ENDING = frozenset((COMMA, "and", "or", "then"))
_CONDITION, _CLOSING = "unless", frozenset((COMMA, "and", "then"))
_NAMING = frozenset("a an are be code equals http is return returned returns status was were".split())  # noqa: SIM905
"""Words behind which a number is a name: "is a 404"."""
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


def bindings(items: Iterable[Item], silent: frozenset[str]) -> Relations:
    """Each number with the stem of the telling word before it in its clause: `retries=3, timeout=10`, "train on 2023 and test on 2024"."""
    found, word = set[tuple[str, str]](), ""
    for text, is_number in items:
        if is_number and word:
            found.add((text, word))
        elif text in _ENDING:
            word = ""
        elif text not in silent and not is_number:
            word = stem(text)
    return frozenset(found)


def exceptions(items: Iterable[Item]) -> frozenset[str]:
    """The numbers with which a clause behind "unless" ends, as in "unless the error is a 404". None behind a denial: "never retry unless …"."""
    found, before, is_clause = set[str](), "", False
    for (text, is_number), (following, _) in pairwise((*items, (COMMA, False))):
        if text == _CONDITION:
            is_clause = True
        elif text in NEGATORS or text.endswith(("n't", "n’t")):
            break
        elif is_number and is_clause and before in _NAMING and following in _ENDING:
            found.add(text)
        elif text in _CLOSING:
            is_clause = False
        before = text
    return frozenset(found)


def crossed(mine: Relations, theirs: Relations) -> tuple[str, str] | None:
    """Two numbers that have changed places between two texts, by their `bindings`; `None` if there are none."""
    left, moved = sorted(mine - theirs)[:MOST_COMPARED], theirs - mine
    for place, (one, word) in enumerate(left):
        for other, second in left[place + 1 :]:
            if one != other and (one, second) in moved and (other, word) in moved:
                return one, other
    return None


def excluded(mine: Relations, theirs: Relations) -> tuple[str, str, str] | None:
    """A thing, its relation in one text, and that in the other, where the two exclude each other; `None` if there is no such thing."""
    return _excluded(mine, theirs, _EXCLUDING, _EXCLUDING_OF_NUMBERS)


def is_at_another_time(mine: Relations, theirs: Relations) -> bool:
    """Returns True if one text puts a thing before or after another, and the other text both at the same time, or the same thing at another time.

    Holds of texts in the same words alone: "before the download has finished" may be "while it is running".
    """
    times, others = ({relation for _, relation in some} & _TIMES for some in (mine, theirs))
    is_at_once = times != others and {_SAME_TIME} in (times, others) and bool(times and others)
    return is_at_once or _excluded(mine, theirs, _EXCLUDING_TIMES, _EXCLUDING_TIMES) is not None


def _excluded(
    mine: Relations, theirs: Relations, of_words: frozenset[frozenset[str]], of_numbers: frozenset[frozenset[str]]
) -> tuple[str, str, str] | None:
    named: dict[str, set[str]] = {}
    for thing, relation in theirs:
        named.setdefault(thing, set()).add(relation)
    for thing, one in sorted(mine - theirs):
        others = named.get(thing, set())
        excluding = of_numbers if thing[0].isdigit() else of_words
        other = next((other for other in sorted(others) if frozenset((one, other)) in excluding), None)
        if other and not any((thing, relation) in mine for relation in others):
            return thing, one, other
    return None
