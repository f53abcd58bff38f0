"""What a text denies, and whether another says the contrary.

"Never force-push" speaks against "force-push"; "no timeout" does not speak against "without a timeout".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alma.learning.reading import COMMA
from alma.learning.stems import mean_the_same, stem
from alma.learning.vocabulary import NEGATORS, SAYING_LITTLE
from alma.text import STOPWORDS

SCOPE = 3
"""How many telling words a denial reaches."""

_CARRYING_OUT = frozenset(map(stem, ("call", "execute", "invoke", "perform", "run")))
"""Verbs that only say that what follows is done: who never runs a command denies the command."""
_TAKING_AWAY = frozenset(
    map(stem, "clean delete discard drop eliminate prune purge remove replace rm strip truncate uninstall unstage".split())  # noqa: SIM905
)
_OTHER_VERBS = """
    bypass cancel change convert decline deny disable exchange exclude ignore leave migrate omit refuse reject rewrite skip substitute suppress swap
    switch transform turn
"""
_LEAVING = _TAKING_AWAY | frozenset(map(stem, _OTHER_VERBS.split()))
"""Verbs after which a thing is not done, or not as it was."""
_BEGINNING_CLAUSES = frozenset(map(stem, ("if", "until", "when", "while")))
REACH = 4
"""How many words after such a verb may name what is left."""
_LONG = 6
"""Stems from this length on may be forms of one word."""
_SPEAKING_OF = frozenset(map(stem, ("describe", "discuss", "document", "explain", "mention")))
_LEFT_OUT, _TAKEN_BACK, _EXCEPT = "leave out", "taken back", "except"
"""Sorts of denials; a denial that is denied itself is taken back."""
_LEAVING_OUT = ("avoid", "ban", "forb", "omit", "prohibit", "refrain", "skip", "stop")
_PREFERRING = frozenset(("instead", "rather"))
_EXCEPTING = frozenset(("except", "excluding", "unless"))
_CONDITION = "unless"
"""What follows is a clause, of which the end says when: "unless the error is permanent" speaks against what is permanent, not against errors."""
_BEFORE_NUMBERS = frozenset(
    """
    a an the is are was were be been gets got has have had of than at by to over under above below after before between within for about only least
    code equals exceeded exceeds hits http reached reaches return returned returns status
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""Words with which such a clause ends only where a number follows, which is not among the words: "unless the error is a 404"."""
_AFTER_CLAUSES = frozenset((COMMA, "and", "or", "then"))
_PASSIVE = frozenset(("avoided", "banned", "cannot", "forbidden", "never", "not", "omitted", "prohibited", "skipped"))
"""What denies the words before it where it ends a clause: "the password is not used", "pushing is forbidden"."""
_SILENT = STOPWORDS | SAYING_LITTLE | {COMMA}


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that a text denies: how, the stem of what stands next, and the stems that it reaches."""

    sort: str
    head: str
    scope: frozenset[str]


def denials(words: Sequence[str]) -> tuple[Denial, ...]:
    """The denials among the words of a text, in lower case and in order. One that nothing follows denies nothing.

    Behind another one "unless" denies nothing either: "never deploy unless the tests pass" is not against tests that pass. Nor does it where its
    clause ends in a number: "unless the error is a 404" is not against errors.
    """
    places = [place for place, word in enumerate(words) if _denies(words, place, word)]
    found = (
        _denial(words, place)
        for place in places
        if words[place] != _CONDITION or (place == places[0] and not _ends_in_number(words[place + 1 :]))
    )
    return tuple(denial for denial in found if denial)


def _ends_in_number(words: Sequence[str]) -> bool:
    """Returns True if the clause with which these words begin ends in a number."""
    end = next((place for place, word in enumerate(words) if word in _AFTER_CLAUSES), len(words))
    return end > 0 and words[end - 1] in _BEFORE_NUMBERS


def telling(words: Sequence[str]) -> tuple[str, ...]:
    """The stems of the words that say what a text is about, in order; words that deny are not among them."""
    return tuple(stem(word) for place, word in enumerate(words) if word not in _SILENT and not _denies(words, place, word))


def contradicts(mine: Sequence[Denial], my_stems: Sequence[str], theirs: Sequence[Denial], their_stems: Sequence[str]) -> bool:
    """Returns True if one of two texts denies what the other says. What both deny is no contradiction.

    `my_stems` and `their_stems` are those of all words in order. Who replaces a thing or takes it away does not say it: "turn the subquery into a
    join" is no contradiction of "use a join instead of the subquery".
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


def _is_said(denial: Denial, stems: Sequence[str]) -> bool:
    """Returns True if a text, by the stems of its words, says what is denied, and does not begin to take it away just before.

    An exception is said all the same: "delete all logs except the newest" is not "delete the newest logs".
    """
    head = denial.head
    places = (
        place
        for place, one in enumerate(stems)
        if one == head or (len(one) >= _LONG and len(head) >= _LONG and mean_the_same(one, head))
    )
    return any(denial.sort == _EXCEPT or _LEAVING.isdisjoint(_clause(stems[max(place - REACH, 0) : place])) for place in places)


def _clause(stems: Sequence[str]) -> Sequence[str]:
    """The last of these stems, behind a word that begins a clause: who switches traffic "while the migration runs" does not leave the traffic."""
    begun = next((place for place in reversed(range(len(stems))) if stems[place] in _BEGINNING_CLAUSES), -1)
    return stems[begun + 1 :]


def undoes(action: Sequence[str], stems: frozenset[str]) -> bool:
    """Returns True if a text begins with taking away or speaking of what another text, of which these are the stems, does.

    "Remove the calls of sleep" undoes "sleep", not "rm -rf": that takes away itself.
    """
    return any(action[0] in verbs and verbs.isdisjoint(stems) for verbs in (_TAKING_AWAY, _SPEAKING_OF) if action)


def _is_taken_back(one: Denial, other: Denial) -> bool:
    """Returns True if one text says that what the other leaves out is not left out."""
    return one.sort == _TAKEN_BACK != other.sort and not one.scope.isdisjoint(other.scope)


def _is_same(one: Denial, other: Denial) -> bool:
    return (one.sort == _EXCEPT) is (other.sort == _EXCEPT) and not one.scope.isdisjoint(other.scope)


def _denies(words: Sequence[str], place: int, word: str) -> bool:
    if word not in NEGATORS and not word.endswith(("n't", "n’t")):
        return False
    if word.startswith("stop"):  # to stop trusting is a denial, to stop a server an action
        return any(after.endswith("ing") for after in words[place + 1 : place + 2])
    return True


def _is_denied(words: Sequence[str], place: int) -> bool:
    """Returns True for a denial that is denied itself, as "skip" is in "do not skip"."""
    before = next((at for at in reversed(range(place)) if _speaks(words[at])), None)
    return before is not None and _sort(words[place]) == _LEFT_OUT and _denies(words, before, words[before])


def _speaks(word: str) -> bool:
    return word in NEGATORS or word not in _SILENT


def _denial(words: Sequence[str], place: int) -> Denial | None:
    if _is_denied(words, place):
        return None  # its denial speaks for both
    scope = _reached(words[place + 1 :])
    if not scope and words[place] in _PASSIVE:
        scope = _reached(words[:place][::-1])
    head = scope[-1] if words[place] == _CONDITION and scope else next((one for one in scope if one not in _CARRYING_OUT), "")
    following = next((at for at in range(place + 1, len(words)) if _speaks(words[at])), place)
    is_taken_back = following > place and _denies(words, following, words[following]) and _is_denied(words, following)
    return Denial(_TAKEN_BACK if is_taken_back else _sort(words[place]), head, frozenset(scope)) if head else None


def _reached(words: Iterable[str]) -> list[str]:
    """The stems of the next telling words, up to a comma after one."""
    scope: list[str] = []
    for word in words:
        if len(scope) == SCOPE or (scope and word == COMMA):
            break
        if word not in _SILENT and word not in NEGATORS:
            scope.append(stem(word))
    return scope


def _sort(word: str) -> str:
    if word in _PREFERRING:
        return "instead"
    if word in _EXCEPTING:
        return _EXCEPT
    return _LEFT_OUT if word.startswith(_LEAVING_OUT) else "not"
