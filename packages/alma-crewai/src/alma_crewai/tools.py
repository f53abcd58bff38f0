"""Tools by which an agent asks ALMA, or tells it something, when it wants to: for crews without an `ALMAMemory`."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crewai.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from alma import ALMA, ValidationError
from alma.types.prompt import fenced
from alma_crewai.records import is_visible

_LOG = logging.getLogger("alma")


class Question(BaseModel):
    """What the recall tool takes."""

    question: str = Field(description="The task or question that earlier experience is wanted for.")


class Fact(BaseModel):
    """What the remember tool takes."""

    fact: str = Field(description="One fact, in a sentence that can be understood on its own.")
    domain: str = Field(default="crew notes", description="What the fact is about, in a word or two.")


class ALMARecallTool(BaseTool):
    """Looks up what one agent knows: `ALMARecallTool(alma, agent="Researcher")`.

    `user_id` is a name, or a function that gives one at each call. Notes that somebody kept to themselves are shown to nobody else. The notes
    have no tags: those that an answer cites are the prompt's.
    """

    name: str = "Recall from ALMA"
    description: str = "Looks up what worked, what failed and what is known from earlier work."
    args_schema: type[BaseModel] = Question
    _alma: ALMA = PrivateAttr()
    _agent: str = PrivateAttr()
    _user_id: str | Callable[[], str | None] | None = PrivateAttr()

    def __init__(self, alma: ALMA, *, agent: str, user_id: str | Callable[[], str | None] | None = None, **settings: Any) -> None:
        _check(alma)
        super().__init__(**settings)
        self._alma, self._agent, self._user_id = alma, agent, user_id

    def _run(self, question: str) -> str:
        with _telling(self.name):
            return self._recalled(question)

    def _recalled(self, question: str) -> str:
        user = self._user_id() if callable(self._user_id) else self._user_id
        found = self._alma.retrieve(task=question, agent=self._agent, user_id=user)
        notes = [
            f"- {note}"
            for item, note in zip(found.recalled, found.notes(), strict=True)
            if is_visible(item.memory, scope=None, categories=None, source=user, include_private=False)
        ]
        return fenced(notes) if notes else "Nothing is known about that."


class ALMARememberTool(BaseTool):
    """Keeps a fact as the knowledge of one agent: `ALMARememberTool(alma, agent="Researcher")`."""

    name: str = "Remember in ALMA"
    description: str = "Keeps a fact for later work."
    args_schema: type[BaseModel] = Fact
    _alma: ALMA = PrivateAttr()
    _agent: str = PrivateAttr()

    def __init__(self, alma: ALMA, *, agent: str, **settings: Any) -> None:
        _check(alma)
        super().__init__(**settings)
        self._alma, self._agent = alma, agent

    def _run(self, fact: str, domain: str = "crew notes") -> str:
        with _telling(self.name):
            self._alma.add_domain_knowledge(self._agent, domain, fact, source="agent")
        return "Remembered."


@contextmanager
def _telling(tool: str) -> Iterator[None]:
    """What goes wrong stands in the log too: CrewAI hands it to the agent, and to nobody else."""
    try:
        yield
    except Exception as problem:
        _LOG.warning("%s failed: %s: %s", tool, type(problem).__name__, problem)
        raise


def _check(alma: object) -> None:
    if not isinstance(alma, ALMA):
        raise ValidationError(f"alma must be an ALMA, not a {type(alma).__name__}")
