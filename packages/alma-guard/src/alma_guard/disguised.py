"""What a text says to a model that is not plain to the eye, or not to a pattern: letters of other scripts, spelled, escaped or encoded words."""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from urllib.parse import unquote

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that are not shown: soft hyphens, spaces without width, marks of direction, tags."""

_TAGS = re.compile("[\U000e0020-\U000e007e]")
_FEW_TAGS = 8
"""Longest run of tags in a flag, and of such letters that are not read."""

_ALIKE = str.maketrans("аеіїјорсухѕԁɡһӏвкмнтαειοκνρτυχωѵ", "aeiijopcyxsdghlbkmhtaeioknptuxwv")
_GREEK_OR_CYRILLIC = re.compile("[\u0370-\u052f]")
_MIXED = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]")
_LEET = str.maketrans("01345@$7", "oieasast")
_NOUNS = ("instruct", "prompt", "ignor", "disregard", "guideline")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_SPELLED = tuple(between.join(word) for between in " ._-" for word in ("ion", "ompt", "rule", "ore"))
_BETWEEN_LETTERS = tuple(re.compile(rf"(?<![^\W_]{{2}})(?<=[^\W_])[{between}](?=[^\W_](?![^\W_]))") for between in ("._-", " "))
_RUN_TOGETHER = re.compile(
    r"(ignore|disregard|forget|override|bypass)(all|any|every|the)?(of)?(the|my|your|these|those)?(previous|prior|above|earlier|original|system)?"
    r"(instructions?|prompts?|rules?|guidelines?)"
)
_ESCAPED = re.compile(r"(?:%[0-9a-f]{2}[^\s%]*){3}")
_EMPTY_ELEMENT = re.compile(r"<(\w{1,12})(?:\s[^<>]{0,80})?></\1>|<!--.{0,80}?-->")
_ENCODED = re.compile(r"(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/-])", re.ASCII)
_LEAST_ENCODED, _MOST_ENCODED = 24, 20
_TEXT = re.compile(r"(?:[\w'’,.!?:;()/@\"-]+\s+){2,}[\w'’,.!?:;()/@\"-]+\s*")


def as_read(text: str) -> str:
    """Returns the text in small letters as a reader sees it: without what is not shown, and with plain letters for wide and ornamental ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).lower()


def disguised(text: str, read: str) -> Iterator[str]:
    """Returns what else a text says, each as a text in small letters. `read` is the text as it is read."""
    if not text.isascii():
        yield from _of_other_letters(text, read)
    yield from _escaped(read)
    yield from _spelled(read)
    if max(map(len, text.split()), default=0) >= _LEAST_ENCODED:
        yield from _encoded(text)
    if "rot13" in read:
        yield read.translate(_ROT13)
    if "backward" in read or "reverse" in read:
        yield read[::-1]


def _of_other_letters(text: str, read: str) -> Iterator[str]:
    tags = "".join(_TAGS.findall(text))
    if len(tags) > _FEW_TAGS:
        yield "".join(chr(ord(tag) - 0xE0000) for tag in tags).lower()
    if _GREEK_OR_CYRILLIC.search(read) and _MIXED.search(read):
        yield read.translate(_ALIKE)


def _escaped(read: str) -> Iterator[str]:
    if "%" in read and _ESCAPED.search(read):
        yield unquote(read).lower()
    if "&#" in read:
        from html import unescape

        yield unescape(read).lower()
    if "><" in read or "<!--" in read:
        yield _EMPTY_ELEMENT.sub("", read)


def _spelled(read: str) -> Iterator[str]:
    if any(map(read.__contains__, _SPELLED)):
        for between in _BETWEEN_LETTERS:
            joined = between.sub("", read)
            yield _RUN_TOGETHER.sub(lambda found: " ".join(filter(None, found.groups())), joined)
    plain = read.translate(_LEET)
    if any(noun in plain and noun not in read for noun in _NOUNS):
        yield plain


def _encoded(text: str) -> Iterator[str]:
    """Returns the sentences that base64 or hexadecimal digits stand for."""
    for number, found in enumerate(_ENCODED.finditer(text)):
        if number >= _MOST_ENCODED:
            return
        for decoded in _decoded(found.group()):
            if _TEXT.match(decoded):
                yield as_read(decoded)


def _decoded(code: str) -> Iterator[str]:
    for way in (_of_base64, bytes.fromhex):
        try:
            yield way(code).decode()
        except ValueError:
            continue


def _of_base64(code: str) -> bytes:
    plain = code.rstrip("=").replace("-", "+").replace("_", "/")
    return b64decode(plain + "=" * (-len(plain) % 4))
