"""What is taken from a conversation without a model, and above all what is not."""

from typing import Any

import pytest

from alma.extraction import FactType, RuleBasedExtractor, detect_entities
from alma.types.prompt import FENCE, FENCE_END

STATES = "Our API gateway listens on port 8443."
REQUEST = {"role": "user", "content": "Fix the flaky checkout test"}


def found(*messages: Any) -> list[tuple[FactType, str]]:
    return [(fact.fact_type, fact.content) for fact in RuleBasedExtractor().extract(messages).facts]


def said(text: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": text}


def test_the_statement_is_read_that_the_other_tests_hide() -> None:
    assert found(said(STATES)) == [(FactType.DOMAIN_KNOWLEDGE, STATES)]


def test_what_stands_behind_a_quotation_or_code_is_read() -> None:
    text = f"> Somebody prefers tabs.\n\n    indented = 1\n```\ncode\n```\n{STATES}"
    assert found(said(text)) == [(FactType.DOMAIN_KNOWLEDGE, STATES)]


HIDDEN = {
    "a system's words": said(STATES, "system"),
    "a developer's words": said(STATES, "developer"),
    "an answer of a tool": said(STATES, "tool"),
    "an answer of a tool that has a name": {"role": "tool", "name": "grep", "tool_call_id": "1", "content": STATES},
    "an answer of a tool in LangChain's form": {"type": "tool", "data": {"name": "grep", "content": STATES, "tool_call_id": "1"}},
    "an answer of a tool in a user's message": {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": STATES}],
    },
    "the assistant's words": said(STATES, "assistant"),
    "a quotation": said(f"> {STATES}"),
    "a block of code": said(f"```\n{STATES}\n```"),
    "indented text": said(f"See:\n\n    {STATES}"),
    "notes of a memory": said(f"{FENCE}\n{STATES}\n{FENCE_END}"),
    "notes that never end": said(f"{FENCE}\n{STATES}"),
    "a reminder in tags": said(f"<system-reminder>\n{STATES}\n</system-reminder>"),
    "a reminder beside words": said(f"Hello. <note id='1'>{STATES}</note> <note>{STATES}</note> Bye."),
    "a report of a failure": said("The checkout test fails with 3 errors since Monday."),
    "a report of what is seen now": said("I get a 500 when I log in as Bob."),
    "a refusal": said("I prefer not to say."),
    "a choice that stands elsewhere": said("Let's use the second option."),
    "a request with a name": said("Change the timeout of Checkout from 30 to 60 seconds."),
    "a question": said("Does our API gateway listen on port 8443?"),
    "a hypothesis": said("If it rains, our API gateway listens on port 8443."),
    "a guess": said("Maybe our API gateway listens on port 8443."),
    "another's words": said("Tom said that our API gateway listens on port 8443."),
    "words in quotation marks": said('The ticket says "our API gateway listens on port 8443".'),
}


@pytest.mark.parametrize("message", HIDDEN.values(), ids=HIDDEN)
def test_nothing_is_taken_from(message: dict[str, Any]) -> None:
    assert found(message) == []


def test_what_the_assistant_says_of_the_user_is_no_preference() -> None:
    assert found(said("You prefer short answers without lists.", "assistant"), said("I prefer tabs.", "assistant")) == []


WAYS = {
    "I fixed it by freezing the clock in the fixture.": ("freezing the clock in the fixture", "success"),
    "I tried rotating both keys, but that failed.": ("rotating both keys", "failure"),
    "Freezing the clock did the trick.": ("Freezing the clock", "success"),
    "Loading it into memory failed because it has 40 GB.": ("Loading it into memory", "failure"),
}


@pytest.mark.parametrize(("text", "way"), WAYS.items())
def test_a_way_is_quoted_with_its_verdict(text: str, way: tuple[str, str]) -> None:
    (fact,) = RuleBasedExtractor().extract([REQUEST, said(text, "assistant")]).facts
    assert (fact.strategy, fact.metadata["outcome"]) == way
    assert fact.strategy in text
    assert (fact.metadata["task"], fact.metadata["request_turn"], fact.metadata["turn"]) == (REQUEST["content"], 0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "I will freeze the clock, which should work well.",
        "All 214 tests passed.",
        "The build completed successfully.",
        "Running the tests failed because the port is taken.",
        "I tried to import numpy but it failed.",
        "It worked after I restarted the server.",
        "I used the cache, which worked until Monday and then failed.",
        "I tried the new parser, which failed at first, but then the fallback fixed it.",
        "Unit tests failed because the port is taken.",
        "You can fix it by freezing the clock.",
        "Choose the method that works best for you.",
        "Let me check whether this worked.",
        "Did freezing the clock work?",
    ],
)
def test_no_way_is_read_into(text: str) -> None:
    assert found(REQUEST, said(text, "assistant")) == []


@pytest.mark.parametrize("role", ["tool", "function"])
def test_an_answer_of_a_tool_is_no_outcome(role: str) -> None:
    assert found(REQUEST, {"role": role, "name": "pytest", "content": "Freezing the clock did the trick."}) == []


def test_a_way_without_a_request_before_it_is_no_outcome() -> None:
    assert found(said("Freezing the clock did the trick.", "assistant")) == []


def test_an_outcome_belongs_to_the_nearest_request_and_not_to_a_courtesy() -> None:
    messages = [
        said("Write the migration"),
        said("Done.", "assistant"),
        said("Can you fix the flaky checkout test?"),
        said("Thanks, that looks great so far."),
        said("Freezing the clock did the trick.", "assistant"),
    ]
    (fact,) = RuleBasedExtractor().extract(messages).facts
    assert fact.metadata["task"] == "fix the flaky checkout test"


def test_facts_that_are_known_are_not_given_again() -> None:
    assert RuleBasedExtractor().extract([said(STATES)], existing_facts=[STATES.upper()]).facts == ()


def test_a_named_speaker_is_named_in_the_fact() -> None:
    assert found({"role": "Caroline", "content": "I moved to Lisbon in May."}) == [
        (FactType.DOMAIN_KNOWLEDGE, "Caroline: I moved to Lisbon in May.")
    ]


def test_names_are_counted_as_they_are_written() -> None:
    text = "Alice met Bob. Then Alice saw Bob in Paris. On Monday Alice left. However, Bob and Alice's cat stayed. However, load_all and load_all."
    assert detect_entities(text) == [("Alice", 4), ("Bob", 3)]
    assert ("load_all", 2) in detect_entities(text, min_frequency=2)
    assert "However" not in dict(detect_entities(text, min_frequency=1))
