"""Words, pieces and cleaning of text. Text from users and tools is data: nothing here interprets it."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from uuid import UUID

PASSAGE_CHARS = 800
"""Longest passage: some 200 word pieces of English, which fit a 256-token model."""

SENTENCE_LEAST, SENTENCE_MOST = 30, 400
SENTENCES_FIRST, SENTENCES_LAST = 8, 4
"""Limits of `sentences_of`."""

MAX_WORDS = 64
"""Full text matches only this many telling words of a longer query; vector search uses all of it."""

SEPARATOR = "\x1f"
"""Stands between an agent and its user in the name of an owner. No name holds it: names are printable."""

QUOTED_CHARS = 60
"""Longest quotation of a value in an error message."""

_WORD = re.compile(r"[^\W_]+")
_SPELT = re.compile(r"[^\W_]+|!=|[+#&|<>=$%^~]+|(?<!\S)--?(?=\w)|[\u2190-\u21ff\u2600-\u27bf\U0001f000-\U0001faff]")
_SIGNS, _OPTION = b"+#&|<>=$%^~-", re.compile(r"(?<!\S)--?(?=\w)")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
"""Reads words four times as fast as a regular expression, in texts of ASCII."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?![」』”’）])\s*|(?<=[。！？][」』”’）])\s*|\n+")
_CLOSING, _STOPS = "」』”’）", ("。", "！", "？")
_UNSPACED = re.compile(
    "[\u3005\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Chinese, Japanese and Korean characters: of words that no space parts, or that endings are written to."""
_PICTURE = re.compile("[\u2600-\u27bf\U0001f000-\U0001f3fa\U0001f400-\U0001faff]")
"""Emoji and other symbols, without the tones of skin."""
_DENSE = re.compile("[\u0370-\u1fff\u2e80-\ufdff\ufe30-\uffff\U00020000-\U0003ffff]")
"""Characters of scripts of which a model of English takes each for a word piece or more."""
_DENSITY = 10 / 3
"""Length of such a character where a character of English has 1: 256 word pieces hold 250 of them."""
_SPACE = re.compile(r"\s+")
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2062-\u2064\u206a-\u206f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e0fff]"
)
"""The other characters that nothing is shown of, by Unicode's Default_Ignorable_Code_Point, but for the joiners that scripts and emoji need."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_VARIES = re.compile(
    r"""
    (?P<time>\d{4}-\d\d-\d\d (?:[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)? (?:Z|[+-]\d\d:?\d\d)? | \b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b)
  | (?P<path>(?<![\w./:<])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]*)+ | \b[A-Za-z]:\\[^\s"'<>|:*?]+)
  | (?P<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b | \b0x[0-9a-f]+\b | \b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}\b
      | (?<=[-_])(?=[0-9]*[a-z]+\d+[a-z])[a-z0-9]{5,}\b)
  | (?P<code>\b(?:(?:status|code|errno|http|exit)[\ :=#]{1,2}|error[\ =#])\d{1,3}\b)
  | (?P<number>(?<![\w.])[+-]?\d[\d.,_]*(?=[a-z%]{0,3}\b|\W|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)

STOPWORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below between both but by can could did
    do does doing down during each few for from further get got had has have having he her here hers herself him himself his how i if in
    into is it its itself just let like me might more most must my myself no nor not now of off on once only or other our ours ourselves
    out over own please s same she should so some such t than that the their theirs them themselves then there these they this those
    through to too under until up upon us very was we were what when where which while who whom why will with would you your yours yourself
    yourselves d ll m re ve
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
"""English words without topical content. Dropped from queries only, never from stored text."""

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = tuple("january february march april may june july august september october november december".split())  # noqa: SIM905


def plain_value(value: object) -> object:
    """Returns the text, number or truth value that a program's type holds: the value of an enum's member, the text of a UUID, the scalar of an
    array without dimensions. Any other value is returned as it is."""
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, UUID):
        return str(value)
    if getattr(value, "ndim", None) == 0 and callable(item := getattr(value, "item", None)):
        return item()
    return str.__str__(value) if isinstance(value, str) else value


def composed(name: str) -> str:
    """Returns the one form (NFC) of a name of an agent, a user or a project, however its accents are encoded."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def words(text: str) -> list[str]:
    """Returns the words of a text in order: runs of letters and digits, lower case."""
    return text.encode().translate(_ASCII_WORDS).decode().split() if text.isascii() else _WORD.findall(text.lower())


def spaced(text: str) -> str:
    """Returns a question as full text takes it: runs of Chinese, Japanese and Korean characters as their overlapping pairs, "我的猫" as "我的
    的猫", and pictures as words.

    Such a run is a whole clause, or a word with its endings, so that as a whole it matches nothing else. A single character stays.
    """
    return text if text.isascii() else _PICTURE.sub(_name_picture, _UNSPACED.sub(_in_pairs, text))


def spaced_for_search(text: str) -> str:
    """Returns a stored text as full text takes it: as `spaced`, with the single characters of runs, too, by which words of one character are
    found."""
    return (
        text if text.isascii() else f"{spaced(text)} {' '.join(' '.join(run) for run in _UNSPACED.findall(text) if len(run) > 1)}"
    )


def _in_pairs(found: re.Match[str]) -> str:
    run = found[0]
    return f" {' '.join(run[at : at + 2] for at in range(max(len(run) - 1, 1)))} "


def _name_picture(found: re.Match[str]) -> str:
    return f" u{ord(found[0]):x} "


def telling_words(text: str) -> list[str]:
    """Returns the distinct words that carry the topic of a text, in order; all of them if there are only stop words."""
    distinct = dict.fromkeys(words(text))
    return [word for word in distinct if word not in STOPWORDS] or list(distinct)


@lru_cache(maxsize=512)
def normalised(text: str) -> str:
    """Returns the words only, for comparing texts word by word."""
    return " ".join(words(_composed(text)))


@lru_cache(maxsize=512)
def spelt(text: str) -> str:
    """Returns the words with the signs that have a meaning beside them (`C++`, `<`, `-x`, `5 %`), for comparing texts. Never empty,
    unless the text is: a text without words and signs is returned itself."""
    found = words(text) if _has_words_alone(text) else _SPELT.findall(_composed(text).lower())
    return " ".join(found) or one_line(text)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _has_words_alone(text: str) -> bool:
    """Returns True where `spelt` finds what `words` does: there is no sign that has a meaning."""
    if not text.isascii():
        return False
    signs = len(text) - len(text.encode().translate(None, _SIGNS))
    return not signs or (signs == text.count("-") and _OPTION.search(text) is None)


def one_line(text: str) -> str:
    """Returns the text on one line, without control, line-separating, direction-changing or invisible characters."""
    text = text if text.isascii() else _UNSEEN.sub("", text)
    if text.isprintable():  # then only repeated spaces are left to remove
        return " ".join(text.split())
    return _SPACE.sub(" ", _UNSAFE.sub(" ", text)).strip()


def is_safe(character: str) -> bool:
    """Returns True when a terminal or page shows this character as itself: `one_line` would keep it, or it is a tab or a line end."""
    return not _UNSAFE.match(character) and not _SURROGATE.match(character)


def shortened(text: str, limit: int) -> str:
    """Returns the text, or its beginning with an ellipsis, at most `limit` characters."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def quoted(value: object, limit: int = QUOTED_CHARS) -> str:
    """Returns a value as an error message shows it: its `repr`, at most `limit` characters. Never raises.

    Every message that repeats a value of a caller or a file goes through here, so that no message grows with it.
    """
    try:
        return shortened(repr(value[:limit] if isinstance(value, str | bytes) else value), limit)
    except Exception:  # noqa: BLE001 - the repr of a caller's class; too deep a list, too long a number
        return f"a value of type {shortened(type(value).__name__, limit)}"


def name_nearest(given: object, known: Iterable[str]) -> str:
    """Returns `, did you mean 'x'?` for the nearest of the known names, for an error message; "" when none is near. Ignores case."""
    by_folded = {name.casefold(): name for name in known}
    near = get_close_matches(given.strip().casefold()[:100], by_folded, n=1) if isinstance(given, str) else ()
    return f", did you mean {by_folded[near[0]]!r}?" if near else ""


def fault_in(text: str) -> str | None:
    """Returns why a text cannot be stored, or `None`: NUL characters and lone surrogates survive neither UTF-8 nor SQL."""
    if "\x00" in text:
        return "it holds a NUL character"
    if not text.isascii() and _SURROGATE.search(text):
        return "it holds half of a surrogate pair, which is not valid Unicode"
    return None


def storable(text: str, limit: int) -> str:
    """Returns a tool's text in storable form: at most `limit` characters, without what `fault_in` would find."""
    return shortened(_UNSTORABLE.sub("\ufffd", text), limit).strip()


def cleaned(text: str) -> str:
    """Returns the text on one line with the varying parts (times, paths, ids, numbers) replaced by their kind. Equal for two errors of
    one cause.

    A short number that names the error (`status 404`, `exit code 1`) stays.
    """
    return one_line(_VARIES.sub(_named, text))


def _named(found: re.Match[str]) -> str:
    kind = found.lastgroup
    return found[0] if kind == "code" else f"<{kind}>"


def estimate_tokens(text: str) -> int:
    """Estimates the tokens of a text for a model whose tokenizer is unknown: a token per 4 ASCII characters and one per other
    character."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count


def split_passages(text: str, limit: int = PASSAGE_CHARS) -> list[str]:
    """Splits the text into pieces of at most `limit` characters of English, of other scripts fewer, cut at sentences, else between words, else
    anywhere. At least one piece."""
    return _split(text, limit, _size)


def _split(text: str, limit: int, size: Callable[[str], float]) -> list[str]:
    if size(text) <= limit:
        return [text]
    pieces: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        if pieces and size(longer := _joined(pieces[-1], sentence)) <= limit:
            pieces[-1] = longer
        else:
            pieces.extend(_cut(sentence, limit, size))
    return [piece for piece in pieces if piece.strip()] or [text[:limit]]


def _size(text: str) -> float:
    """The length of a text in characters of English that cost a model as much."""
    return len(text) if text.isascii() else len(text) + (_DENSITY - 1) * len(_DENSE.findall(text))


def _joined(piece: str, sentence: str) -> str:
    return f"{piece}{sentence}" if piece.rstrip(_CLOSING).endswith(_STOPS) else f"{piece} {sentence}"


def _all_joined(sentences: Sequence[str]) -> str:
    """Joins many sentences, in time that grows with their length."""
    parts = [sentences[0]]
    for before, sentence in pairwise(sentences):
        parts += ["" if before.rstrip(_CLOSING).endswith(_STOPS) else " ", sentence]
    return "".join(parts)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences and lines of a text as pieces that are embedded on their own; nothing of the text is left out.

    A piece of fewer than `SENTENCE_LEAST` characters takes in the next one. None is longer than `SENTENCE_MOST`; characters of other scripts count
    more. Of a text of many sentences those between the first `SENTENCES_FIRST` and the last `SENTENCES_LAST` are joined to pieces of up to
    `SENTENCE_MOST`.
    """
    pieces: list[str] = []
    for sentence in filter(str.strip, _SENTENCE_END.split(text)):
        if pieces and _size(pieces[-1]) < SENTENCE_LEAST:
            pieces[-1] = _joined(pieces[-1], sentence.strip())
        else:
            pieces.append(sentence.strip())
    cut = [part for piece in pieces for part in _cut(piece, SENTENCE_MOST, _size)]
    middle = cut[SENTENCES_FIRST:-SENTENCES_LAST]
    if not middle:
        return cut
    return [*cut[:SENTENCES_FIRST], *split_passages(_all_joined(middle), SENTENCE_MOST), *cut[-SENTENCES_LAST:]]


def matched_text(text: str) -> str:
    """Returns the first piece of a text, as much as fits a model: this part is compared with other texts."""
    return _split(text, PASSAGE_CHARS, len)[0]


def _cut(sentence: str, limit: int, size: Callable[[str], float]) -> list[str]:
    pieces = []
    while size(sentence[: limit + 1]) > limit:  # a character counts as one at least: what is longer has not to be measured whole
        most = _most(sentence, limit, size)
        space = sentence.rfind(" ", most // 2, most + 1)
        end = space if space > 0 else most
        pieces.append(sentence[:end])
        sentence = sentence[end:].lstrip()
    return [*pieces, sentence]


def _most(text: str, limit: int, size: Callable[[str], float]) -> int:
    """Returns the number of characters of a longer text that are within the limit."""
    most = limit
    while most > 1 and (taken := size(text[:most])) > limit:
        most = max(int(most * limit / taken), 1)
    return most


def query_words(task: str) -> Sequence[str]:
    """Returns the words to match in full text."""
    return telling_words(spaced(task))[:MAX_WORDS]


def without_names(task: str, names: frozenset[str]) -> str:
    """Returns the task without the names of agents, since who asks is no part of what is asked. Returns the task itself if nothing else
    is in it."""
    if not any(names):
        return task
    text = _folded(task)
    there = [name for name, folded in _foldings(names) if folded in text]
    rest = _any_of(frozenset(there)).sub(" ", task) if there else task
    return " ".join(rest.split()) if telling_words(rest) else task


def named_in(task: str, names: Iterable[str]) -> frozenset[str]:
    """Returns those of the names that stand in the task as words of their own, in any case."""
    text = _folded(task)
    return frozenset(name for name in names if name and _folded(name) in text and _any_of(frozenset({name})).search(task))


def addressed(task: str, names: frozenset[str]) -> str:
    """Returns the task as it is put to these people: "What did Ann do in her garden?" becomes "What did you do in her garden?", "Ann's" becomes
    "your". Without names, or with nothing else in the task, returns the task itself.

    People in a conversation are "I" and "you" to each other. So this is nearer to what they say than the bare rest "What did do in her garden?".
    """
    if not any(names) or without_names(task, names) == task:
        return task
    return _any_of(names).sub("you", _possessives_of(names).sub("your", task))


@lru_cache(maxsize=64)
def _foldings(names: frozenset[str]) -> list[tuple[str, str]]:
    """Returns each name with its folded form. Searching for these is far faster than a pattern of thousands of names."""
    return [(name, _folded(name)) for name in names if name]


def _folded(text: str) -> str:
    """Folds case, so that texts that differ only in case become equal. Folding a part gives a part of the folded text."""
    return text.upper().casefold()


@lru_cache(maxsize=64)
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Returns a pattern that matches each of the names, the longest first."""
    return re.compile(rf"{_each(names)}(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=64)
def _possessives_of(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"{_each(names)}['’]s?(?!\w)", re.IGNORECASE)


def _each(names: frozenset[str]) -> str:
    known = sorted(map(re.escape, filter(None, names)), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(known)})"


@dataclass(frozen=True, slots=True)
class CommonWords:
    """Defines which words of a question are too common to search by: those in more memories of the scope than `number`, and in more than
    `share` of them.

    Where no rarer word of the question occurs, the first common one is used, in the `newest` memories that contain it.
    """

    number: int
    share: float
    newest: int

    def most(self, count: int) -> int:
        """Returns the greatest number of memories that may contain a word that is not common, in a scope of `count` memories."""
        return max(self.number, int(self.share * count))
