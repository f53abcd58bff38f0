"""Text that reads like an instruction to a model: gives orders, has code fetched and run, steps around a check, or writes to a memory.

It is kept as data all the same; a caller that shows it can say so.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Any

from alma.learning.suspicion_abroad import SIGNS_ABROAD
from alma.types.prompt import DOUBTS

FLAGGED = "flagged"
INSTRUCTION, REMOTE_CODE, BYPASS, MEMORY = DOUBTS
"""What `metadata["flagged"]` may say: the first of these that holds."""

_UP_TO_3 = r"\W+(?:\w+\W+){0,3}?"
_RULES = r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|commands?|programming|polic(?:y|ies)|restrictions?)"
_MODEL = r"(?:ai|llm|language\W+models?|assistants?|agents?|chatbots?)"

_SIGNS = (
    (  # setting rules aside
        ("ignor", "disregard", "forget", "overrid", "bypass", "discard"),
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|discard)\b{_UP_TO_3}
             (?:(?:previous|prior|above|earlier|preceding|former|original|system|safety|security|your|these)\W+(?:\w+\W+){{0,2}}?{_RULES}
              |{_RULES}\W+(?:above|before|given|you\W+(?:were|have))
              |(?:everything|anything|all|what)\W+(?:\w+\W+){{0,3}}?(?:above|before|previously|told))\b""",
    ),
    (  # the same in other words: whatever the verb, all that was told before
        ("told", "instructed", "been given", "taught", "programmed"),
        r"""\b(?:ignor|disregard|forget|overlook|neglect|dismiss|drop|discard|abandon|set\W+aside|pay\W+no\W+attention\W+to|do\W+not\W+follow)\w*
            \W+(?:all|everything|anything|whatever|any|every)\b\W+(?:\w+\W+){0,4}?you(?:['’]ve|\W+have|\W+were|\W+had)?\W+(?:\w+\W+){0,2}?
            (?:told|instructed|taught|given|programmed|asked|trained)\b""",
    ),
    (
        ("ignore th", "ignore all", "disregard th", "forget th"),
        r"""\b(?:ignore|disregard|forget)\W+(?:the|this|that|these|those|all)\W+(?:\w+\W+){0,3}?and\W+(?:only\W+|just\W+|instead\W+)?
            (?:say|state|print|write|output|reply|respond|answer|repeat)\b(?:\W+(?:only|with))?\s*[:'"“‘]""",
    ),
    (("new ",), r"\bnew\W+(?:persona|role|identity|personality|directives?|objective|system\W+prompt)\s*:"),
    (
        ("override",),
        r"\b(?:system|admin(?:istrator)?|developer|root|security|safety|emergency|operator)\W+override\s*[:!]",
    ),
    (  # giving orders and roles
        ("re now", "must now", "will now", "shall now", "no longer", "instead"),
        r"""\byou\W+(?:must|shall|will)\W+(?:now|instead)\b | \byou\W+should\W+instead\b
          | \byou(?:\W+a|['’])re\W+now\W+(?:an?|dan|in|free|acting|playing|operating|unrestricted)\b
          | \byou\W+are\W+no\W+longer\W+(?:an?|bound|restricted|limited)\b""",
    ),
    (
        ("from now on", "henceforth"),
        r"\b(?:from\W+now\W+on|henceforth)\W+(?:you\b|(?:please\W+)?(?:always|never|respond|reply|answer|act|approve|ignore|use|call|send|treat)\b)",
    ),
    (
        ("pretend", "act as", "behave as"),
        rf"""\b(?:pretend|act|behave)\W+(?:to\W+be|as\W+if|as\W+though|as\W+an?|that)\b{_UP_TO_3}
             (?:unrestricted|unfiltered|uncensored|jailbroken|no\W+(?:rules|restrictions|limits)|root|superuser|administrator)\b""",
    ),
    (
        ("act as", "behave as", "operate as"),
        r"""\b(?:act|behave|operate)\W+as\W+(?:an?\W+|the\W+)?(?:\w+\W+)?(?:admin\w*|root|superuser|sudo)\b
            [^.\n]{0,40}\b(?:full|all|unlimited|any)\b""",
    ),
    (
        ("unrestricted", "unfiltered", "uncensored", "jailbroken"),
        r"\byou(?:\W+are|['’]re)\W+(?:now\W+)?(?:an?\W+)?(?:\w+\W+){0,2}?(?:unrestricted|unfiltered|uncensored|jailbroken)\b",
    ),
    (  # asking for the prompt
        ("prompt", "instruction", "guideline", "your rules", "system message"),
        rf"""\b(?:reveal|print|show|output|repeat|display|leak|expose|dump|encode|recite|see|tell\W+me|give\W+me|send\W+me)\b{_UP_TO_3}
             (?:(?:system|initial|hidden|original|secret|developer)\W+(?:prompts?|instructions?|messages?)
              |your\W+(?:prompts?|instructions?|guidelines|rules))\b
          | \b(?:new|updated|real|actual|important)\W+(?:system\W+)?(?:instructions?|prompt)(?:\W+(?:for|to)\W+(?:you|the\W+{_MODEL}))?\s*:
          | \binstructions?\W+(?:to|for)\W+(?:(?:the|any|all)\W+)?{_MODEL}\b\s*[:,]""",
    ),
    (
        ("attention", "note to", "note for", "message to", "message for"),
        rf"\b(?:attention|notes?|messages?)\W+(?:(?:to|for)\W+)?(?:(?:the|any|all)\W+)?{_MODEL}\b\s*[:,]",
    ),
    (  # hiding from the user
        ("the user", "the human", "the operator"),
        r"""\b(?:do\W+not|don['’]?t|never|without)\W+(?:tell|inform|mention|alert|notify|reveal|show)(?:ing)?\b\W+(?:\w+\W+){0,4}?
            the\W+(?:user|human|operator)\b""",
    ),
    (  # a turn of its own, and the markup of chats and tools
        ("system", "assistant:", "developer:"),
        r"""(?:^|["'>])[ \t]{0,8}(?:system|assistant|developer)(?:\W+(?:prompt|message|note|override))?\s?:""",
    ),
    (
        ("<", "inst]", "###", "_call"),
        r"""<\|[a-z_]{2,40}\|> | \[/?inst\] | <</?sys>> | ^[ \t]{0,8}\#\#\#[ \t]?(?:system|instructions?|assistant)\b
          | "(?:tool_calls?|function_call)"\s*:
          | (?<!\w)</?(?:system|assistant|instructions?|tool_(?:calls?|use|results?)|function_(?:calls?|results?)|invoke)\b(?!\.)[^<>\n]{0,80}>""",
    ),
    (
        ("initially", "originally", "at the start", "at the beginning"),
        r"""\b(?:text|prompt|words|messages?|instructions?)\W+(?:that\W+)?you\W+(?:were|had\W+been|have\W+been)\W+(?:given|told|shown|sent)\W+
            (?:initially|originally|at\W+the\W+(?:start|beginning))\b""",
    ),
    (("jailbreak", " mode "), r"\b(?:jailbreak|developer|god|dan)\s+mode\s+(?:is\s+)?(?:enabled|activated|on)\b"),
)
_OTHER_SIGNS = (
    (
        REMOTE_CODE,
        ("curl", "wget", "iwr", "irm", "downloadstring", "invoke-webrequest", "base64", "/dev/tcp/", "execute"),
        r"""\b(?:curl|wget|fetch)\b[^|\n]{0,300}\|\s*(?:sudo\s+)?(?:\w*sh|python\d?|perl|ruby|node)\b
          | \b(?:\w*sh|source|\.)\s+<\(\s*(?:curl|wget)\b | \b(?:eval|exec|\w*sh\s+-c)\s+["']?\$\(\s*(?:curl|wget)\b
          | \biex\b[^\n]{0,80}(?:iwr|irm|downloadstring|invoke-webrequest) | (?:iwr|irm|invoke-webrequest)\b[^|\n]{0,200}\|\s*iex\b
          | \bbase64\s+(?:-d|--decode|-D)\b[^|\n]{0,100}\|\s*(?:sudo\s+)?\w*sh\b | >&\s*/dev/tcp/
          | \b(?:download|fetch|retrieve|pull)\s+and\s+(?:then\s+)?(?:execute|run|eval)\b[^.\n]{0,80}(?:https?://|\bremote\b|\bscript\b)""",
    ),
    (
        BYPASS,
        ("skip", "bypass", "disabl", "regardless", "forc", "drop"),
        r"""\b(?:skip|bypass|disabl|drop|forc|suppress|avoid)\w*\b[^\n]{0,90}?
            \b(?:validat|verif|check|review|audit|approv|consent|schema|test|gate)\w*
            [^\n]{0,90}?\b(?:mark|flag|stamp|record|report|set)\w*\s+(?:\w+\s+){0,4}?(?:as\s+|to\s+)?
            (?:passed|success\w*|approved|clean|sanitized|verified|validated)\b
          | \b(?:record|report|return|mark|show)\w*\s+(?:\w+\s+){0,3}?(?:success|passed|ok|approved)\w*\s+(?:regardless|no\s+matter|whatever)\b
          | \b(?:skip|bypass|disable)\s+(?:\w+\s+){0,3}?(?:approval|consent|audit|security)\w*[^.\n]{0,80}
            \bwithout\s+(?:telling|asking|informing|notifying|logging)""",
    ),
    (
        MEMORY,
        ("remember", "memory", "memorize", "directive"),
        r"""\b(?:remember|save|store|record|persist|write|add|memorize|commit|keep|treat)\W+(?:this|that|it|these|the\W+following)\W+
            (?:\w+\W+){0,3}?(?:as|to|in|into)\W+
            (?:(?:\w+\W+){0,2}?(?:system|permanent|core|persistent|standing|global)\W+(?:directive|instruction|rule|prompt|policy|order|command)s?
              |your\W+(?:long\W?term\W+|permanent\W+|persistent\W+|core\W+)?(?:memory|instructions|directives|system\W+prompt))\b
          | \[\s*(?:user|system|assistant|agent|long_?term)[_ ](?:memory|prompt|instructions?|rules?|directives?)\s*[=:]
          | \b(?:always|forever)\W+remember\b[^.\n]{0,60}\byou\W+(?:must|shall|should|are|have\W+to)\b""",
    ),
)
"""Of each sign the reason, words one of which stands in any text that bears it, which are looked for first and cheaply, and what the sign is."""

_ALL_SIGNS = (*((INSTRUCTION, hints, sign) for hints, sign in (*_SIGNS, *SIGNS_ABROAD)), *_OTHER_SIGNS)
_HINTED = tuple((hint, place) for place, (_, hints, _) in enumerate(_ALL_SIGNS) for hint in hints)
"""Hints, each with the place of a sign."""

_HINTS = tuple(dict.fromkeys(hint for hint, _ in _HINTED))
_HINTED_BY_TWO_WORDS = tuple((hint, place) for hint, place in _HINTED if " " in hint)
"""Those that may begin in one text and end in the next, with the space between them."""

_LONGEST = max(map(len, _HINTS))


_EDGE = 200
"""Characters of a text that are looked at together with another one."""

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that are not shown: soft hyphens, spaces without width, marks of direction, tags."""


def reason_to_doubt(text: str) -> str | None:
    """Why a text is suspicious, one of `DOUBTS`, or `None`: it addresses the model, has code run, steps around a check or writes to a memory.

    A look at the words, no more: it warns of the plain cases, and is no wall against the clever ones.
    """
    text = text if text.isascii() else _as_read(text)
    if not _has_hint(text):
        return None
    is_in_text = text.lower().__contains__
    found = (reason for reason, hints, sign in _ALL_SIGNS if any(map(is_in_text, hints)) and _compiled(sign).search(text))
    return next(found, None)


def doubted_together(texts: Sequence[str]) -> dict[int, str]:
    """Returns the reasons to doubt texts that are shown together: those of which the end of one and the beginning of another make an order, by place.

    What is suspicious by itself is not looked for. An order over three texts is not found.
    """
    read = [text if text.isascii() else _as_read(text) for text in texts]
    ends, beginnings = [text[-_EDGE:] for text in read], [text[:_EDGE] for text in read]
    hinted = _signs_hinted_at({*ends, *beginnings})
    found: dict[int, str] = {}
    for first, second in permutations(range(len(read)), 2):
        if signs := hinted[ends[first]] | hinted[beginnings[second]]:
            reason = _reason_across(ends[first], beginnings[second], signs)
            if reason is not None:
                found |= {first: reason, second: reason}
    return found


def _has_hint(text: str) -> bool:
    return any(map(text.lower().__contains__, _HINTS))


def _signs_hinted_at(texts: Collection[str]) -> dict[str, set[int]]:
    """Returns for each text the places of the signs of which a hint stands in it."""
    lower = {text: text.lower() for text in texts}
    is_in_any = "\n".join(lower.values()).__contains__  # most hints are in no text, which one look shows
    hints = [(hint, place) for hint, place in _HINTED if is_in_any(hint)]
    return {text: {place for hint, place in hints if hint in said} for text, said in lower.items()}


def _reason_across(end: str, beginning: str, signs: set[int]) -> str | None:
    """Why two texts are suspicious by what begins in the one and ends in the other. `signs` are those hinted at in one of them."""
    before = f"… {end}"  # so that a text that was cut begins no line
    text = f"{before} {beginning}"
    joint = text[max(len(before) - _LONGEST, 0) : len(before) + _LONGEST].lower()
    across = (place for hint, place in _HINTED_BY_TWO_WORDS if hint in joint)
    for place in sorted(signs.union(across)):
        reason, _, sign = _ALL_SIGNS[place]
        found = _compiled(sign).finditer(text)
        if any(match.start() < len(before) and match.end() > len(before) + 1 for match in found):
            return reason
    return None


def _as_read(text: str) -> str:
    """The text as a reader sees it: without characters that are not shown, and with plain letters for wide and ornamental ones."""
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


@cache
def _compiled(sign: str) -> re.Pattern[str]:
    """Compiled when it is needed first: that takes longer than all the rest of opening this file."""
    return re.compile(sign, re.VERBOSE | re.IGNORECASE | re.MULTILINE)


def flagged(metadata: Mapping[str, Any], *texts: object) -> dict[str, Any]:
    """The metadata of a memory with such texts, which says why one of them is suspicious, where one is."""
    reason = reason_to_doubt("\n".join(text for text in texts if isinstance(text, str)))
    return dict(metadata) if reason is None else {**metadata, FLAGGED: reason}
