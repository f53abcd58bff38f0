"""Relations that a sentence states outright, by a short list of verbs.

A sentence is read with its names replaced by marks. One that denies, doubts, asks or wishes states nothing.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from alma.text import MONTHS, STOPWORDS
from alma_graph.extraction.terms import Term
from alma_graph.naming import THING, USER, VALUE

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around the number of a term: characters that no text has a use for."""

_MARK = rf"{OPEN}\d+{CLOSE}"
_BESIDE = rf"(?:,? (?:from|at|of) {_MARK})?(?:, [^,]{{1,60}},)?(?: (?:also|now|still|already|just|recently|currently))?"
_S = rf"(?P<s>{_MARK})(?: and (?P<s2>{_MARK}))?{_BESIDE}"
_PHRASE = r"(?:[a-z][\w-]* ){0,2}[a-z][\w-]*"
_END = r"(?=\s*(?:[.,;!?:]|$)| (?:in|on|at|for|with|to|from|by|because|since|when|while|after|before|over|and)\b)"
_O = rf"(?:(?:the|a|an) (?={_MARK}{_END}))?(?P<o>{_MARK})(?!['’]s| of\b)(?:(?:,| and) (?P<o2>{_MARK})(?!['’]s))?"
_N = rf"(?:the |a |an |our |its |their )(?P<n>{_PHRASE}){_END}"
_M = rf"(?:^|\b[Tt]he |\b[Oo]ur )(?P<m>{_PHRASE})"
_ANY, _THING = rf"(?:{_O}|{_N})", rf"(?:{_S}|{_M})"
_FREE = r"(?P<v>[^.,;:!?\n]{2,60}?)(?= over | instead of | to | because |\s*[.,;:!?\n]|\s*$)"
_KIN = r"(?:mother|father|parent|son|daughter|child|wife|husband|brother|sister|friend|owner|part)\b"
_OFFICE = (
    r"(?:C[A-Z]O|VP|[Hh]ead|[Dd]irector|[Mm]anager|[Ff]ounder|[Pp]resident|[Cc]hair|[Ll]ead|[Ee]ngineer|[Aa]nalyst|[Pp]artner)"
)
_A = r"(?: is| is now) (?:an? |the )?"
_ROLE = rf"(?:(?!{_A}{_KIN}){_A}[\w ]{{2,40}}? at|(?:,|{_A})(?: ?an? | ?the )?(?: ?[a-z]+ )? ?{_OFFICE} (?:at|of))"
_EMPLOYED = "(?:works for|works at|joined|is employed by|was hired by)"
_PERSON, _ORGANIZATION, _PLACE = "person", "organization", "place"

_TABLE: Sequence[tuple[str, str, str, str]] = (
    # relation, its pattern, the type of its source and of its target where these are not known
    ("WORKS_FOR", rf"(?:{_S}(?:, who)? {_EMPLOYED}|(?P<i>\bI) work (?:for|at)) {_O}", _PERSON, _ORGANIZATION),
    ("WORKS_FOR", rf"(?P<s>{_MARK}){_ROLE} (?P<o>{_MARK})", _PERSON, _ORGANIZATION),
    ("WORKS_FOR", rf"(?P<s>{_MARK}) (?P<loose>from|at|of) (?P<o>{_MARK})", _PERSON, _ORGANIZATION),
    ("LEADS_AT", rf"(?P<s>{_MARK}) (?:leads|manages|heads) (?:the )?{_PHRASE} at (?P<o>{_MARK})", _PERSON, _ORGANIZATION),
    ("REVIEWED", rf"{_S} (?:reviewed|approved) {_O}", _PERSON, THING),
    ("REVIEWED", rf"(?P<o>{_MARK}) was (?:reviewed|approved) by (?P<s>{_MARK})", _PERSON, THING),
    ("SUBMITTED", rf"{_S} submitted {_O}", _PERSON, THING),
    ("SUBMITTED", rf"(?P<o>{_MARK}) was submitted by (?P<s>{_MARK})", _PERSON, THING),
    ("FIXED", rf"{_S} fixed {_O}", _PERSON, THING),
    ("FIXED", rf"(?P<o>{_MARK}) was fixed by (?P<s>{_MARK})", _PERSON, THING),
    ("CREATED", rf"{_S} (?:created|wrote|built|designed|founded) {_ANY}", _PERSON, THING),
    ("CREATED", rf"(?:(?P<o>{_MARK})|{_M.replace('<m>', '<n>')}) was (?:created|written|built|designed|founded) by (?P<s>{_MARK})", _PERSON, THING),
    ("DEPLOYED", rf"{_S} (?:deployed|shipped|released) {_ANY}", _PERSON, THING),
    ("DEPLOYED", rf"(?P<o>{_MARK}) was (?:deployed|shipped|released) by (?P<s>{_MARK})", _PERSON, THING),
    ("OWNS", rf"{_S} (?:owns|maintains) {_ANY}", _PERSON, THING),
    ("OWNS", rf"(?:(?P<o>{_MARK})|{_M.replace('<m>', '<n>')}) is (?:owned|maintained) by (?P<s>{_MARK})", _PERSON, THING),
    ("OWNS", rf"\b[Tt]he owner of (?:the )?(?:(?P<o>{_MARK})|(?P<n>{_PHRASE})) is (?P<s>{_MARK})", _PERSON, THING),
    ("LEADS", rf"{_S} (?:leads|manages|heads) {_ANY}", _PERSON, THING),
    ("REPORTS_TO", rf"{_S} reports to {_O}", _PERSON, _PERSON),
    ("REPORTS_TO", rf"(?:(?P<s>{_MARK})['’]s|(?P<i>\b[Mm]y)) (?:manager|boss) is (?P<o>{_MARK})", _PERSON, _PERSON),
    ("USES", rf"(?:{_THING} (?:uses|runs on|is written in)|(?P<i>\bI) use) {_O}", THING, THING),
    ("USES", rf"{_S} uses {_N}", THING, THING),
    ("DEPENDS_ON", rf"{_THING} (?:depends on|requires) {_O}", THING, THING),
    ("REPLACED_BY", rf"\breplaced (?P<s>{_MARK}) (?:with|by) (?P<o>{_MARK})", THING, THING),
    ("REPLACED_BY", rf"{_THING} (?:was|were) replaced (?:with|by) (?P<o>{_MARK})", THING, THING),
    ("REPLACED_BY", rf"(?P<o>{_MARK}) replaced (?P<s>{_MARK})(?! (?:with|by)\b)", THING, THING),
    ("REPLACED_BY", rf"\b(?:migrated|switched) (?:[\w ]{{1,40}} )?from (?P<s>{_MARK}) to (?P<o>{_MARK})", THING, THING),
    ("REPLACED_BY", rf"(?:\b(?:[Ww]e|team) moved|^Moved) from (?P<s>{_MARK}) to (?P<o>{_MARK})", THING, THING),
    ("LIVES_IN", rf"(?:{_S} (?:lives in|moved (?:from {_MARK} )?to)|(?P<i>\bI) live in) {_O}", _PERSON, _PLACE),
    ("LOCATED_IN", rf"{_S} is (?:located|based) in {_O}", _ORGANIZATION, _PLACE),
    ("MARRIED_TO", rf"(?P<s>{_MARK}) is married to (?P<o>{_MARK})", _PERSON, _PERSON),
    ("MARRIED_TO", rf"(?:(?P<s>{_MARK})['’]s|(?P<i>\b[Mm]y)) (?:wife|husband)(?: is)? (?P<o>{_MARK})", _PERSON, _PERSON),
    ("PARENT_OF", rf"(?P<s>{_MARK}) is the (?:mother|father|parent) of (?P<o>{_MARK})", _PERSON, _PERSON),
    ("PARENT_OF", rf"(?P<o>{_MARK}) is the (?:son|daughter|child) of (?P<s>{_MARK})", _PERSON, _PERSON),
    ("PARENT_OF", rf"(?P<s>{_MARK})['’]s (?:son|daughter)(?: is)? (?P<o>{_MARK})", _PERSON, _PERSON),
    ("PART_OF", rf"{_THING} is part of {_O}", THING, THING),
    ("VERSION_OF", rf"(?P<version>{_MARK}) of (?:the )?(?P<o>{_MARK})", "version", THING),
    ("PREFERS", rf"(?:(?P<s>{_MARK}) prefers|(?P<i>\bI) prefer) {_FREE}", _PERSON, VALUE),
    ("STATUS", rf"\b[Tt]he status of (?:the )?(?:(?P<s>{_MARK})|(?P<m>{_PHRASE})) is (?P<v>\w[\w-]*)(?=[.,;]|$)", THING, VALUE),
    ("PORT", rf"\b[Tt]he port of (?:the )?(?:(?P<s>{_MARK})|(?P<m>{_PHRASE})) is (?P<v>\d{{1,5}})\b", THING, VALUE),
)  # fmt: skip
_PATTERNS = [(name, re.compile(pattern), source, target) for name, pattern, source, target in _TABLE]
TYPES = tuple(dict.fromkeys(name for name, *_ in _TABLE if name != "LEADS_AT"))

STATES_NOTHING = re.compile(
    r"\?|n['’]t\b|\b(?:not|never|nor|no longer|without|if|unless|whether|maybe|perhaps|might|would|could|should|will|wants?|thinks?|asked|hopes?"
    r"|plans?|let|suppose|allegedly|doubts?|den(?:y|ies|ied)|(?:false|untrue|wrong) that)\b",
    re.IGNORECASE,
)
"""In 400,000 sentences of LongMemEval 72 relations stand beside one of these, mostly "?", "think", "if" and "n't" (30 November 2026). Those beside
none stay, because what they would let through is the opposite of what was said."""
_WHEN = re.compile(rf"\b(?:since|in|from) (?:(?P<month>{'|'.join(MONTHS)}) )?(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)


class Found(NamedTuple):
    """A relation in a sentence. An end is a term, or the text of a phrase with its type."""

    type: str
    source: Term | tuple[str, str]
    target: Term | tuple[str, str]
    source_type: str
    target_type: str
    since: datetime | None


def find_relations(sentence: str, terms: Sequence[Term], speaker: str | None) -> Iterator[Found]:
    """Yields the relations of a sentence that states something, its terms marked by their numbers.

    `speaker` is who says "I", `None` if that is not known.
    """
    when = _WHEN.search(sentence)
    since = None if when is None else datetime(int(when["year"]), _month(when["month"]), 1, tzinfo=UTC)
    for name, pattern, source_type, target_type in _PATTERNS:
        for match in pattern.finditer(sentence):
            groups = match.groupdict()
            if groups.get("loose") and not _is_firm(terms, groups):
                continue
            for source in _sources(groups, terms, speaker):
                for target in _targets(groups, terms):
                    kind = "WORKS_FOR" if name == "LEADS_AT" else name
                    yield Found(kind, source, target, source_type, target_type, since)


def _month(name: str | None) -> int:
    return 1 if name is None else MONTHS.index(name.lower()) + 1


def _is_firm(terms: Sequence[Term], groups: dict[str, str | None]) -> bool:
    """Returns whether "X at Y" means a person of an organization: after "at" any name, after "from" and "of" only that of an organization."""
    source, target = (terms[_number(str(groups[name]))] for name in ("s", "o"))
    is_person = source.type in (THING, _PERSON)
    return is_person and (target.type == _ORGANIZATION or (groups["loose"] == "at" and target.type == THING and source.is_sure))


def _number(mark: str) -> int:
    return int(mark[len(OPEN) : -len(CLOSE)])


def _sources(groups: dict[str, str | None], terms: Sequence[Term], speaker: str | None) -> Iterator[Term | tuple[str, str]]:
    for name in ("s", "s2", "version"):
        if mark := groups.get(name):
            term = terms[_number(mark)]
            if name != "version" or (term.type == "version" and term.name.lstrip("v")[:1].isdigit()):
                yield term
    if groups.get("i") and speaker is not None:
        yield speaker, USER if speaker == USER else _PERSON
    if (phrase := groups.get("m")) and _is_phrase(phrase):
        yield phrase, THING


def _targets(groups: dict[str, str | None], terms: Sequence[Term]) -> Iterator[Term | tuple[str, str]]:
    for name in ("o", "o2"):
        if mark := groups.get(name):
            yield terms[_number(mark)]
    if (phrase := groups.get("n")) and _is_phrase(phrase):
        yield phrase, THING
    if value := groups.get("v"):
        marked = re.fullmatch(_MARK, value.strip())
        text = re.sub(_MARK, lambda one: terms[_number(one[0])].name, value).strip()
        yield terms[_number(marked[0])] if marked else (text, VALUE)


def _is_phrase(phrase: str) -> bool:
    words = phrase.split()
    return words[0] not in STOPWORDS and words[-1] not in STOPWORDS
