"""Statements in a text, each quoted: preferences, decisions, warnings, facts, milestones, and ways that worked or failed.

A sentence counts only where it says so outright; in doubt, it is left out. Rates on sentences that were written before these rules, and on
LoCoMo, are printed by `python -m benchmarks.extraction`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from alma.text import DAYS, one_line
from alma.types.prompt import FENCE, without_notes
from alma_learning.numbers import numerals

PREFERENCE, DECISION, WARNING, FACT, MILESTONE, WAY = "preference", "decision", "warning", "fact", "milestone", "way"

LONGEST, SHORTEST, MOST_WORDS, MOST_TEXT = 400, 12, 40, 20_000
MOST_SPOKEN = 1_500
_QUOTED = re.compile(r"```.*?(?:```|\Z)|^(?:>| {4}|\t)[^\n]*$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*>")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n+")
_DOUBTS = re.compile(
    r"\?|^if\b|\b(?:maybe|perhaps|might|could we|should (?:we|i)|shall|if (?:we|i|you|it)|unless|what if|wonder|whether|not sure|i think|i guess"
    r"|probably|suppose|imagine|would|said|says|wrote|told|they say|docs say|according to|for example|e\.g\.|in theory|hypothetically|supposedly|wish"
    r"|nor am i|not that|we have not)\b",
    re.IGNORECASE,
)
_CITED = re.compile(r"[\"“](?:[^\s\"”]+\s+){2,}[^\"”]*[\"”]")
_OTHERS = re.compile(r"\byou (?:should|could|might|can|need|have to|must|may)\b", re.IGNORECASE)
_LEAD = r"^(?:(?:ok|okay|so|and|also|no|yes|well|right|then|btw|please|note|important)\W+)*"
_VERB = (
    r"(?:use|run|write|add|put|keep|make|call|name|commit|push|test|check|format|prefer|avoid|include|ask|show|give|answer|reply|create|delete|"
    r"remove|change|touch|edit|import|install|mock|skip|explain|return|document|wrap|indent|squash|rebase|merge|start|end)"
)
_DECIDED = re.compile(
    rf"{_LEAD}(?:(?:we|i)(?:'ve| have)? (?:have )?(?:now |finally |just )?(?:decided|agreed|chose|settled|opted) (?:to|on|for|that|against) \w"
    r"|(?:we|i)(?:'re| are|'m| am) (?:going|sticking|staying) with \w"
    r"|we went with \w|we(?:'ll| will) (?:stick|go) with \w"
    r"|(?:we|i) (?:have )?(?:switched|moved|migrated) (?:from \w.* )?to \w"
    r"|let's (?:use|drop|keep|go with|stick with) (?!going\b|it\b|that\b|this\b|the (?:first|second|third|last|other|same)\b)\w"
    r"|(?:the )?decision(?: is)?: ?\w)",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"{_LEAD}(?:i (?:really |strongly |always |much )?(?:prefer|hate|dislike|can't stand) (?!not\b)\w|i'd rather (?!not\b)\w|my favou?rite\b"
    rf"|from now on,? (?!i\b)|in future,? {_VERB}\b|always {_VERB}\b|(?:please )?(?:never|don't ever) {_VERB}\b|(?:each|every|all) .+ must \w"
    rf"|when you \w+ .*, (?:always |never )?{_VERB}\b|make sure (?:to|you|that you) (?:always|never)\b"
    rf"|(?:do not|don't) {_VERB}\b.*\b(?:again|anymore|ever)\b|use \w.* instead(?: of \w.*)?[.!]?$)",
    re.IGNORECASE,
)
_WISHED = re.compile(
    rf"{_LEAD}(?:i (?:like|love|want|need) (?:it when |when |you to )?\w|please (?:do not |don't )?{_VERB}\b)", re.IGNORECASE
)
_LASTING = re.compile(r"\b(?:always|never|from now on|again|anymore|in future)\b", re.IGNORECASE)
_CORRECTED = re.compile(
    rf"^(?:(?:no|wrong|that's (?:wrong|not right|incorrect))[,.:;!] (?:{_VERB}\b|we \w+\b|the [\w ]+ (?:belongs?|goes|go|is|are)\b)"
    rf"|actually,? {_VERB}\b).*(?:,? not|instead of|rather than) \w",
    re.IGNORECASE,
)
_WARNED = re.compile(
    rf"{_LEAD}(?:do not|don't|never|avoid|stop) (?P<what>.+?)"
    r"(?:,? (?:because |since |as (?=it\b)|(?=it (?:breaks|fails|causes|leads)\b))|, (?=it \w+(?:s|ed)\b))(?P<why>.+)$",
    re.IGNORECASE,
)
_REACHED = re.compile(
    r"^(?:in [\w ]+, )?(?:we|i|the team)(?:'ve| have)? (?:finally |just |now )?(?:shipped|released|launched|finished|completed|migrated|fixed|solved"
    r"|resolved) \w",
    re.IGNORECASE,
)

_SELF = re.compile(r"^(?:(?:yes|well|also|and|so|btw)\W+)*(?:i|we|my|our)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"^(?:(?:also|so|and|but|well)\W+)?(?:i|we)(?:'d|'m|'re| would| am| are| was| were)? (?:(?:really|just|also|still|now|\w+ly) )*(?:like to|love to"
    r"|looking|trying|hoping|thinking|wondering|considering|interested|curious|glad|sure|excited|want|need|hope|wish|think|guess|believe|mean|see|agree|understand|know"
    r"|feel like|have to|get it|bet|can|could|should)\b|^(?:i|we)'ll (?:definitely|try|consider|check|look|give|have to)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(?:(?:The|An?|All|Each|Every|Most|Both|These|Those) (?!is\b|are\b|was\b)[\w-]+|[A-Z][\w-]*(?<![su])s\b(?!')"
    r"|[A-Z][\w-]*(?: [A-Z][\w-]*)* (?:is|was|has|had|\w+ed)\b)(?=.*[.!]$)"
)
_ELSEWHERE = re.compile(r"^(?:it|they|this|that|these|those|here|there|he|she|what|thanks|yes|no)(?:'s|'re)?\b", re.IGNORECASE)
_STATED = re.compile(r"\b(?:is|are|was|were|has|have|had|owns?|\w{2,}(?:[^s]s|ed))\b")
_SPECIFIC = re.compile(
    rf"\d|(?<=\w[ ,] )[A-Z]\w|(?<=\w )[A-Z]\w|\w/\w|\w_\w|\b(?:{'|'.join([*sorted(numerals().keys() - {'a', 'an', 'one'}), *DAYS])}"
    r"|yesterday|today|tonight|tomorrow|last|next|ago|since|called|named)\b"
)
_PROBLEM = re.compile(
    r"\b(?:errors?|exceptions?|bugs?|broken|stuck|crash(?:es|ed)?|fail(?:s|ed|ing)?|not working|(?:does|do|did)n't work|i(?: still)? (?:get|see))\b",
    re.IGNORECASE,
)
"""Words of a report on how things are at the moment, which is no lasting fact."""
_OUTPUT = re.compile(
    r"^[A-Z\s]{8,}\b|^[d-][rwx-]{9}|^Traceback|^\s*(?:File|at) |[{};]$|^\w+(?:Error|Exception)\b|^(?i:error|warning|info|debug)\W"
)

_WORKED = (
    r"worked\b(?! (?:with|as|at|in|to|together|there|on (?!the first))\b)|did the trick|made it work"
    r"|(?:has |have )?(?:fixed|solved|resolved|cured) (?:it|this|that|the|my|our)\b"
    r"|made (?:it|the [\w ]+?) pass\b"
)
_FAILED = r"(?:did not|didn't) (?:work|help|fix|solve)\b|failed\b|made (?:it|things) worse|had no effect"
_WORKING, _FAILING = (re.compile(rf"\b(?:{verdict})", re.IGNORECASE) for verdict in (_WORKED, _FAILED))
_USED = re.compile(
    rf"{_LEAD}(?:i|we)(?:'ve| have)? (?:used|tried|applied|chose|took|went with) (?!to\b)(?P<way>.+?),? (?:which|(?:and|but) (?:it|that|this))"
    rf" (?:(?P<good>{_WORKED})|(?P<bad>{_FAILED}))",
    re.IGNORECASE,
)
_BY = re.compile(
    rf"{_LEAD}(?:i|we)(?:'ve| have)? (?P<good>fixed|solved|resolved|cured|repaired) \w.{{0,80}}? by (?P<way>\w+ing .+?)[.!]?$",
    re.IGNORECASE,
)
_DID = re.compile(
    rf"{_LEAD}(?P<way>(?!running|executing|testing|building)\w+ing\b.*?"
    r"|the (?:[\w-]+ ){1,4}(?:approach|method|strategy|workaround|solution))"
    rf" (?:(?P<good>{_WORKED})|(?P<bad>{_FAILED}))",
    re.IGNORECASE,
)
_HELPED = re.compile(
    rf"{_LEAD}(?!(?:the|an?|all|our|my|this|that|it|these|everything) )(?P<way>[a-z-]+(?: [\w-]+){{1,3}})"
    rf" (?:(?P<good>{_WORKED})|(?P<bad>(?:did not|didn't) (?:work|help)\b))",
    re.IGNORECASE,
)
_NO_WAY = re.compile(
    r"^(?:i|we|you|he|she|they|it|this|that|nothing|everything|tests?)\b|\b(?:what|that|which|who|how|you|he|she|they|one|already|also|still|never|nothing|has"
    r"|have|had|is|are|was|were|will|should|must|can)\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"\b(?:because|since|as) (.+?)[.!]?$", re.IGNORECASE)
_POLITE = re.compile(
    rf"{_LEAD}(?:now |please )?(?:(?:can|could|would|will) you (?:please )?|(?:i|we) (?:want|need|would like) you to |i'd like you to )?",
    re.IGNORECASE,
)
_NO_REQUEST = re.compile(
    r"^(?:i|i'm|it|it's|that|that's|this|thanks|thank|great|good|nice|perfect|cool|sure|hi|hello|hey|sorry|never mind|go ahead)\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """One sentence with what it states, as it was written but for marks of layout.

    `why` is the reason of a warning or a failure; `way` and `is_good` belong to a way that worked or failed.
    """

    kind: str
    text: str
    why: str = ""
    way: str = ""
    is_good: bool = False


def read_statements(text: str) -> Iterator[Statement]:
    """Yields the statements of a person in a text of their own, at most one a sentence; code, quotations, notes and output are left out.

    A text of more than 1,500 characters is taken for pasted: it states no facts. What stands behind its first 20,000 is not read.
    """
    for sentence in _sentences(text):
        found = _stated(sentence)
        if found is not None and not (found.kind == FACT and len(text) > MOST_SPOKEN):
            yield found


def read_ways(text: str) -> Iterator[Statement]:
    """Yields the ways of which a text says that they worked or failed, at most one a sentence. Plans, hopes, and what first worked and then failed,
    or the other way round, are left out."""
    for sentence in _sentences(text):
        found = _USED.match(sentence) or _BY.match(sentence) or _DID.match(sentence) or _HELPED.match(sentence)
        if found is None or _NO_WAY.search(found["way"]) or _OTHERS.search(sentence):
            continue
        is_good = found.groupdict().get("bad") is None
        if (_FAILING if is_good else _WORKING).search(sentence, found.end()):
            continue
        why = _WHY.search(sentence, found.end("way"))
        yield Statement(WAY, sentence, why[1] if why and not is_good else "", found["way"].strip(" ,"), is_good)


def request_in(text: str) -> str:
    """Returns the sentence of a text in which work is asked for, "" if there is none: questions, statements and courtesies ask for none."""
    for line in _ENDS.split(own_text(text[:MOST_TEXT])):
        asked = _POLITE.sub("", one_line(line))
        if 3 <= len(asked.split()) <= MOST_WORDS and not (
            (asked.endswith("?") and asked == one_line(line))
            or _NO_REQUEST.match(asked)
            or _stated(asked.replace("’", "'"))
            or _OUTPUT.search(asked)
        ):
            return asked.rstrip(" ?!.,")
    return ""


def own_text(text: str) -> str:
    """Returns the part of a message that its speaker wrote: no code, no quotation, and no notes or reminders that a program put into it."""
    own = without_notes(text)
    return "" if FENCE in own else _QUOTED.sub("\n", _without_tagged(own))


def _without_tagged(text: str) -> str:
    """Returns a text without the parts that programs put between tags: reminders, notes of a memory, files."""
    tags = list(_TAG.finditer(text))
    ends: dict[str, list[int]] = {}
    for tag in tags:
        if tag[1]:
            ends.setdefault(tag[2], []).append(tag.end())
    kept, at = list[str](), 0
    for tag in tags:
        following = ends.get(tag[2], [])
        place = bisect_right(following, tag.end())
        if not tag[1] and tag.start() >= at and place < len(following):
            kept.append(text[at : tag.start()])
            at = following[place]
    return "\n".join([*kept, text[at:]])


def _sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text that a rule may look at."""
    for sentence in _ENDS.split(own_text(text[:MOST_TEXT])):
        plain = one_line(re.sub(r"^[\s*#>-]+|`|\*\*", "", sentence).replace("’", "'"))
        if (
            SHORTEST <= len(plain) <= LONGEST
            and len(plain.split()) <= MOST_WORDS
            and not (_DOUBTS.search(plain) or _CITED.search(plain) or _OUTPUT.search(plain))
        ):
            yield plain


def _stated(sentence: str) -> Statement | None:
    if _OTHERS.search(sentence):
        return None
    if (warned := _WARNED.match(sentence)) and len(warned["what"].split()) > 1:
        return Statement(WARNING, sentence, warned["why"].strip(" .!"))
    if _DECIDED.match(sentence):
        return Statement(DECISION, sentence)
    if _CORRECTED.match(sentence) or _WANTED.match(sentence) or (_WISHED.match(sentence) and _LASTING.search(sentence)):
        return Statement(PREFERENCE, sentence)
    if _REACHED.match(sentence):
        return Statement(MILESTONE, sentence)
    return Statement(FACT, sentence) if _is_fact(sentence) else None


def _is_fact(sentence: str) -> bool:
    if len(sentence.split()) < 4 or any(one.search(sentence) for one in (_ELSEWHERE, _ASKED, _PROBLEM)):
        return False
    if _SELF.match(sentence):
        return _SPECIFIC.search(sentence) is not None
    return bool(_SUBJECT.match(sentence) and _STATED.search(sentence) and _SPECIFIC.search(sentence))
