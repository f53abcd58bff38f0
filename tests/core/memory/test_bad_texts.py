"""Texts and names that cannot be kept: a clear error, and nothing is stored."""

from collections.abc import Callable
from typing import Any

import pytest

from alma import (
    ALMA,
    AntiPattern,
    DomainKnowledge,
    Draft,
    Heuristic,
    Outcome,
    Passage,
    ScopeViolationError,
    UserPreference,
    ValidationError,
)
from alma.types import Memory
from facade import Place, refused

Call = Callable[[ALMA, Any], object]

REQUIRED: dict[str, Call] = {
    "task": lambda alma, value: alma.learn(agent="a", task=value, outcome="success"),
    "task of a query": lambda alma, value: alma.retrieve(task=value, agent="a"),
    "category": lambda alma, value: alma.add_user_preference("u", value, "p"),
    "preference": lambda alma, value: alma.add_user_preference("u", "c", value),
    "source": lambda alma, value: alma.add_user_preference("u", "c", "p", value),
    "domain": lambda alma, value: alma.add_domain_knowledge("a", value, "f"),
    "fact": lambda alma, value: alma.add_domain_knowledge("a", "d", value),
    "source of a fact": lambda alma, value: alma.add_domain_knowledge("a", "d", "f", value),
    "pattern": lambda alma, value: alma.add_anti_pattern("a", value, "w"),
    "why_bad": lambda alma, value: alma.add_anti_pattern("a", "p", value),
    "condition": lambda alma, value: alma.add_heuristic("a", value, "s"),
    "strategy": lambda alma, value: alma.add_heuristic("a", "c", value),
}
OPTIONAL: dict[str, Call] = {
    "strategy_used": lambda alma, value: alma.learn("a", "t", "success", value),
    "task_type": lambda alma, value: alma.learn("a", "t", "success", task_type=value),
    "error_message": lambda alma, value: alma.learn("a", "t", "failure", error_message=value),
    "feedback": lambda alma, value: alma.learn("a", "t", "success", feedback=value),
    "better_alternative": lambda alma, value: alma.add_anti_pattern("a", "p", "w", value),
}
LABELS = ("category", "source", "domain", "source of a fact", "task_type")
NAMES: dict[str, Call] = {
    "agent of learn": lambda alma, value: alma.learn(agent=value, task="t", outcome="success"),
    "agent of retrieve": lambda alma, value: alma.retrieve(task="t", agent=value),
    "agent of add_domain_knowledge": lambda alma, value: alma.add_domain_knowledge(value, "d", "f"),
    "agent of add_anti_pattern": lambda alma, value: alma.add_anti_pattern(value, "p", "w"),
    "agent of add_heuristic": lambda alma, value: alma.add_heuristic(value, "c", "s"),
    "agent of record_usage": lambda alma, value: alma.record_usage(["m"], ["m"], agent=value),
    "agent of record_feedback": lambda alma, value: alma.record_feedback("m", signal="used", agent=value),
    "agent of learn_many": lambda alma, value: alma.learn_many([{"agent": value, "task": "t", "outcome": True}]),
    "user": lambda alma, value: alma.add_user_preference(value, "c", "p"),
    "project": lambda alma, value: alma.for_project(value),
}

UNKEEPABLE = [
    pytest.param(5.5, id="number"),
    pytest.param(b"bytes", id="bytes"),
    pytest.param(["a"], id="list"),
    pytest.param(10**5000, id="huge number"),
    pytest.param("a\x00b", id="NUL"),
    pytest.param("a\ud800b", id="lone surrogate"),
    pytest.param("\udfff", id="low surrogate"),
    pytest.param("x" * 200_001, id="over-long"),
]
MISSING = [None, "", "   ", "\n\t"]
UNPRINTABLE = ["a\nb", "a\tb", "a\x07b", "a\x1b[31mb", "a\x7fb", "a\u202eb", "a\u200bb", "a\u2028b", "x" * 201]


@pytest.mark.parametrize("field", [*REQUIRED, *OPTIONAL])
@pytest.mark.parametrize("value", UNKEEPABLE)
def test_a_text_that_cannot_be_kept_is_refused_by_name(unchanging: ALMA, field: str, value: object) -> None:
    with refused(unchanging, ValidationError, field.split()[0]):
        {**REQUIRED, **OPTIONAL}[field](unchanging, value)


@pytest.mark.parametrize("field", REQUIRED)
@pytest.mark.parametrize("value", MISSING)
def test_a_text_that_says_nothing_is_refused_by_name(unchanging: ALMA, field: str, value: object) -> None:
    with refused(unchanging, ValidationError, field.split()[0]):
        REQUIRED[field](unchanging, value)


@pytest.mark.parametrize("field", OPTIONAL)
@pytest.mark.parametrize("value", MISSING)
def test_an_optional_text_may_be_missing_or_empty(alma: ALMA, field: str, value: object) -> None:
    OPTIONAL[field](alma, value)
    assert alma.get_stats().total == 1


@pytest.mark.parametrize("field", LABELS)
@pytest.mark.parametrize("value", UNPRINTABLE)
def test_a_category_is_one_short_line(unchanging: ALMA, field: str, value: str) -> None:
    with refused(unchanging, ValidationError, field.split()[0]):
        {**REQUIRED, **OPTIONAL}[field](unchanging, value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", MISSING)
def test_a_missing_scope_is_an_error_never_a_default(unchanging: ALMA, name: str, value: object) -> None:
    with refused(unchanging, ScopeViolationError, "is missing; there is no default"):
        NAMES[name](unchanging, value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [*UNKEEPABLE, *UNPRINTABLE])
def test_a_name_that_cannot_be_one_is_refused(unchanging: ALMA, name: str, value: object) -> None:
    with refused(unchanging, ValidationError):
        NAMES[name](unchanging, value)


@pytest.mark.parametrize("value", [*MISSING, *UNKEEPABLE, *UNPRINTABLE])
def test_a_project_that_is_missing_or_cannot_be_one_is_not_opened(place: Place, value: Any) -> None:
    is_missing = value is None or (isinstance(value, str) and not value.strip())
    wanted = ScopeViolationError if is_missing else ValidationError
    with pytest.raises(wanted, match="is missing; there is no default" if is_missing else "project") as caught:
        place.open(project_id=value)
    assert caught.type is wanted
    assert not place.folder.exists()


@pytest.mark.parametrize("value", ["", "   ", "a\nb", 5.5])
def test_a_user_that_is_given_but_cannot_be_one_is_refused(unchanging: ALMA, value: Any) -> None:
    wanted = ScopeViolationError if isinstance(value, str) and not value.strip() else ValidationError
    with refused(unchanging, wanted, "user_id"):
        unchanging.retrieve("t", "a", user_id=value)
    with refused(unchanging, wanted, "agent"):
        unchanging.add_user_preference("u", "c", "p", agent=value)
    with refused(unchanging, wanted, "agent"):
        unchanging.get_stats(agent=value)


def test_calls_without_any_agent_are_refused(unchanging: ALMA) -> None:
    with refused(unchanging, ScopeViolationError, "agent is missing"):
        unchanging.retrieve("t")
    with refused(unchanging, ScopeViolationError, "agent is missing"):
        unchanging.record_usage(["m"])
    with refused(unchanging, ScopeViolationError, "item 0: agent is missing"):
        unchanging.learn_many([{"task": "t", "outcome": "success"}])


def test_a_call_without_any_task_is_refused(unchanging: ALMA) -> None:
    with refused(unchanging, ValidationError, "task must be a text, not None"):
        unchanging.retrieve(agent="a")


def test_the_longest_text_and_the_longest_name_are_kept(alma: ALMA) -> None:
    outcome = alma.learn(agent="n" * 200, task="word " * 39_999 + "ends.", outcome="success", task_type="t" * 200)
    assert len(outcome.task_description) == 200_000
    assert alma.retrieve("word ends", "n" * 200).ids == [outcome.id]


def test_space_around_texts_and_names_does_not_count(alma: ALMA) -> None:
    outcome = alma.learn(agent=" a ", task="\n Deploy it\t", outcome="success", task_type=" ops ")
    assert (outcome.agent, outcome.task_description, outcome.task_type) == ("a", "Deploy it", "ops")
    alma.add_many([UserPreference(user_id=" u ", agent=" a ", category="c", preference="p")])
    assert alma.retrieve("Deploy it", "a ", user_id="u").total_items == 2


class OwnKind(Memory):
    kind: str = "diary"

    @property
    def text(self) -> str:
        return "Dear diary"


CALLERS_MEMORIES: dict[str, Memory | Draft] = {
    "agent is missing": Outcome(task_description="t"),
    "agent is blank": Heuristic(agent="  ", condition="c", strategy="s"),
    "user is blank": UserPreference(user_id="  ", category="c", preference="p"),
    "agent of two lines": Outcome(agent="a\nb", task_description="t"),
    "user of two lines": UserPreference(user_id="a\nb", category="c", preference="p"),
    "empty id": Outcome(id="", agent="a", task_description="t"),
    "id of two lines": Outcome(id="a\nb", agent="a", task_description="t"),
    "NUL in an id": Outcome(id="a\x00b", agent="a", task_description="t"),
    "empty task": Outcome(agent="a", task_description=" "),
    "over-long task": Outcome(agent="a", task_description="x" * 200_001),
    "NUL in a strategy": Outcome(agent="a", task_description="t", strategy_used="a\x00b"),
    "surrogate in an error": Outcome(agent="a", task_description="t", error_message="\ud800"),
    "category of two lines": Outcome(agent="a", task_description="t", task_type="a\nb"),
    "empty condition": Heuristic(agent="a", condition="", strategy="s"),
    "empty strategy": Heuristic(agent="a", condition="c", strategy=""),
    "empty reason": AntiPattern(agent="a", pattern="p", why_bad=""),
    "empty preference": UserPreference(user_id="u", category="c", preference=""),
    "empty domain": DomainKnowledge(agent="a", domain="", fact="f"),
    "another project's": DomainKnowledge(agent="a", project_id="other", domain="d", fact="f"),
    "confidence that is none": DomainKnowledge(agent="a", domain="d", fact="f").model_copy(update={"confidence": float("nan")}),
    "confidence beyond 1": DomainKnowledge(agent="a", domain="d", fact="f").model_copy(update={"confidence": 1.5}),
    "metadata that is none": DomainKnowledge(agent="a", domain="d", fact="f", metadata={"x": {1, 2}}),
    "a kind that is not known": OwnKind(agent="a"),
    "blank passage": Draft(memory=Outcome(agent="a", task_description="t"), passages=(Passage(text=" "),)),
    "NUL in a passage": Draft(memory=Outcome(agent="a", task_description="t"), passages=(Passage(text="a\x00"),)),
    "NUL in keywords": Draft(memory=Outcome(agent="a", task_description="t"), passages=(Passage(text="a", keywords="\x00"),)),
    "NUL in a speaker": Draft(memory=Outcome(agent="a", task_description="t"), passages=(Passage(text="a", speaker="\x00b"),)),
    "two passages in one place": Draft(
        memory=Outcome(agent="a", task_description="t"), passages=(Passage(text="a"), Passage(text="b"))
    ),
}


@pytest.mark.parametrize("fault", CALLERS_MEMORIES)
def test_a_memory_that_a_caller_made_is_held_to_the_same_rules(unchanging: ALMA, fault: str) -> None:
    wanted = ScopeViolationError if fault.endswith(("is missing", "is blank")) else ValidationError
    good = Outcome(agent="a", task_description="a good one")
    with refused(unchanging, wanted, "^item 1: .*nothing was stored"):
        unchanging.add_many([good, CALLERS_MEMORIES[fault]])


@pytest.mark.parametrize("item", ["text", None, 5, {"agent": "a"}, [Outcome(agent="a", task_description="t")]])
def test_what_is_no_memory_is_refused(unchanging: ALMA, item: Any) -> None:
    with refused(unchanging, ValidationError, "item 0: a memory of a known kind or a draft is needed"):
        unchanging.add_many([item])


def test_a_memory_of_a_class_of_the_callers_own_is_refused(unchanging: ALMA) -> None:
    class Special(Outcome):
        colour: str = "red"

    with refused(unchanging, ValidationError, "item 0: a memory of a known kind"):
        unchanging.add_many([Special(agent="a", task_description="t")])


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"agent": "a", "task": "t"}, "no argument 'outcome'"),
        ({"agent": "a", "outcome": "success"}, "no argument 'task'"),
        ({"agent": "a", "task": "t", "outcome": "success", "colour": "red"}, "'colour' is no argument"),
        ({"agent": "a", "task": "t", "outcome": "success", 5: 6}, "5 is no argument"),
        ({"agent": "a", "task": "t", "outcome": "fine"}, "outcome 'fine'"),
        ({"agent": "a", "task": "", "outcome": "success"}, "task is empty"),
        ({"agent": "", "task": "t", "outcome": "success"}, "agent is missing"),
        ({"agent": "a", "task": "t", "outcome": "success", "duration_ms": -1}, "duration_ms"),
        ({"agent": "a", "task": "t", "outcome": "success", "metadata": {"x": object()}}, "metadata"),
        ("agent", "a mapping of the arguments of learn"),
        (None, "a mapping of the arguments of learn"),
    ],
)
def test_one_bad_item_among_many_stores_nothing_and_is_named(unchanging: ALMA, item: Any, message: str) -> None:
    good = {"agent": "a", "task": "good", "outcome": "success"}
    wanted = ScopeViolationError if "agent is missing" in message else ValidationError
    with refused(unchanging, wanted, f"^item 3: .*{message}.*nothing was stored"):
        unchanging.learn_many([good, good, good, item, good])


@pytest.mark.parametrize("items", [None, 5, "text", {"agent": "a", "task": "t", "outcome": "success"}])
def test_what_is_no_list_of_items_is_refused(unchanging: ALMA, items: Any) -> None:
    with refused(unchanging, ValidationError, "items must be a list"):
        unchanging.learn_many(items)
    with refused(unchanging, ValidationError, "memories must be a list"):
        unchanging.add_many(items)


@pytest.mark.parametrize("passages", ["text", 5, ["text"], [Passage(text="a"), "b"], [Passage(text="a"), Passage(text="b")]])
def test_what_are_no_passages_is_refused(unchanging: ALMA, passages: Any) -> None:
    with refused(unchanging, ValidationError, "passage"):
        unchanging.add_domain_knowledge("a", "d", "f", passages=passages)


@pytest.mark.parametrize("ids", ["m1", None, 5, ["m1", None], ["m1", 5], ["\ud800"], ["a\x00b"], [["m1"]]])
def test_what_are_no_ids_is_refused(unchanging: ALMA, ids: Any) -> None:
    with refused(unchanging, ValidationError, "retrieved_memory_ids"):
        unchanging.record_usage(ids, [], agent="a")
    if ids is not None:
        with refused(unchanging, ValidationError, "used_memory_ids"):
            unchanging.record_usage([], ids, agent="a")


@pytest.mark.parametrize("memory_id", [None, 5, b"m1", ["m1"], "\ud800", "\x00"])
def test_what_is_no_id_is_refused(unchanging: ALMA, memory_id: Any) -> None:
    with refused(unchanging, ValidationError, "memory_id"):
        unchanging.get(memory_id)
    with refused(unchanging, ValidationError, "memory_id"):
        unchanging.record_feedback(memory_id, signal="used", agent="a")


@pytest.mark.parametrize("signal", [None, "", "love", 5, ["used"], pytest.param(10**5000, id="huge")])
def test_an_unknown_signal_is_refused_and_the_known_ones_are_listed(alma: ALMA, signal: Any) -> None:
    memory = alma.add_heuristic("a", "c", "s")
    with refused(alma, ValidationError, "'used' or 'ignored' or 'thumbs_up' or 'thumbs_down'"):
        alma.record_feedback(memory.id, signal=signal, agent="a")


@pytest.mark.parametrize(
    "word", ["", "ok", "succes", "1", None, 1, 0, 1.0, [], {}, b"success", pytest.param(10**5000, id="huge"), "\ud800"]
)
def test_an_unknown_outcome_is_never_a_silent_failure_and_the_good_words_are_listed(unchanging: ALMA, word: Any) -> None:
    with refused(unchanging, ValidationError, "'success', 'failure', 'partial', 'unverified'"):
        unchanging.learn(agent="a", task="t", outcome=word)
