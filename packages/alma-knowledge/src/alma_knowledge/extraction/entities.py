"""Names in a text that are used often."""

import re
from collections import Counter
from typing import NamedTuple

from alma.errors import ValidationError
from alma.text import DAYS, MONTHS, STOPWORDS

_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,4}|\b\w+[A-Z_]\w*\b")
_BEGINS = re.compile(r"(?:^|[.!?:\n]\s*|[\"“(*#>-]\s*)$")
_NO_NAMES = STOPWORDS | {*DAYS, *MONTHS}
_POSSESSIVE = re.compile(r"['’]s?$")


class DetectedEntity(NamedTuple):
    """A name as it is written most often, and how often it stands in the text."""

    name: str
    frequency: int


def detect_entities(text: str, min_frequency: int = 3) -> list[DetectedEntity]:
    """Returns the names in a text, the most frequent first: words with a capital, which stand inside of a sentence at least once, and
    identifiers.

    Days, months and stop words are none. `ValidationError` if `min_frequency` is below 1.
    """
    if min_frequency < 1:
        raise ValidationError(f"min_frequency is {min_frequency!r}; it must be 1 or more")
    found: Counter[str] = Counter()
    inside: set[str] = set()
    for match in _NAME.finditer(text):
        begins = _BEGINS.search(text[max(match.start() - 4, 0) : match.start()]) is not None
        words = match[0].split(" ")
        while words and _POSSESSIVE.sub("", words[0]).lower() in _NO_NAMES:
            words, begins = words[1:], False
        name = _POSSESSIVE.sub("", " ".join(words))
        if len(name) > 1:
            found[name] += 1
            if not begins:
                inside.add(name)
    return [DetectedEntity(name, count) for name, count in found.most_common() if count >= min_frequency and name in inside]
