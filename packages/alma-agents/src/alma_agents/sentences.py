"""Statements of people in a chat: preferences, decisions, and ways not to take. Only where a sentence says so outright; in doubt, nothing."""

import re
from collections.abc import Iterator
from typing import NamedTuple

PREFERENCE, DECISION, WARNING = "preference", "decision", "warning"
_LONGEST, _SHORTEST, _MOST_WORDS = 400, 12, 40
_CODE = re.compile(r"```.*?(?:```|\Z)|^(?:>|\s{4,}|\t).*$", re.DOTALL | re.MULTILINE)
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n+")
_DOUBTS = re.compile(
    r"\?|\b(maybe|perhaps|might|could we|should (we|i)|shall|if (we|i|you|it)|unless|what if|wonder|not sure|i think|i guess|probably|suppose|would|"
    r"he said|she said|they said|said that|for example|e\.g\.|in theory|hypothetically|supposedly|wish|nor am i|not that)\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\byou (should|could|might|can|need|have to|must|may)\b", re.IGNORECASE)
_LEAD = r"^(?:(?:ok|okay|so|and|also|no|yes|well|right|then|btw|please|note|important)\W+)*"
_VERB = (
    r"(use|run|write|add|put|keep|make|call|name|commit|push|test|check|format|prefer|avoid|include|ask|show|give|answer|reply|create|delete|"
    r"remove|change|touch|edit|import|install|mock|skip|explain|return|document|wrap|indent|squash|rebase|merge|start|end)"
)
_DECIDED = re.compile(
    rf"{_LEAD}(?:(?:we|i)(?:'ve| have)? (?:have )?(?:now |finally |just )?(?:decided|agreed|chose|settled|opted) (?:to|on|for|that|against) \w"
    r"|(?:we|i)(?:'re| are|'m| am) (?:going|sticking|staying) with \w"
    r"|we went with \w|we(?:'ll| will) (?:stick|go) with \w"
    r"|(?:we|i) (?:have )?(?:switched|moved|migrated) (?:from \w.* )?to \w"
    r"|let's (?:use|drop|keep|go with|stick with) \w|(?:the )?decision(?: is)?: ?\w)",
    re.IGNORECASE,
)
_WANTED = re.compile(
    rf"{_LEAD}(?:i (?:really |strongly |always |much )?(?:prefer|like|want|need) (?:to have |it when |when |you to )?\w"
    r"|i (?:hate|dislike|can't stand) \w"
    rf"|from now on\b|always {_VERB}\b|(?:please )?(?:never|don't ever) {_VERB}\b|please (?:always |do not |don't )?{_VERB}\b"
    rf"|(?:do not|don't) {_VERB}\b.*\b(?:again|anymore|ever)\b|use \w.* instead(?: of \w.*)?[.!]?$)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(prefer|always|never|from now on|again|anymore|ever|hate|dislike|can't stand|instead|every|in future)\b", re.IGNORECASE
)
_WARNED = re.compile(
    rf"{_LEAD}(?:do not|don't|never|avoid|stop) (?P<what>.+?),? "
    r"(?:because|since|as it|it (?:breaks|fails|causes|leads))(?P<why> .+)$",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """One sentence with what it states. `why` is the reason of a warning."""

    kind: str
    text: str
    why: str = ""


def statements(text: str) -> Iterator[Statement]:
    """Yields what a person states in a text of their own: at most one statement a sentence. Code and quotations are left out."""
    for sentence in _ENDS.split(_CODE.sub("\n", text[:_MOST_TEXT])):
        plain = " ".join(re.sub(r"^[\s*#>-]+|`", "", sentence).split())
        if (
            not _SHORTEST <= len(plain) <= _LONGEST
            or len(plain.split()) > _MOST_WORDS
            or _DOUBTS.search(plain)
            or _OTHERS.search(plain)
        ):
            continue
        if (warned := _WARNED.match(plain)) and len(warned["what"].split()) > 1:
            yield Statement(WARNING, plain, warned["why"].strip(" .!"))
        elif _DECIDED.match(plain):
            yield Statement(DECISION, plain)
        elif _WANTED.match(plain) and _LASTING.search(plain):
            yield Statement(PREFERENCE, plain)


_MOST_TEXT = 20_000
