"""What is given wrong is said where it is given, and not in the middle of a crew's work."""

import pytest
from crewai import Crew
from crewai.hooks import InterceptionPoint, get_hooks

from alma import ALMA, AlmaError, ConfigurationError, ValidationError
from alma_crewai import ALMACrewListener, ALMAMemory, attach_alma
from crews import ScriptedLLM, agent, crew, task

pytestmark = pytest.mark.any_version

DEPLOY = "Deploy the auth service"


@pytest.fixture
def made() -> Crew:
    return crew(task(DEPLOY, agent(ScriptedLLM())))


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent": ""},
        {"agent": 5.0},
        {"user_id": 5.0},
        {"task_type": 5.0},
        {"top_k": 0},
        {"top_k": True},
        {"evaluator": "yes"},
        {"strategy": None},
        {"action": "call"},
        {"tool_outcome": 1},
        {"redact": 1},
        {"on_run": 1},
        {"on_error": "ignore"},
        {"lock_timeout": -1},
        {"inject": "system"},
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_by_its_name_and_nothing_listens(alma: ALMA, made: Crew, wrong: dict[str, object]) -> None:
    (name,) = wrong
    for refuse in (ALMAMemory, ALMACrewListener, lambda alma, **settings: attach_alma(made, alma, **settings)):
        with pytest.raises(AlmaError, match=name):
            refuse(alma, **wrong)
    assert get_hooks(InterceptionPoint.PRE_STEP) == []


@pytest.mark.parametrize("wrong", [-1, True, "many"])
def test_a_wrong_budget_is_refused(alma: ALMA, wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="max_tokens"):
        ALMAMemory(alma, max_tokens=wrong)


def test_what_is_no_alma_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="alma must be an open ALMA, not str"):
        ALMAMemory("a folder")


def test_an_unknown_argument_is_named_with_what_the_user_called(alma: ALMA, made: Crew) -> None:
    with pytest.raises(TypeError, match="ALMAMemory has no argument 'topk'"):
        ALMAMemory(alma, topk=3)
    with pytest.raises(TypeError, match="ALMACrewListener has no argument 'topk'"):
        ALMACrewListener(alma, topk=3)
    with pytest.raises(TypeError, match="attach_alma has no argument 'topk'"):
        attach_alma(made, alma, topk=3)


def test_after_closing_a_memory_is_attached_anew(alma: ALMA, made: Crew) -> None:
    first = attach_alma(made, alma)
    first.close()
    second = attach_alma(made, alma, agent="team")
    made.kickoff()
    second.close()
    assert [record.agent for record in alma.recent_episodes()] == ["team"]


def test_other_settings_for_a_memory_that_is_attached_are_refused(alma: ALMA, made: Crew) -> None:
    memory = attach_alma(made, alma, top_k=3)
    assert attach_alma(made, alma, top_k=3) is memory
    with pytest.raises(ValidationError, match="other settings"):
        attach_alma(made, alma, top_k=4)
    memory.close()


def test_the_memory_of_another_project_is_replaced(alma: ALMA, made: Crew) -> None:
    theirs = attach_alma(made, alma.for_project("other"))
    mine = attach_alma(made, alma)
    made.kickoff()
    theirs.close()
    mine.close()
    assert (len(alma.recent_episodes()), alma.for_project("other").recent_episodes()) == (1, [])


def test_a_scope_that_is_replaced_is_told(alma: ALMA, memory: ALMAMemory, caplog: pytest.LogCaptureFixture) -> None:
    attach_alma(crew(task(DEPLOY, agent(ScriptedLLM())), memory=memory.scope("/team")), alma).close()
    assert "recalled from a MemoryScope" in caplog.text
