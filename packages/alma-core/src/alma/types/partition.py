"""Location of a memory inside its project."""

from dataclasses import dataclass
from functools import cached_property

SEPARATOR = "\x1f"
"""Stands between an agent and its user in the name of an owner. No name holds it: names are printable."""


def owner_name(agent: str, user_id: str | None) -> str:
    """Returns the owner of what an agent recorded, for a user if one is given."""
    return agent if user_id is None else f"{agent}{SEPARATOR}{user_id}"


def agent_in(owner: str) -> str:
    """Returns the agent of an owner."""
    return owner.partition(SEPARATOR)[0]


def user_in(owner: str) -> str | None:
    """Returns the user for whom an owner's memories were recorded; `None` for an agent's own."""
    _, has_user, user = owner.partition(SEPARATOR)
    return user if has_user else None


@dataclass(frozen=True)
class Partition:
    """The memories of one kind of one owner: an agent, an agent for one of its users (see `owner_name`), or a user, if `is_user`.

    `row` is a handle of one database.
    """

    row: int
    is_user: bool
    owner: str
    kind: str

    @cached_property
    def agent(self) -> str | None:
        """The agent that records here; `None` for the preferences of a user."""
        return None if self.is_user else agent_in(self.owner)

    @cached_property
    def user_id(self) -> str | None:
        """The user whose memories these are; `None` where they are of no user."""
        return self.owner if self.is_user else user_in(self.owner)
