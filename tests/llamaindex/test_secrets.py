"""What is private in a run and must not be stored."""

from typing import Any

import pytest

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory
from llama_runs import agent_of, episodes, run

pytestmark = pytest.mark.any_version


def login(user: str, password: str, headers: dict[str, Any]) -> str:
    """Logs in."""
    return f"{user} is in"


GIVEN = {"user": "ann", "password": "hunter2", "headers": {"Authorization": "Bearer hunter2"}}


def test_an_argument_named_like_a_secret_is_not_stored(alma: ALMA) -> None:
    with ALMALearner(alma):
        run(agent_of([[("login", GIVEN)], "done"], tools=[login]), ALMAMemory.from_defaults(alma, agent="dev"))
    (record,) = episodes(alma)
    assert record.steps[0].action == 'login(headers, password="***", user="ann")'
    assert "hunter2" not in record.model_dump_json()


def test_every_text_that_is_stored_is_redacted(alma: ALMA) -> None:
    with ALMALearner(
        alma,
        evaluator=lambda run: ("success", "ann said so"),
        strategy=lambda run: "as ann",
        redact=lambda text: text.replace("ann", "<user>"),
    ) as learner:
        run(agent_of([[("login", GIVEN)], "done"], tools=[login]), ALMAMemory.from_defaults(alma, agent="dev"), "Log in as ann")
    (record,) = episodes(alma)
    assert (record.task, record.strategy, record.feedback) == ("Log in as <user>", "as <user>", "<user> said so")
    assert (record.steps[0].output, learner.errors) == ("<user> is in", [])
    assert "ann" not in record.model_dump_json()


def test_what_cannot_be_redacted_is_left_out_and_the_episode_is_ended(alma: ALMA) -> None:
    def redact(text: str) -> str:
        if "ann" in text:
            raise LookupError("no words")
        return text

    with ALMALearner(alma, evaluator=lambda run: (True, "ann said so"), redact=redact) as learner:
        run(agent_of([[("login", GIVEN)], "done"], tools=[login]), ALMAMemory.from_defaults(alma, agent="dev"))
    (record,) = episodes(alma)
    assert "ann" not in record.model_dump_json()
    assert [step.action for step in record.steps] == ["login"]
    assert {str(error) for error in learner.errors} == {"no words"}


def test_an_error_that_is_stored_is_redacted(alma: ALMA) -> None:
    with ALMALearner(alma, evaluator=lambda run: ("failure", "ann is locked"), redact=lambda text: text.replace("ann", "<user>")):
        run(agent_of(["done"]), ALMAMemory.from_defaults(alma, agent="dev"))
    assert episodes(alma)[0].feedback == "<user> is locked"
