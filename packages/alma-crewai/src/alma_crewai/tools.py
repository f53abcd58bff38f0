"""Tools by which an agent asks ALMA, or tells it something, when it wants to: for crews without an `ALMAMemory`."""

from typing import Any

from crewai.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from alma import ALMA


class Question(BaseModel):
    """What the recall tool takes."""

    question: str = Field(description="The task or question that earlier experience is wanted for.")


class Fact(BaseModel):
    """What the remember tool takes."""

    fact: str = Field(description="One fact, in a sentence that can be understood on its own.")
    domain: str = Field(default="crew notes", description="What the fact is about, in a word or two.")


class ALMARecallTool(BaseTool):
    """Looks up what one agent knows: `ALMARecallTool(alma, agent="Researcher")`."""

    name: str = "Recall from ALMA"
    description: str = "Looks up what worked, what failed and what is known from earlier work."
    args_schema: type[BaseModel] = Question
    _alma: ALMA = PrivateAttr()
    _agent: str = PrivateAttr()
    _user_id: str | None = PrivateAttr()

    def __init__(self, alma: ALMA, *, agent: str, user_id: str | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._alma, self._agent, self._user_id = alma, agent, user_id

    def _run(self, question: str) -> str:
        found = self._alma.retrieve(question, self._agent, user_id=self._user_id)
        return "\n".join(f"- {note}" for note in found.notes()) or "Nothing is known about that."


class ALMARememberTool(BaseTool):
    """Keeps a fact as the knowledge of one agent: `ALMARememberTool(alma, agent="Researcher")`."""

    name: str = "Remember in ALMA"
    description: str = "Keeps a fact for later work."
    args_schema: type[BaseModel] = Fact
    _alma: ALMA = PrivateAttr()
    _agent: str = PrivateAttr()

    def __init__(self, alma: ALMA, *, agent: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._alma, self._agent = alma, agent

    def _run(self, fact: str, domain: str = "crew notes") -> str:
        self._alma.add_domain_knowledge(self._agent, domain, fact, source="agent")
        return "Remembered."
