"""Reach of a token: memories and episodes that it may read, and memories that it may forget.

A memory that it may not read is not there: the error is the same, word for word.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Query

from alma.errors import MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.types import UserPreference
from alma.types.episodes import EpisodeRecord
from alma.types.memories import AnyMemory
from alma.types.reports import ForgetReport
from alma_access import ANY, Access
from alma_server.asking import Asked, AskedDep
from alma_server.routes.bodies import Body, Name, Scoped

if TYPE_CHECKING:
    from alma import ALMA

MOST_UNCONFIRMED = 100
"""Memories that a call may erase without a confirmation."""

_PLAIN = re.compile(r"[\w.:@+-]{1,100}", re.ASCII)
_NO_MEMORY = "there is no such memory that this token can read"
_NO_EPISODE = "there is no such episode that this token can read"


@dataclass(frozen=True, slots=True)
class Reader:
    """The agent and the user that a request reads as, `None` where it names none and the token is bound to none."""

    access: Access
    agent: str | None
    user: str | None

    @property
    def is_for_all_users(self) -> bool:
        """True for a request that reads what is of any user."""
        return self.user is None and self.access.is_for_all_users

    def memory(self, alma: "ALMA", memory_id: str) -> AnyMemory:
        """Returns a memory that this reader may read. `MemoryNotFoundError` for any other, with one text for all of them."""
        try:
            if self.agent is None:
                found = alma.get(memory_id)
                if self.sees_user(found.user_id):
                    return found
            else:
                user = alma.get(memory_id).user_id if self.is_for_all_users else self.user
                return alma.get(memory_id, agent=self.agent, user_id=user)
        except MemoryNotFoundError:
            pass
        raise MemoryNotFoundError(_NO_MEMORY)

    def can_read(self, alma: "ALMA", memory_id: str) -> bool:
        """Returns whether there is such a memory for this reader."""
        try:
            self.memory(alma, memory_id)
        except MemoryNotFoundError:
            return False
        return True

    def episode(self, alma: "ALMA", episode_id: str) -> EpisodeRecord:
        """Returns an episode of this reader's agent, for its user. `MemoryNotFoundError` for any other, with one text for all of them."""
        try:
            found = alma.get_episode(episode_id)
        except MemoryNotFoundError:
            raise MemoryNotFoundError(_NO_EPISODE) from None
        if self.agent not in (None, found.agent) or not (self.is_for_all_users or found.user_id == self.user):
            raise MemoryNotFoundError(_NO_EPISODE)
        return found

    def sees_user(self, user_id: str | None) -> bool:
        """True for what was recorded for no user, or for one that this reader reads."""
        return self.is_for_all_users or user_id in (None, self.user)

    def owns(self, memory: AnyMemory) -> bool:
        """True for a memory of this reader's agent, and for a preference of its user."""
        if isinstance(memory, UserPreference):
            return self.is_for_all_users or memory.user_id == self.user
        return self.agent in (None, memory.agent)


def read_as(asked: Asked, agent: str | None, user_id: str | None) -> Reader:
    """Returns the reader that a request names. `ScopeViolationError` for a name that the token is not bound to."""
    return Reader(asked.access, asked.any_agent(agent), asked.user(user_id))


async def _find_reader(
    asked: AskedDep, agent: Annotated[Name | None, Query()] = None, user_id: Annotated[Name | None, Query()] = None
) -> Reader:
    return read_as(asked, agent, user_id)


ReaderDep = Annotated[Reader, Depends(_find_reader)]
"""The reader that the parameters `agent` and `user_id` name."""


def arguments_of(asked: Asked, body: Scoped, *without: str) -> dict[str, Any]:
    """Returns the arguments of a call of ALMA: the fields of a body, with the agent and the user that the token allows."""
    return {**fields_of(body, *without), "agent": asked.agent(body.agent), "user_id": asked.user(body.user_id)}


def fields_of(body: Body, *without: str) -> dict[str, Any]:
    """Returns the fields of a body by name, but for some."""
    return {name: value for name, value in body if name not in without}


def forget_named(
    alma: "ALMA", reader: Reader, memory_ids: Sequence[str], *, dry_run: bool, purge: bool = False
) -> tuple[list[ForgetReport], list[str]]:
    """Archives or erases the memories that a reader may forget, and returns the reports and the other ids.

    A reader for all users reaches archived memories, too. One for a user erases only what is of that user.
    """
    if reader.is_for_all_users:
        return [alma.forget(reader.agent, memory_ids=memory_ids, dry_run=dry_run, purge=purge)], []
    own = [each for each in dict.fromkeys(memory_ids) if _may_forget(alma, reader, each, purge=purge)]
    reports = [alma.forget(reader.agent, memory_ids=own, dry_run=dry_run, purge=purge)] if own else []
    return reports, [each for each in memory_ids if each not in own]


def forget_preferences(
    alma: "ALMA", reader: Reader, memory_ids: Sequence[str], *, dry_run: bool, purge: bool = False
) -> tuple[list[ForgetReport], list[str]]:
    """As `forget_named`, for preferences, which belong to users and not to the reader's agent."""
    own = [each for each in memory_ids if _may_forget(alma, reader, each, purge=purge, is_preference=True)]
    reports = [alma.forget(memory_ids=own, dry_run=dry_run, purge=purge)] if own else []
    return reports, [each for each in memory_ids if each not in own]


def _may_forget(alma: "ALMA", reader: Reader, memory_id: str, *, purge: bool, is_preference: bool = False) -> bool:
    try:
        memory = reader.memory(alma, memory_id)
    except MemoryNotFoundError:
        return False
    if purge and memory.user_id is None and not reader.is_for_all_users:
        return False
    return isinstance(memory, UserPreference) is is_preference and reader.owns(memory)


def plain_ids(memory_ids: Sequence[str]) -> list[str]:
    """Returns the ids that may be kept for a repeated request: an id of a foreign file may be any words."""
    return [each for each in memory_ids if _PLAIN.fullmatch(each)]


def confirmation_of(memory_ids: Sequence[str]) -> str:
    """Returns the confirmation of an erasure: a digest of what is to be erased."""
    return hashlib.sha256("\0".join(sorted(set(memory_ids))).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def check_confirmed(memory_ids: Sequence[str], confirmation: str | None) -> None:
    """Raises `ValidationError` for an erasure of many memories without the confirmation of its dry run."""
    if len(set(memory_ids)) > MOST_UNCONFIRMED and confirmation != confirmation_of(memory_ids):
        raise ValidationError(
            f"more than {MOST_UNCONFIRMED} memories are erased only with the confirmation that a call with dry_run returns"
        )


def require_all_users(asked: Asked, what: str) -> None:
    """Raises `ScopeViolationError` for a token that is bound to a user, or to none: the call would reach what is other users'."""
    if not asked.access.is_for_all_users:
        raise ScopeViolationError(f"this token is for one user and cannot {what}, which reaches all users of the agent")


def require_all_agents(asked: Asked) -> None:
    """Raises `ScopeViolationError` for a token that is bound to an agent: the call would reach what is other agents'."""
    if asked.access.agent != ANY:
        raise ScopeViolationError("this token is for one agent; this call reaches all agents")
