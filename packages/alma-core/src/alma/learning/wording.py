"""What a text's words say of the things that vectors blur: what is denied, how much, which version, in which order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from alma.learning.reading import ARROW, COMMA, in_order, with_named_currencies
from alma.learning.relations import Relations, bindings, exceptions, relations
from alma.learning.stems import opposites, stem
from alma.learning.vocabulary import GENRES, NEGATORS, RESTRICTORS, SAYING_LITTLE
from alma.text import STOPWORDS, signs, spelt

_LETTERS = re.compile(r"[^\W\d_]+")
_PERCENT = re.compile(r"(?<=\d)\s?%(?!\s*\d)")
"""A unit, not a sign: `10%` is 10 percent. In `5 % 2` it is a sign."""
_QUOTED_SIGNS = re.compile(r"""(["'`])([^\w\s"'`]+|\\\w)\1""")
"""Values that have no letters: `sep=";"`, `sep="\\t"`."""
_PREFERRED_TO = frozenset(("over", "to"))
_WITHOUT_CONTENT = STOPWORDS | SAYING_LITTLE | NEGATORS | {COMMA}
_GENRE_STEMS = frozenset(map(stem, GENRES))

_EARLIER_IS_LEFT = frozenset(("before", "then"))
_EARLIER_IS_RIGHT = frozenset(("after", "once"))
_AIMS = frozenset(("to", "into"))
_AIMS_OF_EXCHANGE = _AIMS | {"with", "by", "for"}
_EXCHANGING = ("replac", "swap", "substitut", "exchang")

_ARTICLES = frozenset(("a", "an", "the"))
_SEPARATORS = frozenset(("and", "or", COMMA))

_KINDS = """
    monday tuesday wednesday thursday friday saturday sunday weekend weekday
    january february march april june july august september october november december
    morning noon afternoon evening night midnight
    full/fully partial/partially half
    development/dev production/prod staging
    north east south west
    single double triple
    english french german spanish italian portuguese dutch polish russian chinese japanese korean arabic hindi turkish
"""
"""Names of things that exclude each other, as numbers do: a kind on each line, spellings of one name with a slash. Words, not stems: who works in
stages has no staging."""
_NAMES_OF_KINDS = {
    word: (kind, names.split("/")[0])
    for kind, line in enumerate(_KINDS.strip().splitlines())
    for names in line.split()
    for name in names.split("/")
    for word in (name, f"{name}s")
}

Stems = frozenset[str]


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as it is compared with others. Made once a text: that is what makes comparing cheap."""

    normal: str
    """The text as `alma.text.spelt` gives it."""
    signs: tuple[str, ...]
    """What stands beside the words and means something: `C++` is not `C#`, nor `<` the same as `>`."""
    all: Stems
    """Stems of all words."""
    opposed: Stems
    """Their opposites."""
    telling: Stems
    """Stems of the words that say what it is about."""
    core: Stems
    """Those that do more than say what sort of thing it is; all of them if none does."""
    denied: tuple[str, ...]
    """The telling stem that follows each negator, sorted; an empty text where none follows."""
    is_restricted: bool
    """Whether it says "only"."""
    numbers: tuple[str, ...]
    """Numbers in their units, sorted."""
    exceptions: Stems
    """Those that an "unless" names."""
    versions: frozenset[tuple[str, str]]
    """Names that end in digits, as `("v", "2")`."""
    earlier: Stems
    later: Stems
    """What comes first and what comes second: in time, or from where to where. Both empty where nothing says so."""
    relations: Relations
    """Things and numbers, each with its relation to what is done, such as "from"."""
    bindings: Relations
    """Numbers, each with the telling stem before it."""
    governing: frozenset[tuple[str, str]]
    """Each telling stem whose opposite is in the text, too, with the telling stem after it."""
    sequence: tuple[str, ...]
    """The telling stems in order."""
    spoken: tuple[str, ...]
    """The words as they are, in order, without articles and commas."""
    listed: Stems
    """Stems that stand beside a comma, an "and" or an "or"."""
    of_kinds: frozenset[tuple[int, str]]
    """Names that exclude others of their kind, such as days, each with the number of its kind."""


@lru_cache(maxsize=1_024)
def wording(text: str) -> Wording:
    """Reads a text. The same for the same text, always."""
    named = with_named_currencies(text)
    plain = ARROW.sub(" then ", named)
    items = in_order(plain)
    words, numbers = ([item for item, is_number in items if is_number is wanted] for wanted in (False, True))
    everything = frozenset(map(stem, words))
    opposed = frozenset().union(*map(opposites, everything))
    telling = _telling(words)
    earlier, later = _order([item for item, _ in items] if _exchanges(words) else words)  # "replace NaN with 0"
    return Wording(
        normal=spelt(named),
        signs=(*signs(_PERCENT.sub(" ", plain)), *(value for _, value in _QUOTED_SIGNS.findall(plain))),
        all=everything,
        opposed=opposed,
        telling=telling,
        core=telling - _GENRE_STEMS or telling,
        denied=_denied(words),
        is_restricted=not RESTRICTORS.isdisjoint(words),
        numbers=tuple(sorted(numbers)),
        exceptions=exceptions(items),
        versions=frozenset(_version(word) for word in words if word[-1].isdigit()),
        earlier=earlier,
        later=later,
        relations=relations(items, _WITHOUT_CONTENT),
        bindings=bindings(items, _WITHOUT_CONTENT),
        governing=_governing(words, opposed),
        sequence=tuple(stem(word) for word in words if word not in _WITHOUT_CONTENT),
        spoken=tuple(word for word in words if word not in _ARTICLES and word != COMMA),
        listed=_listed(words),
        of_kinds=frozenset(_NAMES_OF_KINDS[word] for word in words if word in _NAMES_OF_KINDS),
    )


def is_telling(word: str) -> bool:
    """Returns True if a word, in lower case, says what a text is about."""
    return word not in _WITHOUT_CONTENT


def _telling(words: Sequence[str]) -> Stems:
    return frozenset(map(stem, filter(is_telling, words)))


def _denied(words: Sequence[str]) -> tuple[str, ...]:
    """The thing that each negator denies: read backwards, so that none has to look for the next thing itself."""
    preferring = next((place for place, word in enumerate(words) if word.startswith("prefer")), len(words))
    thing, denied = "", list[str]()
    for place in reversed(range(len(words))):
        word = words[place]
        if _denies(word, words[place + 1 : place + 2], is_preferred=preferring < place):
            denied.append(thing)
        if word not in _WITHOUT_CONTENT and word != "longer":
            thing = stem(word)
    return tuple(sorted(denied))


def _denies(word: str, following: Sequence[str], *, is_preferred: bool) -> bool:
    if word in _PREFERRED_TO:  # as in: prefer composition to inheritance
        return is_preferred
    if word not in NEGATORS and not word.endswith(("'t", "’t")):
        return False
    if word.startswith("stop"):  # to stop trusting is a denial, to stop a server an action
        return any(after.endswith("ing") for after in following)
    return True


def _version(word: str) -> tuple[str, str]:
    name = _LETTERS.match(word)
    return (name[0], word[name.end() :]) if name else ("", word)


def _order(words: Sequence[str]) -> tuple[Stems, Stems]:
    """Returns what comes first and what second, by the first word that says so."""
    for place, word in enumerate(words):
        if word in _EARLIER_IS_LEFT:
            return _around(words, place)
        if word in _EARLIER_IS_RIGHT:
            return _around(words, place)[::-1]
    aims = _AIMS_OF_EXCHANGE if _exchanges(words) else _AIMS
    aim = next((place for place, word in enumerate(words) if word in aims), None)
    return (frozenset(), frozenset()) if aim is None else _around(words, aim)


def _exchanges(words: Sequence[str]) -> bool:
    return any(word.startswith(_EXCHANGING) for word in words)


def _around(words: Sequence[str], place: int) -> tuple[Stems, Stems]:
    """The telling stems on both sides of a word. If the text begins with it, its right side ends at the comma and the rest is the left side."""
    if place:
        return _telling(words[:place]), _telling(words[place + 1 :])
    end = words.index(COMMA) if COMMA in words else len(words)
    return _telling(words[end:]), _telling(words[1:end])


def _governing(words: Sequence[str], opposed: Stems) -> frozenset[tuple[str, str]]:
    telling = [stem(word) for word in words if word not in _WITHOUT_CONTENT]
    return frozenset((one, after) for one, after in pairwise(telling) if one in opposed)


def _listed(words: Sequence[str]) -> Stems:
    standing = [word for word in words if word not in _ARTICLES]
    pairs = pairwise(standing)
    return frozenset(
        stem(left if right in _SEPARATORS else right) for left, right in pairs if left in _SEPARATORS or right in _SEPARATORS
    )
