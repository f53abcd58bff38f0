"""Who may learn what, and who may read whom."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

EVERYONE = "*"


class MemoryScope(BaseModel):
    """The rules of one agent.

    An empty `can_learn` is no limit. `share_with` names who may read this agent's memories (`*` for all); `None` means that nothing was
    declared, which lets a reader that inherits from this agent read them. `inherit_from` names whose memories this agent wants to read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: str = ""
    can_learn: tuple[str, ...] = ()
    cannot_learn: tuple[str, ...] = ()
    share_with: tuple[str, ...] | None = None
    inherit_from: tuple[str, ...] = ()
    min_occurrences_for_heuristic: Annotated[int, Field(ge=1)] = 3

    def shares_with(self, reader: str) -> bool:
        """Whether this agent offers its memories to `reader`."""
        return self.share_with is not None and (reader in self.share_with or EVERYONE in self.share_with)


def may_read(reader: str, owner: str, scopes: Mapping[str, MemoryScope]) -> bool:
    """Whether `reader` sees the memories of `owner`, both agents of one project. Fails closed: unknown agents share nothing."""
    if reader == owner:
        return True
    offered = scopes.get(owner, _NO_RULES)
    if offered.shares_with(reader):
        return True
    wanted = owner in scopes.get(reader, _NO_RULES).inherit_from
    return wanted and offered.share_with is None


_NO_RULES = MemoryScope()
