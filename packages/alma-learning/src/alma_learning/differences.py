"""Whether something speaks against two texts being one way."""

import re
from functools import lru_cache

NUMBERS = {
    w: str(i)
    for i, w in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
NUMBERS |= {"percent": "%", "twice": "2", "once": "1", "thrice": "3"}
NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "without",
        "dont",
        "nothing",
        "none",
        "cannot",
        "nicht",
        "kein",
        "keine",
        "ohne",
        "nie",
        "sin",
        "nunca",
        "jamas",
        "pas",
        "jamais",
        "sans",
    ]
)
OPPOSITES = [
    tuple(map(frozenset, (a.split(), b.split())))
    for a, b in (
        ("before first beforehand earlier", "after afterwards later"),
        ("enable enabled on activate", "disable disabled off deactivate"),
        ("up increase increased raise raised", "down decrease decreased lower lowered reduce reduced"),
        ("start started", "stop stopped"),
        ("add added", "remove removed delete deleted"),
        ("open opened", "close closed"),
        ("allow allowed accept accepted", "deny denied reject rejected refuse refused"),
        ("lock locked", "unlock unlocked"),
        ("install installed", "uninstall uninstalled"),
        ("upgrade upgraded", "downgrade downgraded"),
        ("push pushed", "pull pulled"),
        ("encrypt encrypted", "decrypt decrypted"),
        ("sync synchronous", "async asynchronous"),
        ("left", "right"),
        ("inner", "outer"),
        ("with", "without"),
        ("more", "less fewer"),
        ("always", "never"),
        ("all", "none"),
        ("ascending", "descending"),
        ("min minimum", "max maximum"),
        ("public", "private"),
        ("internal", "external"),
        ("manual manually hand", "automatic automatically"),
        ("same", "different"),
        ("forward", "back backward"),
    )
]
WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*|%", re.U)


@lru_cache(50_000)
def _words(text: str) -> tuple[str, ...]:
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text.replace("'", "").replace("’", ""))
    return tuple(NUMBERS.get(w, w) for w in WORD.findall(text.casefold()))


@lru_cache(50_000)
def normalise(text: str) -> str:
    """Returns the words of a text, equal for the same way in equal words."""
    return " ".join(_words(text)) or text


@lru_cache(50_000)
def differ(a: str, b: str) -> bool:
    """Returns True if a number, a negation, an opposite or another call says that two texts are not one way."""
    from alma_learning.actions import PROGRAMS, read_calls, read_steps

    x, y = read_steps(a), read_steps(b)
    if len(x) > 1 and len(y) > 1 and set(x) != set(y):
        return True
    x, y = ([n for n, _ in read_calls(t) if n.split()[0] in PROGRAMS] for t in (a, b))
    if x and y and not set(x) & set(y) and {n.split()[0] for n in x} & {n.split()[0] for n in y}:
        return True
    p, q = set(_words(a)), set(_words(b))
    m, n = ({w for w in s if w[0].isdigit()} for s in (p, q))
    if m and n and not m & n:
        return True
    if bool(p & NEGATIONS) != bool(q & NEGATIONS) and len(p & q) >= 0.5 * min(len(p), len(q)):
        return True
    return any((p & s and q & t and not (p & t or q & s)) or (p & t and q & s and not (p & s or q & t)) for s, t in OPPOSITES)
