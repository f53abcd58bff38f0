"""Remarks on what an agent recorded for users, where a command finds nothing without them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from alma.text import quoted

if TYPE_CHECKING:
    from alma import ALMA

_MOST_READ = 1_000
_MOST_TRIED = 20
_MOST_NAMED = 3


def other_users(alma: "ALMA", agent: str, user_id: str | None, finds: Callable[[str], bool]) -> str:
    """Returns a remark that names the users for whom the command finds something, as `finds` says; "" where there are none.

    Users of the agent's newest 1,000 memories are considered, at most 20 of them.
    """
    recorded = dict.fromkeys(getattr(memory, "user_id", None) for memory in alma.list_memories(agent=agent, limit=_MOST_READ))
    users = [user for user in recorded if user not in (None, user_id)][:_MOST_TRIED]
    found = [user for user in users if finds(user)]
    if not found:
        return ""
    names = ", ".join(map(quoted, found[:_MOST_NAMED])) + (" and others" if len(found) > _MOST_NAMED else "")
    return f", except for {names}: add --user-id"
