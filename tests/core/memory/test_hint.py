"""A misspelt agent is helped, an unknown one is not."""

import logging

import pytest

from alma import ALMA


@pytest.mark.parametrize("name", ["helen", "Helena", "helana", "HELENA", "heleena"])
def test_a_name_spelt_nearly_like_a_known_one_gets_a_hint_and_a_log_line(
    alma: ALMA, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    alma.learn("helena", "Deploy", "success")
    with caplog.at_level(logging.DEBUG, logger="alma"):
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
