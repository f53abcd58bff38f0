"""Words, cleaning and cutting of text."""

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import alma.text
from alma.text import (
    PASSAGE_CHARS,
    STOPWORDS,
    estimate_tokens,
    fault_in,
    normalised,
    one_line,
    sentences_of,
    shortened,
    spaced,
    spelt,
    split_passages,
    telling_words,
    words,
)

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
_prose = st.lists(
    st.sampled_from(["word", "of", "a", "longer", "x" * 30, ".", "!\n", "\n\n", " ", "。", "日本語", "\u2003"]), max_size=60
).map(" ".join)


def without_space(text: str) -> str:
    return "".join(text.split())


@given(_texts | _prose, st.integers(1, 60))
def test_splitting_loses_nothing_but_space(text: str, limit: int) -> None:
    assert without_space("".join(split_passages(text, limit))) == without_space(text)


@given(_texts | _prose, st.integers(1, 60))
def test_no_piece_is_longer_than_the_limit_and_none_but_an_only_one_is_blank(text: str, limit: int) -> None:
    pieces = split_passages(text, limit)

    assert pieces
    assert all(len(piece) <= limit for piece in pieces)
    assert len(pieces) == 1 or all(piece.strip() for piece in pieces)


def test_a_text_within_the_limit_is_one_piece_as_it_is() -> None:
    text = " Two  sentences.\nOn two lines. "

    assert split_passages(text) == [text]


def test_a_longer_text_is_cut_between_sentences_where_it_can_be() -> None:
    assert split_passages("One is short. Two is short. Three.", 28) == ["One is short. Two is short.", "Three."]


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    assert split_passages("alpha beta gamma delta", 12) == ["alpha beta", "gamma delta"]


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    assert split_passages("a" * (2 * PASSAGE_CHARS + 1)) == ["a" * PASSAGE_CHARS, "a" * PASSAGE_CHARS, "a"]


@given(_texts)
def test_one_line_has_no_control_line_separating_or_direction_changing_character(text: str) -> None:
    line = one_line(text)

    assert line.splitlines() in ([line], [])
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(c) in TURNING]


TURNING = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


@given(_texts | _prose)
@example(" two  spaces ")
def test_one_line_is_the_same_whether_all_of_it_can_be_printed_or_not(text: str) -> None:
    assert one_line(text) == one_line(f"{text}\x00")


@pytest.mark.parametrize(
    "code",
    [
        *(
            0xAD,
            0x34F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            *range(0x180B, 0x1810),
            *range(0x2062, 0x2065),
            *range(0x206A, 0x2070),
            0x3164,
        ),
        *(*range(0xFE00, 0xFE10), 0xFFA0, *range(0xFFF0, 0xFFF9), 0x1D173, 0xE0100, 0xE01EF, 0xE0FFF),
    ],
)
def test_a_character_of_which_nothing_is_shown_leaves_one_line_without_a_gap(code: int) -> None:
    assert one_line(f"pass{chr(code)}word {chr(code)} x") == "password x"


def test_joiners_that_words_and_emoji_need_stay_in_one_line() -> None:
    assert one_line("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


@pytest.mark.parametrize(
    "code", [*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
)
def test_no_character_that_steers_the_display_stays_in_one_line(code: int) -> None:
    assert one_line(f"a{chr(code)}b") == "a b"


@given(_texts, st.integers(1, 50))
def test_a_shortened_text_is_at_most_as_long_as_the_limit_and_begins_as_it_did(text: str, limit: int) -> None:
    short = shortened(text, limit)

    assert len(short) <= limit
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


@pytest.mark.parametrize(("text", "fault"), [("a\x00b", "NUL"), ("a\ud800b", "surrogate"), ("a\udfff", "surrogate")])
def test_what_cannot_be_stored_is_said(text: str, fault: str) -> None:
    assert fault in (fault_in(text) or "")


@given(_texts.filter(lambda text: "\x00" not in text))
def test_any_other_text_can_be_stored(text: str) -> None:
    assert fault_in(text) is None


def test_words_are_lower_case_runs_of_letters_and_digits() -> None:
    assert words("Don't re-run Größe_2 at 10:30, 日本!") == ["don", "t", "re", "run", "größe", "2", "at", "10", "30", "日本"]


def test_telling_words_leave_out_what_says_nothing_and_repetitions() -> None:
    assert telling_words("How do I deploy the service, and deploy it again?") == ["deploy", "service"]


def test_a_text_of_stop_words_alone_keeps_them() -> None:
    assert telling_words("To be or not to be") == ["to", "be", "or", "not"]
    assert set(words("To be or not to be")) <= STOPWORDS


@given(st.text(st.characters(max_codepoint=127)) | st.text(st.sampled_from("aZ09_-+#&|<>=$%^~! \t\n\x1c'.")))
def test_texts_of_ascii_are_read_as_all_others_are(text: str) -> None:
    assert words(text) == re.findall(r"[^\W_]+", text.lower())
    assert normalised(f"{text} é") == " ".join([*words(text), "é"])
    assert spelt(f"{text} é")[:-1] == spelt(f"{text} e")[:-1]


def test_texts_of_the_same_words_are_alike_once_normalised() -> None:
    assert normalised("Use  ＡＢＣ, twice!") == normalised("use abc: TWICE")
    assert normalised("use abc twice") != normalised("use abc thrice")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本", 2), ("abcd日", 2)])
def test_tokens_are_guessed_from_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain words", "plain words"),
        ("我的猫", "我的 的猫"),
        ("猫 and 犬", "猫 and 犬"),
        ("東京タワーへ, 2 Personen", "東京 京タ タワ ワー ーへ , 2 Personen"),
        ("서울에서 만나요", "서울 울에 에서 만나 나요"),
        ("Müller—Привет", "Müller—Привет"),
    ],
)
def test_full_text_takes_pairs_of_characters_for_words_that_no_space_parts(text: str, wanted: str) -> None:
    assert spaced(text).split() == wanted.split()


def test_sentences_end_without_a_space_in_chinese() -> None:
    text = "我的妹妹三月搬到了上海。她养了一只黑色的猫！他说：“好的，我们明天去看她吧。”然后我们去公园散步了。"
    found = sentences_of(text)
    assert found == [
        "我的妹妹三月搬到了上海。",
        "她养了一只黑色的猫！",
        "他说：“好的，我们明天去看她吧。”",
        "然后我们去公园散步了。",
    ]
    assert sentences_of("He said “hi there, my very old friend.” Then we left the house together.") == [
        "He said “hi there, my very old friend.” Then we left the house together."
    ]


@pytest.mark.parametrize("character", ["字", "я", "ع", "ไ", "서"])
def test_a_piece_of_any_script_fits_a_model(character: str) -> None:
    text = f"{character * 20} " * 100
    for pieces, most in ((sentences_of(text), 125), (split_passages(text), 250)):
        assert max(map(len, pieces)) <= most
        assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


@given(st.text(alphabet="ab. \n字。я”", max_size=80), st.integers(min_value=1, max_value=12))
def test_nothing_of_a_text_of_any_script_is_left_out(text: str, limit: int) -> None:
    def bare(found: str) -> str:
        return "".join(found.split())

    assert bare("".join(split_passages(text, limit))) == bare(text)
    assert bare("".join(sentences_of(text))) == bare(text)


@pytest.mark.parametrize("cut", [sentences_of, split_passages])
def test_a_long_sentence_is_not_measured_anew_for_each_piece(
    cut: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, measured = "\u4e2d" * 60_000, 0
    size_of = alma.text._size

    def size(part: str) -> float:
        nonlocal measured
        measured += len(part)
        return size_of(part)

    monkeypatch.setattr(alma.text, "_size", size)
    assert "".join(cut(text)).replace(" ", "") == text
    assert measured < 20 * len(text)
