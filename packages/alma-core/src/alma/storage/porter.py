"""English words without their endings, as FTS5's tokenizer `porter` makes them.

Porter (1980), "An algorithm for suffix stripping", Program 14(3), with the two later changes of its author, `bli` and `logi` in step 2. FTS5 does
this itself, but only for what is put into a table; a test holds the two against each other.
"""

SHORTEST, LONGEST = 3, 64
"""Shorter and longer words stay as they are, in characters."""

_KINDS = str.maketrans({letter: "v" if letter in "aeiou" else "c" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"})

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e",
    "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous",
    "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = dict.fromkeys(
    ["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"], ""
)  # fmt: skip


def stem(word: str) -> str:
    """What is left of a word of small ASCII letters and digits."""
    if not SHORTEST <= len(word) <= LONGEST:
        return word
    word = _without_tense(_without_plural(word))
    if word[-1] == "y" and "v" in _kinds(word[:-1]):
        word = word[:-1] + "i"
    for endings, longest in ((_STEP_2, 7), (_STEP_3, 5)):
        ending = _ending(word, endings, longest)
        if ending and _measure(word[: -len(ending)]) > 0:
            word = word[: -len(ending)] + endings[ending]
    ending = _ending(word, _STEP_4, 5)
    if ending and _measure(word[: -len(ending)]) > 1 and (ending != "ion" or word[-4] in "st"):
        word = word[: -len(ending)]
    return _tidied(word)


def _without_plural(word: str) -> str:
    if word[-1] != "s" or word[-2] == "s":
        return word
    return word[:-2] if (len(word) > 3 and word.endswith("ies")) or (len(word) > 4 and word.endswith("sses")) else word[:-1]


def _without_tense(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    root = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _kinds(root):
        return word
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if root[-1] == root[-2:-1] and root[-1] not in "aeioulsz":
        return root[:-1]
    return root + "e" if _measure(root) == 1 and _ends_short(root) else root


def _tidied(word: str) -> str:
    """Without a last e, and with one l for two, where enough is left."""
    if word[-1] == "e":
        root = word[:-1]
        measure = _measure(root)
        if measure > 1 or (measure == 1 and not _ends_short(root)):
            word = root
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _ending(word: str, endings: dict[str, str], longest: int) -> str:
    """The longest of the endings that the word has, and more than that; empty if it has none."""
    for size in range(min(longest, len(word) - 1), 1, -1):
        if word[-size:] in endings:
            return word[-size:]
    return ""


def _measure(root: str) -> int:
    """Porter's m: how often a consonant follows a vowel."""
    return _kinds(root).count("vc")


def _ends_short(root: str) -> bool:
    """Porter's *o: consonant, vowel, consonant, of which the last is not w, x or y."""
    return root[-1] not in "wxy" and _kinds(root).endswith("cvc")


def _kinds(root: str) -> str:
    """A `v` for each vowel and a `c` for each consonant; a y after a consonant is a vowel."""
    kinds = root.translate(_KINDS)
    if "y" not in root:
        return kinds
    found = list(kinds)
    for place, letter in enumerate(root):
        if letter == "y" and place and found[place - 1] == "c":
            found[place] = "v"
    return "".join(found)
