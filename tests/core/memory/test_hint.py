"""A misspelt agent is helped, an unknown one is not."""

import logging

import pytest

from alma import ALMA, MemoryNotFoundError
from facade import OpenStore


@pytest.mark.parametrize("name", ["helen", "Helena", "helana", "HELENA", "heleena"])
def test_a_name_spelt_nearly_like_a_known_one_gets_a_hint_and_a_log_line(
    alma: ALMA, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    alma.learn("helena", "Deploy", "success")
    with caplog.at_level(logging.INFO, logger="alma"):
        memories = alma.retrieve("Deploy", name)
    assert memories.total_items == 0
    assert memories.hint is not None
    assert "did you mean 'helena'?" in memories.hint
    assert [record.getMessage() for record in caplog.records if record.name == "alma"] == [memories.hint]


@pytest.mark.parametrize("name", ["victor", "x", "hel", "anele"])
def test_a_name_like_no_other_gets_no_hint(alma: ALMA, name: str, caplog: pytest.LogCaptureFixture) -> None:
    alma.learn("helena", "Deploy", "success")
    assert alma.retrieve("Deploy", name).hint is None
    assert caplog.records == []


def test_a_known_agent_whose_slice_is_empty_gets_no_hint(alma: ALMA) -> None:
    alma.learn("helena", "Deploy", "success")
    alma.learn("helen", "Boil an egg", "success")
    memories = alma.retrieve("Deploy", "helen")
    assert (memories.total_items, memories.hint) == (0, None)


def test_a_slice_that_is_not_empty_has_no_hint(alma: ALMA) -> None:
    alma.learn("helena", "Deploy", "success")
    assert alma.retrieve("Deploy", "helena").hint is None


def test_neither_users_nor_agents_of_other_projects_are_hinted_at(alma: ALMA) -> None:
    alma.add_user_preference("helena", "style", "short")
    alma.for_project("other").learn("helena", "Deploy", "success")
    assert alma.retrieve("Deploy", "helen").hint is None


ASKED = {
    "check": lambda alma: alma.check(agent="helen", action="rolling update"),
    "strategies": lambda alma: alma.strategies(task="Deploy", agent="helen"),
    "assess": lambda alma: alma.assess("rolling update", context="Deploy", agent="helen"),
}


@pytest.mark.parametrize("name", ASKED)
def test_advice_that_is_empty_for_a_misspelt_agent_says_so(alma: ALMA, name: str, caplog: pytest.LogCaptureFixture) -> None:
    alma.learn("helena", "Deploy", "failure", "rolling update")
    found = ASKED[name](alma)
    hint = "no memories of 'helen'; did you mean 'helena'?"
    assert (found.hint, str(found).endswith(f"; {hint}")) == (hint, True)
    assert [record.getMessage() for record in caplog.records if record.name == "alma"] == [hint]


def test_advice_for_a_known_agent_has_no_hint(alma: ALMA) -> None:
    alma.learn("helena", "Deploy", "failure", "rolling update")
    alma.learn("helen", "Boil an egg", "success")
    assert [asked(alma).hint for asked in ASKED.values()] == [None, None, None]


@pytest.mark.parametrize("tag", ["O1", "[O1]", "K12"])
def test_a_tag_in_the_place_of_an_id_is_named_as_one(alma: ALMA, tag: str) -> None:
    alma.learn("helena", "Deploy", "success")
    for call in (alma.get, alma.history):
        with pytest.raises(MemoryNotFoundError, match="that is a tag"):
            call(tag)
    assert "that is a tag" in str(alma.explain_retrieval(query="Deploy", memory_id=tag))


def test_another_unknown_id_is_named_alone(alma: ALMA) -> None:
    with pytest.raises(MemoryNotFoundError, match=r"has no memory 'nope'$"):
        alma.get("nope")


@pytest.mark.parametrize("users", ["separate", "isolated"])
def test_an_agent_that_recorded_for_another_user_alone_is_not_named(open_store: OpenStore, users: str) -> None:
    alma = open_store(users=users)
    alma.learn("assistant-of-maria", "Deploy", "success", "blue-green", user_id="maria")
    for user in (None, "bob", "maria"):
        hints = {
            alma.retrieve("Deploy", "assistant-of-mari", user_id=user).hint,
            alma.strategies("Deploy", "assistant-of-mari", user_id=user).hint,
            alma.check("assistant-of-mari", "Deploy", user_id=user).hint,
            alma.assess("blue-green", "Deploy", "assistant-of-mari", user_id=user).hint,
        }
        assert (hints == {None}) is (user != "maria")
