"""Text that reads as if it told a model what to do. It is kept as data all the same; whoever shows it can say so."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

FLAGGED = "flagged"
INSTRUCTION = "reads like an instruction"

_UP_TO_3 = r"\W+(?:\w+\W+){0,3}?"
_RULES = r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|commands?|programming|polic(?:y|ies)|restrictions?)"
_MODEL = r"(?:ai|llm|language\W+models?|assistants?|agents?|chatbots?)"

_SIGNS = (
    (  # setting rules aside
        ("ignore", "disregard", "forget", "overrid", "bypass", "discard"),
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|discard)\b{_UP_TO_3}
             (?:(?:previous|prior|above|earlier|preceding|former|original|system|safety|your|these)\W+(?:\w+\W+){{0,2}}?{_RULES}
              |{_RULES}\W+(?:above|before|given|you\W+(?:were|have))
              |(?:everything|anything|all|what)\W+(?:\w+\W+){{0,3}}?(?:above|before|previously|told))\b""",
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
             (?:unrestricted|unfiltered|uncensored|jailbroken|no\W+(?:rules|restrictions|limits)|root|administrator)\b""",
    ),
    (  # asking for the prompt
        ("prompt", "instruction", "guideline", "your rules", "system message"),
        rf"""\b(?:reveal|print|show|output|repeat|display|leak|expose|dump|tell\W+me|give\W+me|send\W+me)\b{_UP_TO_3}
             (?:(?:system|initial|hidden|original|secret|developer)\W+(?:prompts?|instructions?|messages?)|your\W+(?:prompts?|instructions?|guidelines|rules))\b
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
    (("jailbreak", " mode "), r"\b(?:jailbreak|developer|god|dan)\s+mode\s+(?:is\s+)?(?:enabled|activated|on)\b"),
)
"""Of each sign, words one of which stands in any text that bears it, which is looked for first and cheaply; and what the sign is."""


_HINTS = tuple(dict.fromkeys(hint for hints, _ in _SIGNS for hint in hints))


def reads_like_an_instruction(text: str) -> bool:
    """Whether a text addresses the model: sets its rules aside, gives it a role, asks for its prompt, hides from the user, or apes its markup.

    A look at the words, no more: it warns of the plain cases, and is no wall against the clever ones.
    """
    is_in_text = text.lower().__contains__
    if not any(map(is_in_text, _HINTS)):
        return False
    return any(_compiled(sign).search(text) for hints, sign in _SIGNS if any(map(is_in_text, hints)))


@cache
def _compiled(sign: str) -> re.Pattern[str]:
    """Compiled when it is needed first: that takes longer than all the rest of opening this file."""
    return re.compile(sign, re.VERBOSE | re.IGNORECASE | re.MULTILINE)


def flagged(metadata: Mapping[str, Any], *texts: object) -> dict[str, Any]:
    """The metadata of a memory with such texts, which says so where one of them reads like an instruction."""
    found = reads_like_an_instruction("\n".join(text for text in texts if isinstance(text, str)))
    return {**metadata, FLAGGED: INSTRUCTION} if found else dict(metadata)
