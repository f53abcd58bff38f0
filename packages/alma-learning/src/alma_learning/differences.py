"""Differences in words that speak against two texts being one way to do a thing, and one spelling of texts that say it in equal words."""

import re
import unicodedata
from functools import lru_cache

from alma_learning.actions import has_other_code
from alma_learning.numbers import numbers_apart, read_in_order
from alma_learning.shell import program_of, write_out
from alma_learning.word_lists import read_lists
from alma_learning.wording import ONE, Wording, is_denied, is_one_word_apart, is_turned, read_wording

_SIGNS = re.compile(r"[^\W_]+|!=|[+#&|<>=$%^~]+|(?<!\S)--?(?=\w)|[\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff]")
READ_CHARS = 800
SHARED = 0.5


@lru_cache(maxsize=8_192)
def normalise(text: str) -> str:
    """Returns the words of a text with the signs that have a meaning beside them (`C++`, `<`, `-x`), in one spelling."""
    first, *words = text.split() or [""]
    plain = unicodedata.normalize("NFKC", " ".join((first, *write_out(program_of(first), words))))
    signs = [token for token in _SIGNS.findall(plain) if not token[0].isalnum()]
    items = [item for item, _ in read_in_order(plain) if item not in {",", *read_lists("words")["articles"]}]
    return " ".join(items + signs) or plain


def differ(a: str, b: str, *, are_named_alike: bool = False) -> bool:
    """Returns True if something speaks against two texts being one way. Opposites and "only" count only in texts that share words.

    Of texts that were given one name, other code and another word do not count, since the same can be done in many ways.
    """
    if normalise(a) == normalise(b):
        return False
    one, other = read_wording(a[:READ_CHARS]), read_wording(b[:READ_CHARS])
    articles = {ONE} if one.spoken != other.spoken else set()  # "one" may be an article
    return (
        (not are_named_alike and (has_other_code(a, b) or is_one_word_apart(one, other)))
        or all(numbers_apart(one.numbers - articles, other.numbers - articles))
        or is_denied(one, other)
        or (_share_words(one, other) and is_turned(one, other))
    )


def _share_words(one: Wording, other: Wording) -> bool:
    """Returns True if one of two texts has half of the telling words of the other."""
    mine, theirs = {*one.telling}, {*other.telling}
    return len(mine & theirs) >= SHARED * min(len(mine), len(theirs)) > 0
