"""`assert_recalls` and `assert_never_recalls` pass when they should, and tell why when they do not."""

import pytest

from alma import ALMA
from alma.testing import assert_never_recalls, assert_recalls, make_heuristic, make_outcome, make_slice


@pytest.fixture
def memory(alma_memory: ALMA) -> ALMA:
    alma_memory.learn("ann", "Deploy the ledger", "success", "Blue-green")
    alma_memory.learn("ann", "Deploy the website", "failure", "By hand")
    alma_memory.learn("bob", "Deploy with the master password", "success")
    alma_memory.add_user_preference("u1", "style", "Short answers about deploying")
    return alma_memory


def message(caught: pytest.ExceptionInfo[AssertionError]) -> str:
    return str(caught.value)


def test_what_is_recalled_is_given_back(memory: ALMA) -> None:
    found = assert_recalls(memory, "blue-GREEN", task="Deploy the ledger", agent="ann")
    assert found.text == "Deploy the ledger"
    assert assert_recalls(memory, found, task="Deploy", agent="ann") == found
    assert assert_recalls(memory, found, agent="ann", within=1) == found
    assert assert_recalls(memory, lambda each: each.kind == "user_preference", task="Deploy", agent="ann", user_id="u1")


def test_a_slice_or_a_list_can_be_asked_as_well(memory: ALMA) -> None:
    found = memory.retrieve("Deploy the ledger", "ann")
    assert_recalls(found, "ledger", within=1)
    assert_recalls(list(found), "website")
    assert_never_recalls(found, "password")
    assert_never_recalls([], "anything")


def test_the_message_tells_what_was_recalled_instead(memory: ALMA) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_recalls(memory, "password", task="Deploy", agent="ann")
    assert "A memory with 'password' is not recalled" in message(caught)
    assert "Asked as 'ann' for 'Deploy', it recalled 2 memories:" in message(caught)
    assert "outcome of 'ann': Deploy the ledger" in message(caught)
    assert "password'," not in message(caught)


def test_the_message_tells_why_a_memory_is_not_recalled(memory: ALMA) -> None:
    (secret,) = memory.retrieve("password", "bob")
    with pytest.raises(AssertionError, match=r"Not selected because: 'bob', who owns it, shares nothing with 'ann'"):
        assert_recalls(memory, secret, task="password", agent="ann")


def test_the_message_tells_that_a_memory_comes_too_late() -> None:
    memories = [make_heuristic(), make_outcome(task_description="Late")]
    with pytest.raises(AssertionError) as caught:
        assert_recalls(make_slice(memories), memories[1], within=1)
    assert "is not recalled among the first 1. It is number 2." in message(caught)


def test_what_must_not_be_recalled_is_asked_for_by_its_own_words(memory: ALMA) -> None:
    assert_never_recalls(memory, "password", agent="ann")
    assert_never_recalls(memory, "password", task=["Deploy", "Log in"], agent="ann")
    assert_never_recalls(memory, lambda each: each.agent == "bob", task="Deploy", agent="ann")
    with pytest.raises(AssertionError) as caught:
        assert_never_recalls(memory, "master password", task="Paint the fence", agent="bob")
    assert "A memory with 'master password' is recalled, as number 1: outcome of 'bob': Deploy with the master" in message(caught)


def test_no_rank_is_low_enough_for_what_must_not_be_recalled(alma_memory: ALMA) -> None:
    alma_memory.learn_many({"agent": "ann", "task": f"Deploy service {n}", "outcome": "success"} for n in range(60))
    secret = alma_memory.learn("ann", "Deploy the whole estate of services in the north by means of a secret", "failure")
    with pytest.raises(AssertionError, match=f"id {secret.id}"):
        assert_never_recalls(alma_memory, lambda each: each.id == secret.id, task="Deploy service", agent="ann")


def test_a_question_that_cannot_be_put_is_an_error_of_the_test(memory: ALMA) -> None:
    with pytest.raises(TypeError, match="which agent"):
        assert_recalls(memory, "ledger")
    with pytest.raises(TypeError, match="give task"):
        assert_never_recalls(memory, lambda each: True, agent="ann")


def test_an_empty_answer_is_told_as_one(alma_memory: ALMA) -> None:
    with pytest.raises(AssertionError, match="it recalled 0 memories"):
        assert_recalls(alma_memory, "anything", agent="ann")
