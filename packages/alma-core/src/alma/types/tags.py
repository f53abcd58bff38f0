"""Tags: the names of a prompt's items, and the one grammar by which a text cites them.

Stored text must neither cite nor end the notes: `defused` changes exactly what `cited_tags` would find, and what reads as the fence.
"""

import re
import string
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

from alma.errors import ValidationError
from alma.text import quoted
from alma.types.kinds import CUSTOM_LETTER, KINDS

LETTERS: dict[str, str] = {kind: spec.letter for kind, spec in KINDS.items()}

WAY = "S"
"""The letter of a way that was tried and is no rule yet."""

_ANY_LETTER = "".join([*LETTERS.values(), CUSTOM_LETTER, WAY])

TAG = rf"([a-z0-9]{{0,16}})([{_ANY_LETTER}][0-9]{{1,6}})"
"""A tag: a prefix, usually none, the letter of a kind, and a number within it."""


def is_of_way(tag: str) -> bool:
    """Returns True for the tag of a way that is no rule."""
    return parts_of(tag)[1].startswith(WAY)


_PREFIX = re.compile("[a-z0-9]{0,16}")


def not_an_id(given: str) -> str:
    """Returns the end of a message about an unknown id: that it is a tag, and where ids are; "" if it is none."""
    is_tag = re.fullmatch(TAG, given.strip().strip("[]")) is not None
    return (
        "; that is a tag, which names an item of one prompt: ids are in what `retrieve` returned, and in `alma list`"
        if is_tag
        else ""
    )


_OPENING = "[［﹇【〖〔〘〚︻︗︹﹝⁅❲⟦⟬⦋⦍⦏⦗⹕⹗"
_CLOSING = "]］﹈】〗〕〙〛︼︘︺﹞⁆❳⟧⟭⦌⦎⦐⦘⹖⹘"
_LESS = "<＜﹤≮˂ᐸ\u2329〈⟨❬❮❰《⟪︿︽"
_GREATER = ">＞﹥≯˃ᐳ\u232a〉⟩❭❯❱》⟫﹀︾"
_READ_AS = {
    "[": _OPENING,
    "]": _CLOSING,
    "<": _LESS,
    ">": _GREATER,
    ",": "、،",
    "h": "нһη",
    "a": "аα",
    "p": "рρ",
    "k": "кκ",
    "o": "оο",
    "c": "с",
    "s": "ѕ",
    "t": "т",
    "": "\u115f\u1160\u2800",
}
_LOOK_ALIKES = {character: plain for plain, characters in _READ_AS.items() for character in characters}
"""Characters that look alike and that Unicode's compatibility forms do not make equal: brackets, Cyrillic and Greek letters, invisible
characters."""

_SEPARATORS = ",;"
_OTHER_SIGNS = re.escape("".join(sign for sign in string.punctuation if sign not in _SEPARATORS) + _OPENING + _CLOSING)
_BRACKETED = re.compile(f"[{re.escape(_OPENING)}]([^{_OTHER_SIGNS}]*+)[{re.escape(_CLOSING)}]")
_CITED = re.compile(f"( ?)[{re.escape(_OPENING)}]([^{_OTHER_SIGNS}]*+)[{re.escape(_CLOSING)}]")
_ANGLES = re.compile(f"[{_LESS}{_GREATER}](?:[^!-~{_LESS}{_GREATER}]*+[{_LESS}{_GREATER}]){{2,}}+")
_FENCING = re.compile("<{3,}|>{3,}")
_HARMLESS = {"<": "‹", ">": "›"}


def parts_of(tag: str) -> tuple[str, str]:
    """Splits a tag into its prefix ("" if it has none) and the rest: `parts_of("x7H1") == ("x7", "H1")`."""
    found = re.fullmatch(TAG, tag)
    return (found[1], found[2]) if found else ("", tag)


def checked_prefix(prefix: object) -> str:
    """Returns the prefix. `ValidationError` unless tags may have it."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise ValidationError(f"a prefix of tags is at most 16 of a-z and 0-9, not {quoted(prefix)}")
    return prefix


def cited_tags(text: str, prefix: str = "") -> set[str]:
    """Returns the tags that a text cites, with or without the prefix: each in square brackets or several in one, in either case.

    `[H1]`, `[h1]`, `[H1, A2]`, `[H1; A2]`. Read tolerantly: space and invisible characters do not count, `［Ｈ１］` and `【H1】` do.
    """
    return {tag for found in _BRACKETED.finditer(text) for tag in _tags(found[1], prefix)}


def cited_of(tags: Collection[str], text: str) -> set[str]:
    """Returns those of the tags that a text cites."""
    prefixes = {parts_of(tag)[0] for tag in tags}
    return {tag for prefix in prefixes for tag in cited_tags(text, prefix)}.intersection(tags)


def without_citations(text: str, tags: Collection[str]) -> str:
    """Returns the text without citations of these tags, for readers who do not see the notes. Brackets that hold anything else stay."""
    known = set(tags)
    for prefix in {parts_of(tag)[0] for tag in tags}:
        text = _CITED.sub(lambda found, prefix=prefix: "" if _only(known, _tags(found[2], prefix)) else found[0], text)  # type: ignore[misc]
    return text


def _only(known: set[str], cited: Sequence[str]) -> bool:
    return bool(cited) and known.issuperset(cited)


def defused(text: str, prefix: str = "") -> str:
    """Returns the text without anything that reads as a tag or as a mark of the fence. All else stays as it is, and the length too.

    Round brackets replace those around what `cited_tags` would find: `(H1)`. In a run of three or more `<`, with nothing visible between
    them, `‹` replaces each; `›` replaces `>` likewise.
    """
    without = _BRACKETED.sub(lambda found: f"({found[1]})" if _tags(found[1], prefix) else found[0], text)
    return _ANGLES.sub(lambda found: _unfenced(found[0]), without)


def _tags(inside: str, prefix: str) -> list[str]:
    """Returns the tags between two brackets; none if there is anything else."""
    tag = f"({prefix})?([{_ANY_LETTER.lower()}][0-9]{{1,6}})"
    parts = [re.fullmatch(tag, part) for part in re.split(f"[{_SEPARATORS}]", _read(inside))]
    return [f"{part[1] or ''}{part[2].upper()}" for part in parts if part] if all(parts) else []


def _unfenced(text: str) -> str:
    """Returns the text without three or more angles of one direction in a row."""
    read = [(place, sign) for place, character in enumerate(text) for sign in _seen(character)]
    characters = list(text)
    for run in _FENCING.finditer("".join(sign for _, sign in read)):
        for place, sign in read[run.start() : run.end()]:
            characters[place] = _HARMLESS[sign]
    return "".join(characters)


def _read(text: str) -> str:
    """Returns the text as a tolerant reader reads it."""
    return "".join(map(_seen, text))


@lru_cache(maxsize=4096)
def _seen(character: str) -> str:
    """Returns a character as a tolerant reader reads it: in its plain form, in lower case, without accents; "" if it is invisible."""
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(_LOOK_ALIKES.get(part, part) for part in plain if unicodedata.category(part)[0] not in "CMZ")
