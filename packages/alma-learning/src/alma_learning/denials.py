"""Denials in a text, and the check whether another text says the contrary.

"Never force-push" speaks against "force-push"; "no timeout" does not speak against "without a timeout".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alma_learning.stems import is_form, stem, stems
from alma_learning.word_lists import read_lists

COMMA = ","
SCOPE, REACH = 3, 4
"""Number of telling words that a denial reaches; number of words after a verb of leaving that may name the thing that is left."""

_WORDS = read_lists("denials")
_SILENT = read_lists("words")["stop"] | read_lists("words")["little"] | {COMMA}
_TAKING_AWAY, _SPEAKING_OF, _CARRYING_OUT = (stems(_WORDS[name]) for name in ("taking_away", "speaking_of", "carrying_out"))
_LEAVING, _LEAVING_OUT = _TAKING_AWAY | stems(_WORDS["leaving"]), tuple(_WORDS["leaving_out"])


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that a text denies: the stem of what stands next, and the stems that it reaches. One that is denied itself is taken back."""

    head: str
    scope: frozenset[str]
    is_taken_back: bool


def denies(word: str) -> bool:
    """Returns True if a word denies what follows it."""
    return word in _WORDS["denying"] or word.endswith(("n't", "n’t"))


def denials(words: Sequence[str]) -> tuple[Denial, ...]:
    """Returns the denials among the words of a text, in lower case and in order. One that nothing follows denies nothing."""
    found = (_denial(words, place) for place, word in enumerate(words) if denies(word) and not _is_denied(words, place))
    return tuple(denial for denial in found if denial)


def telling(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the stems of the words that say what a text is about, in order; words that deny are not among them."""
    return tuple(stem(word) for word in words if word not in _SILENT and not denies(word))


def contradicts(mine: Sequence[Denial], my_stems: Sequence[str], theirs: Sequence[Denial], their_stems: Sequence[str]) -> bool:
    """Returns True if one of two texts, by its denials and the stems of its words in order, denies what the other says.

    What both deny is no contradiction. Who replaces a thing does not say it: "turn the subquery into a join", "use a join instead of the subquery".
    """
    if any(one.is_taken_back != other.is_taken_back and one.scope & other.scope for one in mine for other in theirs):
        return True
    left = [denial for denial in theirs if not denial.is_taken_back]
    for denial in (one for one in mine if not one.is_taken_back):
        same = next((other for other in left if denial.scope & other.scope), None)
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
    """Returns True if a text, by the stems of its words, says what is denied, and does not begin to take it away just before."""
    places = (place for place, one in enumerate(words) if is_form(one, denial.head))
    return any(_LEAVING.isdisjoint(words[max(place - REACH, 0) : place]) for place in places)


def _denial(words: Sequence[str], place: int) -> Denial | None:
    word, following = words[place], next((at for at in range(place + 1, len(words)) if words[at] not in _SILENT), place)
    scope = _reached(words[place + 1 :])
    if not scope and word in _WORDS["passive"]:  # "pushing is forbidden"
        scope = _reached(words[:place][::-1])
    done = [one for one in scope if one not in _CARRYING_OUT]  # who never runs a command denies the command
    head = done[-1 if word == "unless" else 0] if done else ""  # "unless the error is permanent" is against what is permanent
    is_taken_back = following > place and denies(words[following]) and _is_denied(words, following)
    return Denial(head, frozenset(scope), is_taken_back) if head else None


def _is_denied(words: Sequence[str], place: int) -> bool:
    """Returns True for a verb of leaving out that is denied itself, as "skip" is in "do not skip"."""
    before = next((word for word in words[:place][::-1] if denies(word) or word not in _SILENT), "")
    return words[place].startswith(_LEAVING_OUT) and denies(before)


def _reached(words: Iterable[str]) -> list[str]:
    """The stems of the next telling words, up to a comma after one."""
    scope: list[str] = []
    for word in words:
        if len(scope) == SCOPE or (scope and word == COMMA):
            break
        if word not in _SILENT and not denies(word):
            scope.append(stem(word))
    return scope
