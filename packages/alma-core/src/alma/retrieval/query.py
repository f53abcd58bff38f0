"""What is asked, made ready for the two searches."""

import re
from collections.abc import Iterable, Sequence

from alma.text import telling_words

MAX_WORDS = 64
"""Of a longer query only the first telling words are matched; its meaning is searched whole."""


def query_words(task: str) -> Sequence[str]:
    """The words to match in full text."""
    return telling_words(task)[:MAX_WORDS]


def without_names(task: str, names: Iterable[str]) -> str:
    """The task without the names of agents: who asks says nothing about what is asked. The task itself if nothing else is in it."""
    known = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    if not known:
        return task
    rest = re.sub(rf"(?<!\w)(?:{'|'.join(known)})(?!\w)", " ", task, flags=re.IGNORECASE)
    return " ".join(rest.split()) if telling_words(rest) else task
