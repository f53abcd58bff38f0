"""Words brought to their stems, and which stems are opposites. For comparing words, not for reading: `deploy`, `cach`."""

from functools import cache, lru_cache
from importlib.resources import files

from alma_knowledge.vocabulary import IRREGULAR

_ENDINGS = (
    ("isations", "is"), ("isation", "is"), ("ations", ""), ("ation", ""), ("ments", ""), ("ment", ""), ("ions", ""), ("ion", ""),
    ("abilities", ""), ("ability", ""), ("able", ""), ("ibilities", ""), ("ibility", ""), ("ible", ""), ("ences", ""), ("ence", ""),
)  # fmt: skip
_UNDOING = ("un", "de", "dis", "non", "im", "in", "ir", "a", "mis", "anti")
_LEAST = 4


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Returns what the forms of an English word have in common: endings of number, tense and derivation are cut off. Names with digits stay."""
    word = IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    root = _without_tense(_without_plural(word))
    for ending, instead in _ENDINGS:
        if root.endswith(ending) and len(root) - len(ending) >= _LEAST:
            root = root[: -len(ending)] + instead
            break
    return _rounded(root)


@lru_cache(maxsize=16_384)
def opposites(word: str) -> frozenset[str]:
    """The stems that are opposites of a stem: those that are listed, and what is left of it without a prefix that undoes."""
    undone = (
        word[len(prefix) :]
        for prefix in _UNDOING
        if word.startswith(prefix) and len(word) >= _LEAST + len(prefix) - (prefix == "un")
    )
    return _both_ways().get(word, frozenset()).union(undone)


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


def _rounded(root: str) -> str:
    """Spellings of one sound made one: `-ize` and `-ise`, a doubled last letter, a silent e, the `at` of a verb whose noun ends in `-ation`."""
    root = root.removesuffix("e")
    if len(root) > _LEAST + 1 and root.endswith("at"):
        root = root[:-2]
    if len(root) > _LEAST and root.endswith("iz"):
        root = root[:-1] + "s"
    return root[:-1] if len(root) > 3 and root[-1] == root[-2] else root


@cache
def _both_ways() -> dict[str, frozenset[str]]:
    listed: dict[str, set[str]] = {}
    for line in files("alma_knowledge").joinpath("opposites.txt").read_text(encoding="utf-8").splitlines():
        left, right = ([stem(word) for word in side.split()] for side in line.split("/"))
        for one in left:
            for other in right:
                listed.setdefault(one, set()).add(other)
                listed.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in listed.items()}
