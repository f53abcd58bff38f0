"""Conversations: stored whole, searched by sentences, shown by what of them is near."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from alma import ALMA, Draft, Passage, ScopeViolationError, ValidationError
from alma.text import sentences_of
from alma.types.memories import Conversation, Turn
from facade import StoredIn

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
MESSAGES = [
    {"role": "system", "content": "You help with gardens."},
    {
        "role": "user",
        "content": "Hello! My sister moved to Lisbon last month. The tomatoes have yellow leaves, what can I do about that?",
    },
    {"role": "assistant", "content": "Yellow leaves often mean too little magnesium.", "tool_calls": []},
    {"role": "tool", "content": None},
    {"role": "user", "content": [{"type": "text", "text": "Thanks, I will buy Epsom salt on Friday."}, {"type": "image_url"}]},
]


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "memory", project_id="garden", embedding_provider="hash", **stored_in(tmp_path / "memory")) as alma:
        yield alma


def test_a_conversation_is_kept_whole(alma: ALMA) -> None:
    made = alma.add_conversation(MESSAGES, "helper", "chat-7", at=AT, metadata={"channel": "web"})

    kept = alma.get(made.id)
    assert isinstance(kept, Conversation)
    assert kept == made
    assert (kept.session_id, kept.held_at, kept.metadata) == ("chat-7", AT, {"channel": "web"})
    assert [(turn.speaker, turn.is_own) for turn in kept.turns] == [
        ("user", True),
        ("assistant", False),
        ("user", True),
    ]
    assert kept.turns[-1].text == "Thanks, I will buy Epsom salt on Friday."


def test_a_slice_says_what_of_a_conversation_is_near(alma: ALMA) -> None:
    alma.add_conversation(MESSAGES, "helper", "chat-7", at=AT)
    alma.add_conversation([("user", "The printer is out of paper again.")], "helper", "chat-8", at=AT)

    (first, *_) = alma.retrieve("Where did my sister move to?", "helper", profile="recall").conversations
    assert first.metadata["hits"][0].startswith("user: Hello! My sister moved to Lisbon last month.")
    assert len(first.metadata["hits"]) == 3


def test_the_prompt_shows_what_is_near_and_when_it_was_said(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(
        tmp_path, project_id="garden", embedding_provider="hash", clock=lambda: AT + timedelta(days=20), **stored_in(tmp_path)
    ) as alma:
        alma.add_conversation(MESSAGES, "helper", "chat-7", at=AT)
        prompt = alma.retrieve("Where did my sister move to?", "helper").to_prompt()

    assert "What was said:\n[T1] 20 days ago: user: Hello! My sister moved to Lisbon last month." in prompt


def test_words_of_an_assistant_are_found_too(alma: ALMA) -> None:
    made = alma.add_conversation(MESSAGES, "helper", "chat-7")
    assert alma.retrieve("magnesium", "helper").ids == [made.id]


def test_a_question_is_answered_that_names_a_speaker_whose_conversations_say_nothing_of_it(alma: ALMA) -> None:
    said = [("Ann", "We cooked soup with onions."), ("Bob", "The printer is out of paper."), ("Cleo", "Bring the blue umbrella.")]
    for number, turn in enumerate(said):
        alma.add_conversation([turn, ("Dan", "Sounds great.")], "helper", f"chat-{number}")
    alma.add_conversation([("Bob", "Ann."), ("Ann", "Coming.")], "helper", "call")

    assert alma.retrieve("What has Ann qqq zzz", agent="helper", profile="recall", arms=["dense"]).conversations == []


def test_hits_are_never_stored(alma: ALMA) -> None:
    made = alma.add_conversation(MESSAGES, "helper", "chat-7", metadata={"hits": ["user: buy gold"]})
    (found,) = alma.retrieve("Epsom salt", "helper").conversations

    assert found.id == made.id
    assert not any("gold" in hit for hit in found.metadata["hits"])


def test_conversations_keep_to_their_agent_and_project(alma: ALMA) -> None:
    alma.add_conversation(MESSAGES, "helper", "chat-7")
    assert alma.retrieve("Epsom salt", "other").total_items == 0
    assert alma.for_project("house").retrieve("Epsom salt", "helper").total_items == 0


def test_a_conversation_is_exported_and_imported_as_it_was(alma: ALMA, tmp_path: Path, stored_in: StoredIn) -> None:
    made = alma.add_conversation(MESSAGES, "helper", "chat-7", at=AT)
    alma.export(tmp_path / "all.jsonl")
    with ALMA.open(tmp_path / "copy", project_id="garden", embedding_provider="hash", **stored_in(tmp_path / "copy")) as copy:
        copy.import_from(tmp_path / "all.jsonl")

        assert copy.get(made.id) == made
        assert copy.content_hash() == alma.content_hash()
        assert copy.retrieve("Epsom salt", "helper").conversations[0].metadata["hits"]


def test_pairs_and_turns_are_messages_too(alma: ALMA) -> None:
    made = alma.add_conversation([("Caroline", "I paint."), Turn("Melanie", "So do I!"), ("AI", "Lovely.")], "helper", "chat")
    assert [(turn.speaker, turn.is_own) for turn in made.turns] == [("Caroline", True), ("Melanie", True), ("AI", False)]


def test_a_named_message_is_under_its_name(alma: ALMA) -> None:
    made = alma.add_conversation([{"role": "user", "name": "maria", "content": "I paint."}], "helper", "chat")
    assert made.turns[0].speaker == "maria"


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ("hello", "messages must be a list"),
        ({"role": "user", "content": "hello"}, "messages must be a list"),
        ([], "holds no text"),
        ([{"role": "user", "content": "  "}], "holds no text"),
        ([{"content": "hello"}], r"messages\[0\] has no role"),
        ([("user", "hello"), 7], r"messages\[1\] must be a mapping"),
        ([{"role": "user", "content": 7}], r"content of messages\[0\]"),
        ([("user", "a\x00b")], "cannot be stored"),
        ([("user", "a" * 150_000)] * 20, "several conversations"),
    ],
)
def test_what_is_no_conversation_is_refused_and_nothing_is_stored(alma: ALMA, messages: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        alma.add_conversation(messages, "helper", "chat")  # type: ignore[arg-type]
    assert alma.get_stats().total == 0


def test_a_conversation_without_an_agent_is_refused(alma: ALMA) -> None:
    with pytest.raises(ScopeViolationError, match="agent is missing"):
        alma.add_conversation(MESSAGES, "", "chat")


def test_a_time_has_to_be_one(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="at must be a datetime"):
        alma.add_conversation(MESSAGES, "helper", "chat", at="yesterday")  # type: ignore[arg-type]


def test_short_sentences_are_joined_to_the_next() -> None:
    assert sentences_of("Hi. Yes! I moved to Lisbon with my sister. It rains.") == [
        "Hi. Yes! I moved to Lisbon with my sister.",
        "It rains.",
    ]


def test_nothing_of_a_long_text_is_left_out() -> None:
    words = [f"word{number}" for number in range(900)]
    text = ". ".join(" ".join(words[start : start + 9]) for start in range(0, 900, 9))
    pieces = sentences_of(text)

    assert " ".join(pieces).replace(".", "").split() == words
    assert max(map(len, pieces)) <= 400
    assert len(pieces) < 45


def given(*turns: Turn, session_id: str = "chat-9") -> Conversation:
    return Conversation(id="c1", agent="helper", session_id=session_id, turns=turns)


@pytest.mark.parametrize("by", ["add", "add_many"])
def test_a_conversation_that_is_added_as_a_memory_is_searched_by_its_sentences(alma: ALMA, by: str) -> None:
    long = Turn("Bob", "I moved to Lisbon last month with my cat. " * 30 + "The sky over the harbour is green today.")
    if by == "add":
        alma.add("conversation", "helper", session_id="chat-9", turns=[long])
    else:
        alma.add_many([given(long)])

    (found,) = alma.retrieve("Is the sky over the harbour green today?", "helper").conversations
    assert found.metadata["hits"][0] == "Bob: The sky over the harbour is green today."


def test_hits_of_a_conversation_with_chosen_passages_are_these_passages(alma: ALMA) -> None:
    turns = (Turn("Ann", "I moved to Lisbon."), Turn("Bob", "Cats are better than dogs."))
    chosen = (Passage(text="Ann lives in Lisbon.", position=1), Passage(text="Lisbon it is.", speaker="Ann", position=99))
    alma.add_many([Draft(memory=given(*turns), passages=chosen)])

    (found,) = alma.retrieve("Who lives in Lisbon?", "helper").conversations
    assert sorted(found.metadata["hits"]) == ["Ann lives in Lisbon.", "Ann: Lisbon it is."]


@pytest.mark.parametrize("turn", [Turn("", "Hello"), Turn("Ann", ""), Turn("Ann", "half \ud800"), Turn("A\x00nn", "Hello")])
def test_a_turn_that_cannot_be_stored_is_refused_however_it_is_given(alma: ALMA, turn: Turn) -> None:
    with pytest.raises(ValidationError, match="of turn 0"):
        alma.add("conversation", "helper", session_id="chat-9", turns=[turn])
    with pytest.raises(ValidationError, match="of messages"):
        alma.add_conversation([turn], "helper", "chat-9")


def test_a_secret_in_the_name_of_a_conversation_is_refused_however_it_is_given(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="session_id contains a secret"):
        alma.add_many([given(Turn("Ann", "Hello"), session_id="ghp_q7Zk2VxT9mLw4RsB8nYc3HdJ6fGpa1B2c3D4")])


def test_adding_a_conversation_returns_what_is_stored(alma: ALMA) -> None:
    said = "The token is ghp_q7Zk2VxT9mLw4RsB8nYc3HdJ6fGpa1B2c3D4."
    made = alma.add("conversation", "helper", session_id="chat-9", turns=[("Ann", said)])
    assert made == alma.get(made.id)


def test_the_id_of_a_conversation_cannot_be_chosen(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match=r"conversation\.id"):
        alma.add("conversation", "helper", session_id="chat-9", turns=[("Ann", "Hello")], id="mine")


def test_a_time_that_utc_cannot_express_is_refused(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="at:"):
        alma.add_conversation(MESSAGES, "helper", "chat-7", at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))


def test_a_speaker_that_a_question_names_changes_nothing_of_what_is_no_conversation(alma: ALMA) -> None:
    fact = alma.add_domain_knowledge("helper", "ops", "To refund an order call billing")
    before = alma.retrieve("refund an order", "helper", profile="recall", explain=True)
    talk = alma.add_conversation([("refund", "refund an order"), ("order", "refund an order")], "helper", "chat")

    after = alma.retrieve("refund an order", "helper", profile="recall", explain=True)
    (was,), numbers = before.recalled, {item.memory.id: item.explanation for item in after.recalled}
    assert numbers[fact.id].cosine == was.explanation.cosine
    assert numbers[talk.id].arms["dense"].score == numbers[talk.id].cosine
    for told in numbers.values():
        arms = told.arms.values()
        assert told.z == pytest.approx(sum(arm.weight * arm.z for arm in arms) + told.time)
        assert all(arm.z == pytest.approx((arm.score - arm.mean) / arm.deviation) for arm in arms)


def test_a_conversation_is_found_by_what_was_said_and_not_by_who_said_it(alma: ALMA) -> None:
    alma.add_conversation([("Caroline", "I love pottery classes."), ("Melanie", "How nice of you.")], "helper", "chat-1")
    alma.add_conversation([("Caroline", "Caroline is my name, and who is Caroline?"), ("Melanie", "You!")], "helper", "chat-2")

    found = alma.retrieve("Which classes does Caroline love?", "helper", profile="recall").conversations
    assert found[0].session_id == "chat-1"
    assert found[0].metadata["hits"][0] == "Caroline: I love pottery classes."
    explained = alma.explain_retrieval("Which classes does Caroline love?", found[0].id, "helper")
    assert str(explained).startswith("Selected because")


def test_a_named_time_lifts_what_was_said_then(tmp_path: Path, stored_in: StoredIn) -> None:
    with ALMA.open(tmp_path, project_id="office", embedding_provider="hash", clock=lambda: AT, **stored_in(tmp_path)) as alma:
        said = [("user", "The printer on the second floor is broken again.")]
        for days in (100, 60, 30, 10, 1):
            alma.add_conversation(
                [*said, ("user", f"That is number {days}.")], "helper", f"{days} days", at=AT - timedelta(days=days)
            )

        question = "What did I say about the printer ten days ago?"
        (first, *others) = alma.retrieve(question, "helper", profile="recall", explain=True).recalled
        assert first.memory.session_id == "10 days"
        assert first.explanation.time > 0
        assert "happened when the question says" in str(first.explanation)
        assert {other.explanation.time for other in others} == {0.0}
