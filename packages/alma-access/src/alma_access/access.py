"""Who a client may speak as, and what it may do: its projects, one agent or any, one user, any or none, its rights and its source."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from alma.errors import ConfigurationError, ScopeViolationError
from alma.text import composed, quoted

ANY = "*"
"""Binds to no name: the client names the project, the agent or the user itself."""
NONE = ""
"""Binds to no user: the client can name none."""

RIGHTS = frozenset({"read", "write", "forget", "judge", "events", "sync", "admin"})
"""All rights. `read`: retrieve, check, list, explain. `write`: learn, add, rate, checkpoints, edits of one's own. `forget`: archive, purge and
undo. `judge`: settle, release from quarantine. `events`: streams and webhooks of one's own. `sync`: the objects of a stream. `admin`: tokens,
webhooks of others, export, import, users."""

MEMORY_RIGHTS = frozenset({"read", "write", "forget", "judge"})
"""What a token of the MCP server can do: all that concerns memories."""

SOURCES = frozenset({"agent", "caller", "evaluator", "tool", "person"})
"""Who judges where a client states a verdict: the `verdict_source` of its outcomes."""


@dataclass(frozen=True, slots=True)
class Access:
    """The projects, the agent and the user that a client is bound to, its rights, and how far its verdicts are believed.

    The agent and the user are each a name, or `ANY`; the user may be `NONE`. `projects` are names, or `ANY`. `ConfigurationError` for a right
    or a source that does not exist, and for no project or no right at all.
    """

    agent: str = ANY
    user_id: str = ANY
    projects: tuple[str, ...] = (ANY,)
    rights: frozenset[str] = RIGHTS
    source: str = "agent"

    def __post_init__(self) -> None:
        _check_known("right", self.rights, RIGHTS)
        _check_known("source", (self.source,), SOURCES)
        if not self.agent or not self.projects or not all(self.projects):
            raise ConfigurationError("a client needs the name of an agent and of a project; '*' is for any")

    @property
    def is_for_all_users(self) -> bool:
        """True when the client names the user itself."""
        return self.user_id == ANY

    @property
    def users(self) -> tuple[str, ...] | None:
        """Users whose memories the client reads, beside those of no user; `None` for any."""
        if self.is_for_all_users:
            return None
        return () if self.user_id == NONE else (self.user_id,)

    def require(self, right: str) -> None:
        """Raises `ScopeViolationError` unless the client has the right."""
        if right not in self.rights:
            raise ScopeViolationError(f"this client has no right to {right}; its rights: {', '.join(sorted(self.rights))}")

    def require_all_users(self, what: str) -> None:
        """Raises `ScopeViolationError` for a client that is bound to a user, or to none: forgetting by policy and undo reach all users."""
        if not self.is_for_all_users:
            raise ScopeViolationError(f"this client is for one user and cannot {what}, which reaches all users of the agent")

    def reaches(self, project: str) -> bool:
        """True for a project that the client may name."""
        return ANY in self.projects or composed(project) in map(composed, self.projects)

    def as_project(self, named: str | None, *, default: str | None = None) -> str:
        """Returns the project of a call. A client of several projects that names none gets the default, if it reaches that.

        `ScopeViolationError` for a name that the client is not bound to, and for none where there is no default."""
        if named is None and len(self.projects) == 1 and ANY not in self.projects:
            return self.projects[0]
        named = default if named is None else named
        if named is None:
            raise ScopeViolationError("project is missing: name the project whose memory this is")
        if not self.reaches(named):
            raise ScopeViolationError(f"this client is not bound to the project {quoted(named)}")
        return named

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

    def reads(self, *, agent: str | None, user_id: str | None) -> bool:
        """True for an event of an agent and a user that the client may see. An event of no agent, such as a preference, has only its user
        to go by."""
        is_own_agent = agent is None or self.agent == ANY or composed(agent) == composed(self.agent)
        is_own_user = user_id is None or self.is_for_all_users or composed(user_id) == composed(self.user_id)
        return is_own_agent and is_own_user

    def covers(self, other: "Access") -> bool:
        """True if the client can do all that `other` can, and may therefore make a token for it. Only an `agent` source, or the client's own,
        is covered."""
        return (
            other.rights <= self.rights
            and other.source in ("agent", self.source)
            and self.agent in (ANY, other.agent)
            and self.user_id in (ANY, other.user_id)
            and (ANY in self.projects or (ANY not in other.projects and all(map(self.reaches, other.projects))))
        )

    def within(self, project: str) -> "Access":
        """Returns the same access, bound to one project. `ScopeViolationError` if the client does not reach it."""
        return replace(self, projects=(self.as_project(project),))

    def __str__(self) -> str:
        agent = "any agent" if self.agent == ANY else f"agent {self.agent}"
        user = {ANY: "any user", NONE: "no user"}.get(self.user_id, f"user {self.user_id}")
        return f"{agent}, {user}"


def _check_known(what: str, given: Collection[str], known: frozenset[str]) -> None:
    if not given:
        raise ConfigurationError(f"a client needs a {what} at least: {', '.join(sorted(known))}")
    for each in given:
        if each not in known:
            raise ConfigurationError(f"there is no {what} {quoted(each)}; there are {', '.join(sorted(known))}")
