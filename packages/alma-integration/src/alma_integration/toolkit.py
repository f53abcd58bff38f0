"""Memory as tools, for agents that decide themselves when to read and what to store. Adapters wrap them as their framework's tools."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from alma import ALMA
from alma.errors import ConfigurationError, MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.memory.alma import checked_alma
from alma.memory.arguments import checked_count
from alma.text import quoted, shortened
from alma.types.memories import AnyMemory, DomainKnowledge, UserPreference
from alma.types.prompt import fenced
from alma_integration.context import Identity, RunContext, check_identity, identified, required
from alma_integration.options import OnError, check_choice, check_function
from alma_integration.scope import Scope

_LOG = logging.getLogger("alma")

NO_ANSWER = "The memory does not answer now; go on without it."
"""Answer to an agent for an error that is not its own."""
NOTHING = "Nothing is known about this yet."
QUARANTINED = "Kept back: it reads like an instruction, so nothing shows it until a person releases it."
NOTED_BY_AGENT = "noted_by_agent"
PREFIX_CHARS = 32


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, its purpose, its arguments as name → description (all texts), and the function, which takes them by name."""

    name: str
    description: str
    arguments: Mapping[str, str]
    call: Callable[..., str]

    def schema(self) -> type[BaseModel]:
        """Returns the arguments as a pydantic model, whose JSON schema describes them."""
        fields: dict[str, Any] = {name: (Annotated[str, Field(description=about)], ...) for name, about in self.arguments.items()}
        return create_model(self.name, **fields)


class Toolkit:
    """Five tools over the memory of one agent: recall, check an action, save a fact, save a preference, and forget one of these.

    All of them read and write only what this agent and this user may. `context` returns where the call comes from. `prefix` begins the
    names, for agents that have several memories. `redact` is applied to each text before it is stored or searched for. `shows` decides
    for a memory and the user whether `recall` may show it. Errors of ALMA are logged, and the agent gets a text; `on_error="raise"`
    raises them into it.
    """

    def __init__(
        self,
        alma: ALMA,
        *,
        agent: Identity,
        user_id: Identity = None,
        tenant_id: Identity = None,
        top_k: int = 5,
        prefix: str = "",
        redact: Callable[[str], str] | None = None,
        on_error: OnError = "log",
        context: Callable[[], RunContext] = RunContext,
        shows: Callable[[AnyMemory, str | None], bool] | None = None,
    ) -> None:
        check_identity(agent, "agent", is_optional=False)
        check_choice(on_error, "on_error", ("log", "raise"))
        check_function(redact, "redact", is_optional=True)
        self._scope = Scope(checked_alma(alma), user_id=user_id, tenant_id=tenant_id)
        self._agent = agent
        self._top_k = checked_count(top_k, "top_k")
        self._prefix = _checked_prefix(prefix)
        self._redact = redact
        self._raises = on_error == "raise"
        self._context = context
        self._shows = shows

    def tools(self) -> list[Tool]:
        """Returns the tools, in the order in which an agent needs them."""
        return [
            self._tool(
                "recall_memory",
                "Looks up what earlier work taught: what worked, what failed, facts and wishes. Ask before a task.",
                {"query": "The task or question, in a sentence."},
                self.recall,
            ),
            self._tool(
                "check_action",
                "Says whether an action is known to fail, and what to do instead. Ask before a risky action.",
                {"action": "The action about to be taken, in a few words or as the call."},
                self.check,
            ),
            self._tool(
                "save_fact",
                "Keeps a fact for later work.",
                {"topic": "A word or two that say what it is about.", "fact": "One sentence that stands by itself."},
                self.save_fact,
            ),
            self._tool(
                "save_preference",
                "Keeps what the user wants done always or never. Only what the user said.",
                {"topic": "A word or two that say what it is about.", "preference": "One sentence that stands by itself."},
                self.save_preference,
            ),
            self._tool(
                "forget_saved",
                "Removes a fact or a preference that was saved and no longer holds.",
                {"memory_id": "Its id, as recall_memory shows it behind the note."},
                self.forget,
            ),
        ]

    def recall(self, query: str) -> str:
        """Returns what is known for a task, as fenced notes without tags; saved facts and preferences have their ids."""
        project, agent, user = self._where()
        found = project.retrieve(task=query, agent=agent, top_k=self._top_k, user_id=user).fitting()
        memories = {memory.id: memory for memory in found}
        notes = [
            f"- {line}{_id_of(memory, agent) if memory else ''}"
            for memory, line in ((memories.get(of), line) for of, line in found.notes_with_ids())
            if memory is None or self._shows is None or self._shows(memory, user)
        ]
        return fenced(notes) if notes else NOTHING

    def check(self, action: str) -> str:
        """Returns whether an action matches an anti-pattern."""
        project, agent, user = self._where()
        return str(project.check(agent=agent, action=action, user_id=user))

    def save_fact(self, topic: str, fact: str) -> str:
        """Saves a fact of this agent: for the user that it works for, if there is one."""
        project, agent, user = self._where()
        stored = project.add_domain_knowledge(agent, topic, fact, source=NOTED_BY_AGENT, user_id=user)
        return QUARANTINED if stored.metadata.get("flagged") else "Saved."

    def save_preference(self, topic: str, preference: str) -> str:
        """Saves a preference of this user."""
        project, _, user = self._where()
        if user is None:
            return "Refused: this run has no user, and a preference needs one."
        project.add_user_preference(user, topic, preference, source=NOTED_BY_AGENT)
        return "Saved."

    def forget(self, memory_id: str) -> str:
        """Removes a fact of this agent or a preference of this user, and no other memory."""
        project, agent, user = self._where()
        try:
            memory = project.get(memory_id, agent=agent, user_id=user)
        except (MemoryNotFoundError, ValidationError):
            memory = None
        if memory is None or not _is_own(memory, agent, user):
            return f"Refused: there is no saved fact or preference of id {quoted(memory_id)}."
        project.forget(memory_ids=[memory.id])
        return "Forgotten."

    def _stored(self, given: Any) -> Any:
        return self._redact(given) if self._redact and isinstance(given, str) else given

    def _where(self) -> tuple[ALMA, str, str | None]:
        context = self._context()
        agent = required(identified(self._agent, "agent", context), "agent")
        return self._scope.project(context), agent, self._scope.user(context)

    def _tool(self, name: str, description: str, arguments: Mapping[str, str], call: Callable[..., str]) -> Tool:
        named = f"{self._prefix}{name}"

        def answered(**given: Any) -> str:
            try:
                if given.keys() != arguments.keys():
                    raise ValidationError(f"{named} takes {' and '.join(arguments)}, not {' and '.join(given) or 'nothing'}")
                return call(**{name: self._stored(value) for name, value in given.items()})
            except Exception as error:
                if self._raises:
                    raise
                _LOG.warning("%s gave no answer: %s: %s (the agent goes on)", named, type(error).__name__, error)
                is_own = isinstance(error, ScopeViolationError | ValidationError)
                return f"Refused: {shortened(str(error), 300)}" if is_own else NO_ANSWER

        return Tool(named, description, arguments, answered)


def _is_own(memory: AnyMemory, agent: str, user: str | None) -> bool:
    if isinstance(memory, DomainKnowledge):
        return memory.agent == agent and memory.source == NOTED_BY_AGENT
    return isinstance(memory, UserPreference) and user is not None and memory.user_id == user and memory.source == NOTED_BY_AGENT


def _id_of(memory: AnyMemory, agent: str) -> str:
    is_saved = isinstance(memory, DomainKnowledge | UserPreference) and memory.source == NOTED_BY_AGENT
    is_shared = bool(memory.metadata.get("shared_from"))
    return f" (id {memory.id})" if is_saved and not is_shared else ""


def _checked_prefix(prefix: object) -> str:
    if not isinstance(prefix, str) or len(prefix) > PREFIX_CHARS or (prefix and not prefix.replace("-", "_").isidentifier()):
        raise ConfigurationError(f"prefix must be at most {PREFIX_CHARS} letters, digits and underscores, not {quoted(prefix)}")
    return prefix
