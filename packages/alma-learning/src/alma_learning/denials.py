"""What a text denies, and whether another says the contrary.

"Never force-push" speaks against "force-push"; "no timeout" does not speak against "without a timeout".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alma_learning.stems import is_form, stem, stems
from alma_learning.word_lists import read_lists

COMMA = ","
SCOPE, REACH = 3, 4
"""How many telling words a denial reaches; how many words after a verb of leaving may name what is left."""

_WORDS = read_lists("denials")
_DENYING, _CONDITION = _WORDS["denying"], "unless"
_SILENT = read_lists("words")["stop"] | read_lists("words")["little"] | {COMMA}
_CARRYING_OUT, _TAKING_AWAY, _SPEAKING_OF = (stems(_WORDS[name]) for name in ("carrying_out", "taking_away", "speaking_of"))
_LEAVING = _TAKING_AWAY | stems(_WORDS["leaving"])
_LEFT_OUT, _TAKEN_BACK, _EXCEPT = "leave out", "taken back", "except"
"""Sorts of denials; a denial that is denied itself is taken back."""


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that a text denies: how, the stem of what stands next, and the stems that it reaches."""

    sort: str
    head: str
    scope: frozenset[str]


def denials(words: Sequence[str]) -> tuple[Denial, ...]:
    """Returns the denials among the words of a text, in lower case and in order. One that nothing follows denies nothing.

    Behind another one "unless" denies nothing either: "never deploy unless the tests pass" is not against tests that pass.
    """
    places = [place for place in range(len(words)) if denies(words, place)]
    found = (_denial(words, place) for place in places if words[place] != _CONDITION or place == places[0])
    return tuple(denial for denial in found if denial)


def telling(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the stems of the words that say what a text is about, in order; words that deny are not among them."""
    return tuple(stem(word) for place, word in enumerate(words) if word not in _SILENT and not denies(words, place))


def denies(words: Sequence[str], place: int) -> bool:
    """Returns True if the word at a place denies something. To stop trusting is a denial, to stop a server an action."""
    word = words[place]
    if word.startswith("stop") and word in _DENYING:
        return any(after.endswith("ing") for after in words[place + 1 : place + 2])
    return word in _DENYING or word.endswith(("n't", "n’t"))


def contradicts(mine: Sequence[Denial], my_stems: Sequence[str], theirs: Sequence[Denial], their_stems: Sequence[str]) -> bool:
    """Returns True if one of two texts, by its denials and the stems of its words in order, denies what the other says.

    What both deny is no contradiction. Who replaces a thing does not say it: "turn the subquery into a join", "use a join instead of the subquery".
    """
    if any(_is_taken_back(one, other) or _is_taken_back(other, one) for one in mine for other in theirs):
        return True
    left = [denial for denial in theirs if denial.sort != _TAKEN_BACK]
    for denial in (one for one in mine if one.sort != _TAKEN_BACK):
        same = next((other for other in left if _is_same(denial, other)), None)
        if same is not None:
            left.remove(same)
        elif _is_said(denial, their_stems):
            return True
    return any(_is_said(denial, my_stems) for denial in left)


def undoes(action: Sequence[str], others: frozenset[str]) -> bool:
    """Returns True if a text begins with taking away or speaking of what another text, of which these are the stems, does.

    "Remove the calls of sleep" undoes "sleep", not "rm -rf": that takes away itself.
    """
    return any(action[0] in verbs and verbs.isdisjoint(others) for verbs in (_TAKING_AWAY, _SPEAKING_OF) if action)


def _is_said(denial: Denial, words: Sequence[str]) -> bool:
    """Returns True if a text, by the stems of its words, says what is denied, and does not begin to take it away just before.

    An exception is said all the same: "delete all logs except the newest" is not "delete the newest logs".
    """
    places = (place for place, one in enumerate(words) if is_form(one, denial.head))
    return any(denial.sort == _EXCEPT or _LEAVING.isdisjoint(words[max(place - REACH, 0) : place]) for place in places)


def _is_taken_back(one: Denial, other: Denial) -> bool:
    return one.sort == _TAKEN_BACK != other.sort and not one.scope.isdisjoint(other.scope)


def _is_same(one: Denial, other: Denial) -> bool:
    return (one.sort == _EXCEPT) is (other.sort == _EXCEPT) and not one.scope.isdisjoint(other.scope)


def _denial(words: Sequence[str], place: int) -> Denial | None:
    if _is_denied(words, place):
        return None  # its denial speaks for both
    scope = _reached(words[place + 1 :])
    if not scope and words[place] in _WORDS["passive"]:
        scope = _reached(words[:place][::-1])
    head = scope[-1] if words[place] == _CONDITION and scope else next((one for one in scope if one not in _CARRYING_OUT), "")
    following = next((at for at in range(place + 1, len(words)) if _speaks(words[at])), place)
    is_taken_back = following > place and denies(words, following) and _is_denied(words, following)
    return Denial(_TAKEN_BACK if is_taken_back else _sort(words[place]), head, frozenset(scope)) if head else None


def _is_denied(words: Sequence[str], place: int) -> bool:
    """Returns True for a denial that is denied itself, as "skip" is in "do not skip"."""
    before = next((at for at in reversed(range(place)) if _speaks(words[at])), None)
    return before is not None and _sort(words[place]) == _LEFT_OUT and denies(words, before)


def _speaks(word: str) -> bool:
    return word in _DENYING or word not in _SILENT


def _reached(words: Iterable[str]) -> list[str]:
    """The stems of the next telling words, up to a comma after one."""
    scope: list[str] = []
    for word in words:
        if len(scope) == SCOPE or (scope and word == COMMA):
            break
        if word not in _SILENT and word not in _DENYING:
            scope.append(stem(word))
    return scope


def _sort(word: str) -> str:
    if word in _WORDS["preferring"]:
        return "instead"
    if word in _WORDS["excepting"]:
        return _EXCEPT
    return _LEFT_OUT if word.startswith(tuple(_WORDS["leaving_out"])) else "not"
