"""Words without endings: what is made of them here is what FTS5 makes of them."""

import sqlite3
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.storage.porter import LONGEST, stem
from alma.storage.stems import TOKENIZER, Stemmer

ENDINGS = [
    "s",
    "es",
    "ies",
    "sses",
    "ss",
    "ed",
    "eed",
    "ing",
    "ated",
    "bling",
    "izing",
    "fizzed",
    "y",
    "ily",
    "ational",
    "tional",
    "enci",
    "anci",
    "izer",
    "logi",
    "bli",
    "alli",
    "entli",
    "eli",
    "ousli",
    "ization",
    "ation",
    "ator",
    "alism",
    "iveness",
    "fulness",
    "ousness",
    "aliti",
    "iviti",
    "biliti",
    "icate",
    "ative",
    "alize",
    "iciti",
    "ical",
    "ful",
    "ness",
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "sion",
    "tion",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "e",
    "ee",
    "ll",
    "lle",
    "l",
    "le",
    "t",
]
ROOTS = [
    "a",
    "b",
    "e",
    "y",
    "x",
    "ab",
    "ae",
    "ba",
    "by",
    "ye",
    "st",
    "tr",
    "bab",
    "bay",
    "box",
    "baw",
    "oat",
    "tree",
    "eat",
    "trouble",
    "oats",
    "private",
    "ivy",
    "orrery",
    "hop",
    "hopp",
    "fil",
    "fall",
    "fizz",
    "fail",
    "sky",
    "happ",
    "cry",
]
LETTERS = "aeioybdlnstwxz0"


def by_fts5(texts: Sequence[str]) -> list[Counter[str]]:
    """The stems of each text by FTS5."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, content='', {TOKENIZER})")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab('one', 'instance')")
    connection.executemany("INSERT INTO one (rowid, text) VALUES (?, ?)", enumerate(texts))
    found: list[Counter[str]] = [Counter() for _ in texts]
    for document, term in connection.execute("SELECT doc, term FROM stems"):
        found[document][term] += 1
    connection.close()
    return found


def differing(words: Iterable[str]) -> list[tuple[str, list[str], str]]:
    """The words of which another stem is made here, with both."""
    given = list(words)
    return [
        (word, list(theirs), stem(word)) for word, theirs in zip(given, by_fts5(given), strict=True) if [*theirs] != [stem(word)]
    ]


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("hopping", "hop"),
        ("relational", "relat"),
        ("controlling", "control"),
        ("is", "is"),
    ],
)
def test_endings_are_cut_off_as_porter_says(word: str, root: str) -> None:
    assert stem(word) == root


def test_all_short_words_have_the_stems_of_fts5() -> None:
    assert differing("".join(word) for length in (1, 2, 3) for word in product(string.ascii_lowercase, repeat=length)) == []


def test_all_endings_on_all_endings_have_the_stems_of_fts5() -> None:
    assert differing(root + first + last for root in ROOTS for first in ("", *ENDINGS) for last in ENDINGS) == []


@given(st.lists(st.text(alphabet=LETTERS, min_size=1, max_size=9), min_size=1, max_size=200))
def test_whatever_the_letters_are_words_have_the_stems_of_fts5(words: list[str]) -> None:
    assert differing(words) == []


def test_words_that_are_too_long_keep_their_endings_as_with_fts5() -> None:
    long = ["b" + "a" * length + "tions" for length in range(LONGEST - 10, LONGEST + 4)]
    assert differing(long) == []
    assert {len(word) - len(stem(word)) for word in long} == {0, 1}


@given(
    st.lists(st.text(alphabet=st.sampled_from("aB1 s.\x00-_'’“—…•·é́ßΣ日😀ªﬁİ"), max_size=20), max_size=5),
    st.lists(st.sampled_from(["Deploys", "re-run", "naïve", "don’t", "Σίσυφος", "ran"]), max_size=4),
)
def test_texts_and_questions_of_any_script_have_the_stems_of_fts5(texts: list[str], words: list[str]) -> None:
    asked, found = Stemmer().stems(words, texts)
    assert [Counter(counts) for counts in found] == by_fts5(texts)
    assert set(asked) == {term for counts in by_fts5(words) for term in counts}
    assert len(asked) == len(set(asked))


def test_the_words_of_a_question_stay_in_their_order() -> None:
    assert Stemmer().stems(["Deploys", "naïve", "failing", "deploy", "agents"])[0] == ["deploi", "naiv", "fail", "agent"]


def test_only_so_many_words_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.storage.stems.REMEMBERED", 3)
    stemmer = Stemmer()
    stemmer.stems(["one", "two", "three", "four"])
    assert len(stemmer.remembered) == 4
    stemmer.stems(["five"])
    assert list(stemmer.remembered) == ["five"]
