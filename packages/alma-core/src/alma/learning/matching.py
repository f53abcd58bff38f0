"""Whether two strategies are one in other words. When unsure, they are kept apart.

Vectors alone cannot tell: those of "increase the timeout" and "decrease the timeout" are nearer than those of most paraphrases. So words
decide what vectors blur, and vectors decide where words only differ a little. How often that is right is measured by
`benchmarks/strategy_pairs.py`, from which the limits come.
"""

from collections.abc import Iterator, Sequence

from alma.learning.denials import undoes
from alma.learning.reading import numbers_apart
from alma.learning.relations import crossed, excluded, is_at_another_time
from alma.learning.stems import mean_the_same, opposites, stem, unmatched
from alma.learning.wording import Stems, Wording, is_telling, wording

NEAR_STRATEGY = 0.75
"""Two strategies that name the same things are one from this cosine on."""

NEAR_SAME_WORDS = 0.5
"""Enough for two that name the same things in listed synonyms. Where the telling words are equal, any vector will do."""

NEAR_LONGER_STRATEGY = 0.9
"""So near must be a strategy that names all that the other does, and more."""

NEVER = 1.5
"""No vector is so near."""

_SENTENCE = 4
"""With fewer telling words, another order is another way to name one thing: "parallel test execution", "execute tests in parallel"."""
_MANY = frozenset(map(stem, ("all", "every", "everything", "many", "multiple", "several", "both")))
_TIMES = frozenset(map(stem, ("before", "after")))
_ONE = {"1"}
_USING = frozenset(("try", "tried", "trying", "use", "used", "using"))
_DASHES = {"-", "--"}
"""Signs of options: which, is read from words."""
_PREPOSITIONS = frozenset(map(stem, "above after before below down in off on out over under up".split()))  # noqa: SIM905


def conflict(a: str | Wording, b: str | Wording) -> str | None:
    """Why two texts do not tell the same strategy, however near their vectors are, in a few words; `None` if nothing speaks against it."""
    mine, theirs = _read(a), _read(b)
    return (
        _other_signs(mine, theirs)
        or _reversal(mine, theirs)
        or exchange(mine, theirs)
        or other_relation(mine, theirs)
        or _other_time(mine, theirs)
        or _amounts(mine, theirs)
        or _other_of_a_kind(mine, theirs)
        or _replaced(mine, theirs)
    )


def contradiction(a: Wording, b: Wording, *, is_alike: bool) -> str | None:
    """Why two texts cannot be about the same strategy, in a few words; `None` if nothing speaks against it. What they deny is not compared here.

    Texts that are not alike, which share few words, oppose and exchange things of their own: half of the opposites in paraphrases are chance. There
    opposites count only beside one word.
    """
    signs = {*a.signs} - _DASHES, {*b.signs} - _DASHES  # a sign that the other leaves out contradicts nothing
    others = _other_signs(a, b) if is_alike and all(signs) and signs[0] != signs[1] else None
    return (
        others
        or _opposed(a, b, is_alike=is_alike)
        or (_other_time(a, b) if a.core == b.core else None)
        or (exchange(a, b) or other_relation(a, b) if is_alike else None)
        or _other_numbers(a, b)
        or _other_of_a_kind(a, b)
    )


def same_strategy(a: str | Wording, b: str | Wording, cosine: float) -> bool:
    """Returns True if two texts tell one strategy: in the same telling words, or in others with vectors so near, and without a conflict."""
    mine, theirs = _read(a), _read(b)
    if mine.normal == theirs.normal:
        return True
    has_same_core = bool(mine.core) and mine.core == theirs.core
    if cosine < NEAR_SAME_WORDS and not has_same_core:
        return False
    return not conflict(mine, theirs) and (has_same_core or cosine >= _limit(mine, theirs))


def _read(text: str | Wording) -> Wording:
    return wording(text) if isinstance(text, str) else text


def _limit(a: Wording, b: Wording) -> float:
    """From which cosine on two strategies without conflict are one."""
    left, right = _left_over(a, b)
    if _undoes(a, b) or _undoes(b, a):
        return NEVER
    if left or right:
        return NEAR_LONGER_STRATEGY
    return NEAR_SAME_WORDS if a.telling else NEAR_STRATEGY


def _undoes(a: Wording, b: Wording) -> bool:
    """Returns True if a text takes away what the other uses: "drop the index", "use the index"."""
    return not _USING.isdisjoint(b.spoken[:1]) and undoes(a.sequence, b.all)


def _is_among(action: str, stems: Stems | set[str]) -> bool:
    return action in stems or any(mean_the_same(action, other) for other in stems)


def _other_signs(a: Wording, b: Wording) -> str | None:
    return None if a.signs == b.signs else f"other signs: {' '.join(a.signs)} / {' '.join(b.signs)}"


def _reversal(a: Wording, b: Wording) -> str | None:
    """Returns what one denies and the other does not, or a word of one whose opposite stands in the other."""
    if len(a.denied) != len(b.denied):
        return f"one denies something: {', '.join(a.denied)} / {', '.join(b.denied)}"
    for one, other in zip(a.denied, b.denied, strict=True):
        if one != other and not mean_the_same(one, other):
            return f"they deny different things: {one} / {other}"
    return _opposite(a, b)


def _opposite(a: Wording, b: Wording) -> str | None:
    pair = next(opposite_words(a, b), None)
    return f"opposites: {pair[0]} / {pair[1]}" if pair else None


def _opposed(a: Wording, b: Wording, *, is_alike: bool) -> str | None:
    """Returns the opposites that two texts name, if any: prepositions, and all in texts that are not alike, only beside one word."""
    for one, other in opposite_words(a, b):
        if one in a.denied or other in b.denied:
            continue
        if is_alike and _PREPOSITIONS.isdisjoint((one, other)):
            return f"opposites: {one} / {other}"
        (before, after), (others_before, others_after) = _beside(a.spoken, one), _beside(b.spoken, other)
        if after == others_after != "" or (is_alike and before == others_before != ""):
            return f"opposites: {one} / {other}"
    return None


def _beside(spoken: Sequence[str], wanted: str) -> tuple[str, str]:
    """The telling stems before and after a stem, the nearest each; an empty text where there is none."""
    stems = [stem(word) for word in spoken]
    place = stems.index(wanted) if wanted in stems else len(stems)
    before, after = spoken[:place][::-1], spoken[place + 1 :]
    return next(map(stem, filter(is_telling, before)), ""), next(map(stem, filter(is_telling, after)), "")


def opposite_words(a: Wording, b: Wording) -> Iterator[tuple[str, str]]:
    """The stems of one text whose opposite stands in the other, each with it, unless both texts name both."""
    theirs = b.all - a.all
    if a.opposed.isdisjoint(theirs) and b.opposed.isdisjoint(a.all):
        return
    if a.earlier and b.earlier:
        theirs -= _TIMES  # what comes first is compared by `exchange`
    for one in sorted(a.all - b.all):
        for other in sorted(theirs):
            if (other in opposites(one) or one in opposites(other)) and not (_is_among(other, a.all) and _is_among(one, b.all)):
                yield one, other


def exchange(a: Wording, b: Wording) -> str | None:
    """Returns how two things have changed their parts, if at all: what comes first, what is raised or lowered, who does it and to whom."""
    moved_back = (a.earlier - a.later) & (b.later - b.earlier)
    moved_up = (a.later - a.earlier) & (b.earlier - b.later)
    if moved_back and moved_up:
        return f"in the other order: {min(moved_back)}, {min(moved_up)}"
    numbers = crossed(a.bindings, b.bindings)
    if numbers:
        return f"in each other's place: {', '.join(numbers)}"
    shared = a.telling & b.telling
    for one, governed in sorted(a.governing - b.governing):
        for other, now in sorted(b.governing - a.governing):
            if (now == governed and other in opposites(one)) or (other == one and {now, governed} <= shared):
                return f"the other way round: {one} {governed}, {other} {now}"
    return _crossed(a, b)


def other_relation(a: Wording, b: Wording) -> str | None:
    """Returns which thing stands in another relation, if any: "from redis", "to redis"; "by 10 %", "to 10 %"; "unless it is a 404", "on a 404".

    Things count only where one text names all that the other does: who adds a module "to the omitted ones" may leave it out "from the report".
    """
    excepted = (a.exceptions - b.exceptions).intersection(b.numbers) | (b.exceptions - a.exceptions).intersection(a.numbers)
    if excepted:
        return f"only one excepts {', '.join(sorted(excepted))}"
    found = excluded(a.relations, b.relations)
    if not found or not (found[0][0].isdigit() or a.telling <= b.telling or b.telling <= a.telling):
        return None
    return f"in another relation: {found[1]} {found[0]} / {found[2]} {found[0]}"


def _other_time(a: Wording, b: Wording) -> str | None:
    return "at another time" if is_at_another_time(a.relations, b.relations) else None


def _crossed(a: Wording, b: Wording) -> str | None:
    """Returns which two words alone stand in each other's place, if any. In a list they may, and side by side: "validate input"."""
    pair = _pair_crossed(a.spoken, b.spoken)
    if not pair and len(a.sequence) >= _SENTENCE and not (a.earlier and b.earlier):
        pair = _pair_crossed(a.sequence, b.sequence)
    stems = frozenset(map(stem, pair))
    if not pair or not stems <= a.telling or stems <= a.listed & b.listed:
        return None
    return f"in each other's place: {', '.join(sorted(pair))}"


def _pair_crossed(one: tuple[str, ...], other: tuple[str, ...]) -> Stems:
    """The two that changed places, not side by side, where all else is equal; else none."""
    if len(one) != len(other):
        return frozenset()
    places = [place for place, (mine, theirs) in enumerate(zip(one, other, strict=True)) if mine != theirs]
    if len(places) != 2 or places[0] + 1 == places[1]:
        return frozenset()
    pair = frozenset(one[place] for place in places)
    return pair if pair == {other[place] for place in places} else frozenset()


def _amounts(a: Wording, b: Wording) -> str | None:
    if a.is_restricted != b.is_restricted:
        return "only one is restricted by a word such as only"
    says_no_more_than_a = {*a.numbers, *b.numbers} == {"1"} and a.all.isdisjoint(_MANY) and b.all.isdisjoint(_MANY)
    if any(numbers_apart(a.numbers, b.numbers)) and not says_no_more_than_a:
        return f"numbers: {', '.join(a.numbers)} / {', '.join(b.numbers)}"
    return other_version(a, b)


def _other_numbers(a: Wording, b: Wording) -> str | None:
    """Which numbers each text names that the other has not, if both do; or another version."""
    mine, theirs = numbers_apart({*a.numbers} - _ONE, {*b.numbers} - _ONE)
    return f"numbers: {', '.join(sorted(mine))} / {', '.join(sorted(theirs))}" if mine and theirs else other_version(a, b)


def _other_of_a_kind(a: Wording, b: Wording) -> str | None:
    """Returns the names of one kind of which each text has others, if any: days, parts of the day, languages."""
    for kind in sorted({kind for kind, _ in a.of_kinds} & {kind for kind, _ in b.of_kinds}):
        mine, theirs = ({name for its_kind, name in each.of_kinds if its_kind == kind} for each in (a, b))
        if mine.isdisjoint(theirs):
            return f"others of a kind: {', '.join(sorted(mine))} / {', '.join(sorted(theirs))}"
    return None


def other_version(a: Wording, b: Wording) -> str | None:
    """Which version of one thing each text names, if another one."""
    others = dict(sorted(b.versions - a.versions))
    for name, number in sorted(a.versions - b.versions):
        if name in others:
            return f"versions: {name}{number} / {name}{others[name]}"
    return None


def _replaced(a: Wording, b: Wording) -> str | None:
    left, right = _left_over(a, b)
    return _naming(left, right) or _naming(*_one_replaced(a.sequence, b.sequence))


def _naming(left: Stems, right: Stems) -> str | None:
    return f"each names something else: {', '.join(sorted(left))} / {', '.join(sorted(right))}" if left and right else None


def _one_replaced(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[Stems, Stems]:
    """Returns what differs where two sequences differ in just one place: each of the two may stand elsewhere in both."""
    changed = [(mine, theirs) for mine, theirs in zip(one, other, strict=False) if mine != theirs]
    if len(one) != len(other) or len(changed) != 1:
        return frozenset(), frozenset()
    left, right = frozenset((changed[0][0],)), frozenset((changed[0][1],))
    return unmatched(left, right), unmatched(right, left)


def _left_over(a: Wording, b: Wording) -> tuple[Stems, Stems]:
    """Returns what each names and the other does not, in whatever words."""
    left, right = a.telling - b.telling, b.telling - a.telling
    return (unmatched(left, right), unmatched(right, left)) if left and right else (left, right)
