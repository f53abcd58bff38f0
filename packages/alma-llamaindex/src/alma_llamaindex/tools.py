"""`ALMAToolSpec`: memory as tools, for agents that look things up and note things down by themselves."""

import asyncio

from llama_index.core.tools.tool_spec.base import BaseToolSpec

from alma import ALMA
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count, checked_name
from alma.types.prompt import fenced
from alma_llamaindex.given import checked_user
from alma_llamaindex.spans import RECALL, REMEMBER

NOTHING = "Nothing is known about that yet."


class ALMAToolSpec(BaseToolSpec):
    """Two tools for one agent: `recall_lessons` and `remember_fact`. `to_tool_list()` gives them to an agent.

    What is recalled this way carries no tags and is not counted as used or passed over.
    """

    spec_functions = [(RECALL, f"a{RECALL}"), (REMEMBER, f"a{REMEMBER}")]  # noqa: RUF012 - so the framework declares it

    def __init__(self, alma: ALMA, agent: str, *, user_id: str | None = None, top_k: int = 5) -> None:
        self._alma = checked_alma(alma)
        self._agent = checked_name(agent, "agent")
        self._user_id = checked_user(user_id)
        self._top_k = checked_count(top_k, "top_k")

    def recall_lessons(self, task: str) -> str:
        """Look up what earlier work taught about a task: what worked, what to avoid, what the user wants, what is known."""
        memories = self._alma.retrieve(task=task, agent=self._agent, user_id=self._user_id, top_k=self._top_k)
        return fenced(f"- {note}" for note in memories.notes()) if memories else NOTHING

    async def arecall_lessons(self, task: str) -> str:
        """As `recall_lessons`, without holding up the event loop."""
        return await asyncio.to_thread(self.recall_lessons, task)

    def remember_fact(self, domain: str, fact: str) -> str:
        """Note a fact for later work. `domain` says in a word or two what it is about, `fact` is one sentence that stands by itself."""
        self._alma.add_domain_knowledge(self._agent, domain, fact, source="noted_by_agent")
        return "Noted."

    async def aremember_fact(self, domain: str, fact: str) -> str:
        """As `remember_fact`, without holding up the event loop."""
        return await asyncio.to_thread(self.remember_fact, domain, fact)
