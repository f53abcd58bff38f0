"""Words to a model that are not plain to the eye, or not to a pattern: letters of other scripts, escaped or encoded ones."""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterator
from html import unescape
from urllib.parse import unquote

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that are not shown: soft hyphens, spaces without width, marks of direction, tags."""

_TAGS = re.compile("[\U000e0020-\U000e007e]{8,}")
"""Letters that are not shown, more than a flag has."""

_ALIKE = str.maketrans("аеіїјорсухѕԁɡһӏвкмнтαειοκνρτυχωѵ", "aeiijopcyxsdghlbkmhtaeioknptuxwv")
_MIXED = re.compile(r"[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]")
_ESCAPED = re.compile(r"(?:%[0-9a-f]{2}[^\s%]*){3}")
_ENCODED = re.compile(r"(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/-])", re.ASCII)
_LEAST_ENCODED, _MOST_ENCODED = 24, 20
_TEXT = re.compile(r"(?:[\w'’,.!?:;()/@\"-]+\s+){2,}[\w'’,.!?:;()/@\"-]+\s*")


def as_read(text: str) -> str:
    """Returns the text in small letters as a reader sees it: without what is not shown, and with plain letters for wide and ornamental ones."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).lower()


def disguised(text: str, read: str) -> Iterator[str]:
    """Returns what else a text says, each as a text in small letters. `read` is the text as it is read."""
    if not text.isascii():
        yield from ("".join(chr(ord(tag) - 0xE0000) for tag in run).lower() for run in _TAGS.findall(text))
        if _MIXED.search(read):
            yield read.translate(_ALIKE)
    if "%" in read and _ESCAPED.search(read):
        yield unquote(read).lower()
    if "&#" in read:
        yield unescape(read).lower()
    is_long = max(map(len, text.split()), default=0) >= _LEAST_ENCODED  # a look that costs a tenth of the search
    for code in _ENCODED.findall(text)[:_MOST_ENCODED] if is_long else ():
        try:
            decoded = b64decode(code + "=" * (-len(code) % 4), altchars=b"-_" if {*"-_"} & {*code} else None).decode()
        except ValueError:
            continue
        if _TEXT.match(decoded):
            yield as_read(decoded)
