"""Conversations as they come: other languages, answers of tools inside of messages, roles that are no names, many messages, odd times."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from alma import ALMA, ValidationError
from facade import StoredIn


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    at = tmp_path / "memory"
    with ALMA.open(at, project_id="odd", embedding_provider="hash", **stored_in(at)) as alma:
        for number in range(3):
            alma.add_conversation([("user", f"Note {number}: nothing of interest here.")], "h", "other")
        yield alma


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我昨天在图书馆借了三本书。今天天气很好，我们去公园散步。", "我借了几本书？"),
        ("今天天气很好。我们去公园散步。" * 60 + "护照号码放在书房的抽屉里。", "护照号码放在哪里？"),
        ("来週の金曜日に京都へ出張します。ホテルは駅の近くです。", "京都への出張はいつですか？"),
        ("여동생은 서울에서 일합니다.", "서울에 누가 있나요?"),
        ("Meine Schwester wohnt seit März in Lübeck.", "Wo wohnt meine Schwester?"),
        ("Моя кошка любит спать на холодильнике.", "Где спит моя кошка?"),
    ],
)
def test_a_question_finds_what_was_said_in_its_language(alma: ALMA, said: str, question: str) -> None:
    made = alma.add_conversation([("user", said)], "h", "s")

    by_words = alma.retrieve(question, "h", profile="recall", arms=["text"])
    assert by_words.ids[:1] == [made.id]
    assert alma.retrieve(question, "h", profile="recall").ids[:1] == [made.id]


def test_the_nearest_sentence_of_a_chinese_turn_is_shown(alma: ALMA) -> None:
    alma.add_conversation([("user", "今天天气很好。我们去公园散步。" * 60 + "护照号码放在书房的抽屉里。")], "h", "s")
    best = alma.retrieve("护照号码放在哪里？", "h", profile="recall").turns[0]
    assert "护照号码放在书房的抽屉里。" in best.text
    assert len(best.text) < 60


def test_answers_of_tools_inside_of_a_message_are_kept_and_are_no_words_of_the_user(alma: ALMA) -> None:
    answer = {"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "The gauge reads 17 bar."}]}
    plain = {"type": "tool_result", "tool_use_id": "y", "content": "Valve closed."}
    made = alma.add_conversation(
        [
            {"role": "user", "content": [answer, plain, {"type": "text", "text": "Is that high?"}]},
            {"role": "user", "content": [answer]},
        ],
        "h",
        "s",
    )

    assert [(turn.speaker, turn.text, turn.is_own) for turn in made.turns] == [
        ("tool", "The gauge reads 17 bar.\nValve closed.", False),
        ("user", "Is that high?", True),
        ("tool", "The gauge reads 17 bar.", False),
    ]
    assert alma.retrieve("What does the gauge read?", "h", profile="recall").ids[0] == made.id


def test_instructions_alone_are_no_conversation_and_the_error_says_so(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="no text that was said; instructions of a system are left out"):
        alma.add_conversation([{"role": "system", "content": "Be kind."}], "h", "s")


@pytest.mark.parametrize("role", ["customer", "agent", "Support", "patient"])
def test_a_role_is_no_name_and_stays_in_what_is_searched_by_meaning(alma: ALMA, role: str) -> None:
    made = alma.add_conversation([{"role": role, "content": f"The {role} line was busy all morning."}], "h", "s")

    assert made.names == frozenset()
    assert made.turns[0].is_own
    found = alma.retrieve(f"The {role} line was busy all morning.", "h", profile="recall", arms=["dense"], explain=True)
    explanation = found.recalled[0].explanation
    assert explanation is not None
    assert explanation.cosine == pytest.approx(1.0, abs=0.01)


def test_a_program_that_answers_is_no_person(alma: ALMA) -> None:
    made = alma.add_conversation([("human", "Hi there, chatbot!"), ("gpt", "Hello."), ("Chatbot", "Hello, too.")], "h", "s")
    assert [turn.is_own for turn in made.turns] == [True, False, False]


def test_one_session_may_be_given_twice_and_is_stored_once(alma: ALMA) -> None:
    first, second = (alma.add_conversation([("user", "I bought a canoe")], "h", "same") for _ in range(2))
    found = alma.retrieve("What did I buy, a canoe?", "h", profile="recall")
    assert first == second
    assert (found.ids[0], found.recalled[0].copies) == (first.id, 1)


def test_times_of_any_zone_and_order_are_compared_in_utc(alma: ALMA) -> None:
    later = alma.add_conversation([("user", "The cellar was fixed")], "h", "b", at=datetime(2020, 1, 1, 12, 0))  # noqa: DTZ001 - a naive time is meant
    zone = timezone(timedelta(hours=5, minutes=30))
    earlier = alma.add_conversation([("user", "The cellar was dry")], "h", "a", at=datetime(2020, 1, 1, 17, 0, tzinfo=zone))

    assert (later.held_at, earlier.held_at) == (datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 1, 11, 30, tzinfo=UTC))
    kept = alma.retrieve("the cellar", "h", profile="recall", until=datetime(2020, 1, 1, 11, 45, tzinfo=UTC))
    assert kept.ids == [earlier.id]


@pytest.mark.slow
def test_one_of_ten_thousand_messages_is_found_with_its_place(alma: ALMA) -> None:
    made = alma.add_conversation([("user", f"Note {n}: shelf {n} holds item {7 * n}.") for n in range(10_000)], "h", "big")
    best = alma.retrieve("What does shelf 4242 hold?", "h", profile="recall").turns[0]
    assert (best.memory_id, best.position) == (made.id, 4242)
