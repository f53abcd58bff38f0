"""Who a client may speak as: one agent or any, one user, any or none."""

from dataclasses import dataclass

from alma.errors import ScopeViolationError
from alma.text import composed

ANY = "*"
"""Binds to no name: the client names the agent or the user itself."""
NONE = ""
"""Binds to no user: the client can name none."""


@dataclass(frozen=True, slots=True)
class Access:
    """The agent and the user that a client is bound to. Each is a name, or `ANY`; the user may be `NONE`."""

    agent: str = ANY
    user_id: str = ANY

    @property
    def is_for_all_users(self) -> bool:
        """True when the client names the user itself."""
        return self.user_id == ANY

    def as_agent(self, named: str | None) -> str:
        """Returns the agent that a call acts as. `ScopeViolationError` for a name that the client is not bound to, and for none at all."""
        agent = self.as_any_agent(named)
        if agent is None:
            raise ScopeViolationError("agent is missing: name the agent whose memory this is, as in agent='helena'")
        return agent

    def as_any_agent(self, named: str | None) -> str | None:
        """As `as_agent`, but `None` for all agents where the client is bound to none and names none."""
        if self.agent == ANY:
            return named
        if named is not None and composed(named) != composed(self.agent):
            raise ScopeViolationError(f"this client acts as the agent {self.agent!r} and cannot act as {named!r}")
        return self.agent

    def as_user(self, named: str | None) -> str | None:
        """Returns the user that a call is for, if any. `ScopeViolationError` for a name that the client is not bound to."""
        if self.is_for_all_users:
            return named
        if named is not None and composed(named) != composed(self.user_id):
            bound = f"serves the user {self.user_id!r}" if self.user_id else "serves no user"
            raise ScopeViolationError(f"this client {bound} and cannot name the user {named!r}")
        return self.user_id or None

    def __str__(self) -> str:
        agent = "any agent" if self.agent == ANY else f"agent {self.agent}"
        user = {ANY: "any user", NONE: "no user"}.get(self.user_id, f"user {self.user_id}")
        return f"{agent}, {user}"
