"""English words brought to their stems, for telling wordings apart, not for reading: `deploy`, `cach`."""

from functools import lru_cache

from alma_learning.word_lists import read_pairs

_LEAST, _SHARED = 4, 6


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Returns what the forms of an English word have in common: endings of number, tense and derivation are cut off. Names with digits stay."""
    lists = read_pairs("stems")
    word = lists["irregular"].get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    root = _without_tense(_without_plural(word))
    for ending, instead in lists["endings"].items():
        if root.endswith(ending) and len(root) - len(ending) >= _LEAST:
            root = root[: -len(ending)] + instead
            break
    return _round(root)


def stems(words: frozenset[str]) -> frozenset[str]:
    """Returns the stems of words."""
    return frozenset(map(stem, words))


def is_form(one: str, other: str) -> bool:
    """Returns True if two stems are equal, or so long and so alike that they must be forms of one word."""
    shorter = min(len(one), len(other))
    return one == other or (shorter >= _SHARED and one[:shorter] == other[:shorter])


def unmatched(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Returns those stems that none of the others is a form of."""
    return frozenset(one for one in some - others if not any(is_form(one, other) for other in others))


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    for ending, least in (("ing", 3), ("ed", 3), ("ly", 5)):
        root = word.removesuffix(ending)
        if root != word and len(root) >= least and any(vowel in root for vowel in "aeiouy"):
            return root
    return word


def _round(root: str) -> str:
    """Spellings of one sound made one: `-ize` and `-ise`, a doubled last letter, a silent e, the `at` of a verb whose noun ends in `-ation`."""
    root = root.removesuffix("e")
    if len(root) > _LEAST + 1 and root.endswith("at"):
        root = root[:-2]
    if len(root) > _LEAST and root.endswith("iz"):
        root = root[:-1] + "s"
    return root[:-1] if len(root) > 3 and root[-1] == root[-2] else root
