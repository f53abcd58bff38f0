"""What becomes of a conversation in a real memory: stored once, at once, within the rules of agent, user and redaction."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from alma import ALMA
from alma.errors import ConfigurationError, MemoryNotFoundError, ValidationError
from alma.extraction import (
    AutoLearner,
    ExtractedFact,
    ExtractionResult,
    FactType,
    RuleBasedExtractor,
    add_auto_learning_to_alma,
    create_extractor,
)
from alma_integration import open_records
from facade import StoredIn

MARCH, APRIL, MAY = (datetime(2026, month, 2, tzinfo=UTC) for month in (3, 4, 5))


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    rules = {"helena": {"cannot_learn": ["decision"]}}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=rules, **stored_in(tmp_path)) as opened:
        yield opened


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


SEED = [user("Test the login form"), assistant("I used incremental validation which worked well for the form.")]
LONG = [
    *SEED,
    user("Please always run the linter before you commit."),
    user("Our API gateway listens on port 8443. We decided to use Redis for the queue."),
    user("Don't use sleep() in the tests because they become flaky."),
]


def learn(alma: ALMA, messages: list[Any], agent: str = "dev", **options: Any) -> dict[str, Any]:
    return AutoLearner(alma).learn_from_conversation(messages=messages, agent=agent, **options)


def texts(alma: ALMA, **chosen: Any) -> list[str]:
    return sorted(memory.text for memory in alma.list_memories(**chosen))


def test_an_outcome_is_bound_to_its_request_and_proves_nothing_alone(alma: ALMA) -> None:
    results = learn(alma, SEED, "helena")

    assert results["extracted_count"] == results["committed_count"] == 1
    (outcome,) = alma.list_memories("outcome")
    assert (outcome.task_description, outcome.strategy_used, outcome.success) == (
        "Test the login form",
        "incremental validation",
        True,
    )
    assert outcome.verdict_source == "agent"
    assert outcome.metadata["extracted"]["span"] == SEED[1]["content"]
    assert alma.list_memories("heuristic") == []
    assert "incremental validation" in alma.retrieve("Test the login form", "helena").to_prompt()


def test_each_statement_becomes_a_memory_that_names_its_turn_and_quotes_it(alma: ALMA) -> None:
    results = learn(alma, LONG, user_id="ann", session_id="monday", at=MARCH)

    assert {key for key in results if key not in ("method", "problems")} == {
        "extracted_count",
        "valid_count",
        "committed_count",
        "rejected_count",
        "extraction_time_ms",
        "tokens_used",
        "committed",
        "rejected",
        "valid_facts",
    }
    assert (results["committed_count"], results["rejected_count"], results["method"]) == (5, 0, "rules")
    stored = {memory.kind: memory for memory in alma.list_memories(user_id="ann")}
    assert stored["user_preference"].preference == "Please always run the linter before you commit."
    assert stored["anti_pattern"].why_bad == "they become flaky"
    assert {one.domain for one in alma.list_memories("domain_knowledge")} == {"stated", "decision"}
    said = stored["user_preference"].metadata["extracted"]
    assert (said["turn"], said["speaker"], said["span"]) == (2, "user", "Please always run the linter before you commit.")
    assert alma.provenance(stored["anti_pattern"].id).session_id == "monday"
    assert stored["outcome"].timestamp.date() == MARCH.date()


def test_the_same_conversation_again_adds_nothing_and_a_grown_one_only_what_is_new(alma: ALMA) -> None:
    learn(alma, LONG[:3], user_id="ann")
    before = texts(alma)

    again = learn(alma, LONG[:3], user_id="ann")
    assert (again["committed_count"], again["rejected_count"], texts(alma)) == (0, 2, before)
    grown = learn(alma, LONG, user_id="ann")
    assert grown["committed_count"] == 3
    assert learn(alma, LONG, user_id="ann")["committed_count"] == 0


def test_two_callers_at_once_store_each_fact_once(alma: ALMA) -> None:
    start, counts = Barrier(2), list[int]()

    def run() -> None:
        start.wait()
        counts.append(learn(alma, LONG, user_id="ann")["committed_count"])

    threads = [Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 5
    assert len(texts(alma)) == 5


def test_what_was_forgotten_is_not_brought_back_by_the_conversation_that_said_it(alma: ALMA) -> None:
    (stored,) = learn(alma, [user("Our API gateway listens on port 8443.")])["committed"]
    alma.forget(memory_ids=[stored["id"]])

    again = learn(alma, [user("Our API gateway listens on port 8443.")])

    assert [one["reason"] for one in again["rejected"]] == ["known already, or forgotten: it is not added again"]
    assert texts(alma) == []


def test_what_is_said_again_after_something_else_holds_again(alma: ALMA) -> None:
    tabs, spaces = [user("Always use tabs in the code.")], [user("Always use spaces in the code.")]
    learn(alma, tabs, user_id="ann", at=MARCH)
    learn(alma, spaces, user_id="ann", at=APRIL)
    third = [user("Back to work."), *tabs]

    assert learn(alma, third, user_id="ann", at=MAY)["committed_count"] == 1
    for replayed in (tabs, spaces, third):
        assert learn(alma, replayed, user_id="ann")["committed_count"] == 0
    newest = max(alma.list_memories("user_preference"), key=lambda memory: memory.seen_at)
    assert newest.preference == tabs[0]["content"]


def test_what_was_edited_is_learned_again_where_it_is_said_again(alma: ALMA) -> None:
    port = user("Our API gateway listens on port 8443.")
    (stored,) = learn(alma, [port])["committed"]
    alma.edit(alma.get(stored["id"]), fact="Our API gateway listens on port 9000.")

    assert learn(alma, [port])["committed_count"] == 0
    assert learn(alma, [user("Some news."), port])["committed_count"] == 1
    assert learn(alma, [user("Other news."), port])["committed_count"] == 0
    assert texts(alma) == ["Our API gateway listens on port 8443.", "Our API gateway listens on port 9000."]


def test_what_another_user_said_between_is_not_compared(alma: ALMA) -> None:
    port, other = user("Our API gateway listens on port 8443."), user("Our API gateway listens on port 7777.")
    learn(alma, [port], at=MARCH)
    learn(alma, [other], user_id="ann", at=APRIL)
    assert learn(alma, [user("Back to work."), port], at=MAY)["committed_count"] == 0


def test_a_conversation_may_take_place_at_the_end_of_the_calendar(alma: ALMA) -> None:
    talk = [user("Hello."), user("Our API gateway listens on port 8443.")]
    assert learn(alma, talk, at=datetime.max.replace(tzinfo=UTC))["committed_count"] == 1


@pytest.mark.parametrize("wrong", ["x", None, True, float("nan"), 2])
def test_a_least_confidence_that_is_no_share_is_an_error(alma: ALMA, wrong: Any) -> None:
    with pytest.raises(ValidationError, match="min_confidence"):
        AutoLearner(alma, min_confidence=wrong)


def test_what_is_said_again_in_a_session_that_grew_holds_again(alma: ALMA) -> None:
    tabs, spaces = user("Always use tabs in the code."), user("Always use spaces in the code.")
    for turns in ([tabs], [tabs, spaces], [tabs, spaces, tabs], [tabs, spaces, tabs]):
        learn(alma, turns, user_id="ann", session_id="monday")

    stored = sorted(alma.list_memories("user_preference"), key=lambda memory: memory.seen_at)
    assert [one.preference for one in stored] == [each["content"] for each in (tabs, spaces, tabs)]


def test_what_is_said_again_in_one_conversation_holds_since_it_was_said_last(alma: ALMA) -> None:
    tabs, spaces = user("Always use tabs in the code."), user("Always use spaces in the code.")

    results = learn(alma, [tabs, spaces, tabs], user_id="ann", at=MARCH)

    assert [one["reason"] for one in results["rejected"]] == ["said again later in this conversation"]
    newest = max(alma.list_memories("user_preference"), key=lambda memory: memory.seen_at)
    assert newest.preference == tabs["content"]


def test_what_an_agent_may_not_learn_is_rejected_and_the_rest_is_stored(alma: ALMA) -> None:
    results = learn(alma, LONG, "helena", user_id="ann")

    assert results["rejected"] == [
        {"fact": "We decided to use Redis for the queue.", "reason": "'helena' may not learn 'decision' (cannot_learn)"}
    ]
    assert results["committed_count"] == 4
    assert not any("Redis" in text for text in texts(alma))


def test_a_preference_belongs_to_the_user_and_to_nobody_else(alma: ALMA) -> None:
    learn(alma, [user("Always answer in French, never use English.")], user_id="ann")

    assert "French" not in alma.retrieve("How to answer?", "dev", user_id="bob").to_prompt()
    assert "French" not in alma.retrieve("How to answer?", "dev").to_prompt()
    unnamed = learn(alma, [user("I prefer short answers without lists.")])
    assert [one["reason"] for one in unnamed["rejected"]] == ["a preference needs the user_id of its user"]
    other = learn(alma, [{"role": "user", "name": "Tom", "content": "I prefer short answers without lists."}], user_id="ann")
    assert [one["reason"] for one in other["rejected"]] == ["a preference of Tom, who is not the user"]


def test_two_users_agents_and_projects_stay_apart(alma: ALMA) -> None:
    said = [user("Our API gateway listens on port 8443.")]
    for target, agent, owner in (
        (alma, "dev", "ann"),
        (alma, "dev", "bob"),
        (alma, "ops", None),
        (alma.for_project("other"), "dev", "ann"),
    ):
        assert learn(target, said, agent, user_id=owner)["committed_count"] == 1
    assert sorted((one.agent, one.user_id or "") for one in alma.list_memories()) == [("dev", "ann"), ("dev", "bob"), ("ops", "")]


def test_a_secret_is_in_no_result_and_not_in_the_store(alma: ALMA) -> None:
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
    shown: list[str] = []

    class Watching:
        def extract(self, messages: Any, agent_context: Any = None, existing_facts: Any = None) -> ExtractionResult:
            shown.append(str(messages))
            return RuleBasedExtractor().extract(messages)

    learner = AutoLearner(alma, Watching())
    results = learner.learn_from_conversation([user(f"The staging key of our shop is {key}.")], "dev")

    assert results["committed_count"] == 1
    assert key not in str(results)
    assert key not in "".join(shown)
    assert key not in str(alma.list_memories())


def test_nothing_is_stored_unless_it_is_wanted(alma: ALMA) -> None:
    dry = AutoLearner(alma, auto_commit=False)

    results = dry.learn_from_conversation(SEED, "dev")

    assert (results["valid_count"], results["committed_count"]) == (1, 0)
    (fact,) = results["valid_facts"]
    assert (fact.fact_type, fact.strategy) == (FactType.OUTCOME, "incremental validation")
    assert texts(alma) == []
    assert dry.learn_from_conversation(SEED, "dev", commit=True)["committed_count"] == 1


class Scripted:
    """An extractor of a caller's own."""

    def __init__(self, *facts: ExtractedFact) -> None:
        self.facts = facts

    def extract(self, messages: Any, agent_context: Any = None, existing_facts: Any = None) -> ExtractionResult:
        return ExtractionResult(self.facts)


def test_an_extractor_of_ones_own_is_held_to_the_same_rules(alma: ALMA) -> None:
    heuristic = ExtractedFact(FactType.HEURISTIC, "x", condition="A form has many fields", strategy="Validate one after another")
    facts = [
        heuristic,
        ExtractedFact(FactType.HEURISTIC, "no condition"),
        ExtractedFact(FactType.ANTI_PATTERN, "no reason"),
        ExtractedFact(FactType.OUTCOME, "no task"),
        ExtractedFact(FactType.DOMAIN_KNOWLEDGE, "A guess", confidence=0.3),
        ExtractedFact(FactType.DOMAIN_KNOWLEDGE, "half \ud800 a character"),
    ]

    results = AutoLearner(alma, Scripted(*facts)).learn_from_conversation(SEED, "dev")

    assert results["method"] == "extractor"
    assert [one["reason"] for one in results["rejected"][:4]] == [
        "a heuristic needs a condition and a strategy",
        "an anti-pattern needs a reason",
        "an outcome needs a task and a verdict",
        "its confidence of 0.3 is less than 0.5",
    ]
    assert "surrogate" in results["rejected"][4]["reason"]
    assert texts(alma) == [f"{heuristic.condition}: {heuristic.strategy}"]


def test_a_memory_gets_the_method_as_published(alma: ALMA) -> None:
    assert add_auto_learning_to_alma(alma) is alma
    assert alma.learn_from_conversation(messages=SEED, agent="dev")["committed_count"] == 1  # type: ignore[attr-defined]


def test_no_model_is_asked_because_a_key_is_in_the_environment(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-1")

    assert learn(alma, SEED)["method"] == "rules"
    assert isinstance(create_extractor(), RuleBasedExtractor)
    assert isinstance(create_extractor("rule-based"), RuleBasedExtractor)
    with pytest.raises(ConfigurationError, match="llm:"):
        AutoLearner(alma, use_llm=True)


def test_half_a_character_in_a_message_rejects_its_fact_and_no_other(alma: ALMA) -> None:
    results = learn(alma, [user("The gateway \ud800 listens on port 8443."), user("Our worker listens on port 9000.")])
    assert [one["fact"] for one in results["committed"]] == ["Our worker listens on port 9000."]
    assert "surrogate" in results["rejected"][0]["reason"]


@pytest.mark.parametrize("wrong", ["user: hello", [{"content": "no role"}], [3]])
def test_messages_that_are_none_are_an_error(alma: ALMA, wrong: Any) -> None:
    with pytest.raises(ValidationError):
        learn(alma, wrong)


def test_a_conversation_that_states_nothing_is_no_error(alma: ALMA) -> None:
    results = learn(alma, [user("Hi!"), assistant("Hello, how can I help?")])
    assert (results["extracted_count"], results["rejected"], results["committed"]) == (0, [], [])
    assert learn(alma, [])["extracted_count"] == 0


def test_facts_go_with_the_conversation_that_they_are_of(alma: ALMA) -> None:
    conversation, other = (alma.add_conversation(LONG, "helena", session_id=name) for name in ("monday", "tuesday"))
    told = AutoLearner(alma).learn_from_conversation(LONG, "helena", "ann", conversation_id=conversation.id)
    ids = {each["id"] for each in told["committed"]}
    alma.purge([other.id])
    assert {alma.get(each).id for each in ids} == ids

    purged = alma.purge([conversation.id])
    assert set(purged.memory_ids) == {conversation.id, *ids}
    assert alma.list_memories() == []
    assert alma.verify().problems == ()


def test_a_conversation_that_is_not_stored_is_no_source(alma: ALMA) -> None:
    with pytest.raises(MemoryNotFoundError):
        AutoLearner(alma).learn_from_conversation(LONG, "helena", conversation_id="none")
    assert alma.list_memories() == []


def test_a_record_of_one_agent_takes_no_memory_of_another_with_it(alma: ALMA) -> None:
    own, theirs = (alma.add_domain_knowledge(agent, "ops", "The build takes 40 minutes.").id for agent in ("dev", "other"))
    open_records(alma, "knowledge.source").put("forged", {"agent": "dev", "references": [own], "made": [theirs]})

    assert alma.purge([own], agent="dev").memory_ids == (own,)
    assert alma.get(theirs).text == "The build takes 40 minutes."
