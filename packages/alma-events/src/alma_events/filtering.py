"""The events that a reader gets: asked for, and of memories that it may read."""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any

from alma.errors import ValidationError
from alma.text import composed, quoted
from alma.types.identity import MemoryScope
from alma.types.identity import access as access_between
from alma_access import ANY, Access
from alma_events.mapping import NOBODY, Draft, Owner
from alma_events.types import MemoryEventType


@dataclass(frozen=True, slots=True)
class Reader:
    """A client that reads events, and the rules by which agents share. Without an `access` it reads everything.

    As with `retrieve`, an agent reads its own memories and those shared with it, and what was recorded for a user only with that user. A client
    that may name any user reads the events of all users only with the right `admin`.
    """

    access: Access | None
    agents: Mapping[str, MemoryScope]

    @property
    def reads_everything(self) -> bool:
        """True for a reader that is bound to nothing."""
        return self.access is None or (self.access.agent == ANY and self._reads_all_users(self.access))

    def reads(self, owner: Owner) -> bool:
        """Returns whether events of this owner are readable."""
        if self.access is None or self.reads_everything:
            return True
        if owner.agent is None and owner.user_id is None:
            return False
        return self._reads_agent(self.access, owner.agent) and self._reads_user(self.access, owner.user_id)

    def _reads_agent(self, access: Access, agent: str | None) -> bool:
        return agent is None or access.agent == ANY or access_between(composed(access.agent), agent, self.agents).is_open

    def _reads_user(self, access: Access, user_id: str | None) -> bool:
        if user_id is None or self._reads_all_users(access):
            return True
        return access.user_id not in ("", ANY) and composed(access.user_id) == composed(user_id)

    def _reads_all_users(self, access: Access) -> bool:
        return access.user_id == ANY and "admin" in access.rights


@dataclass(frozen=True, slots=True)
class Selection:
    """The types of events, the agents and the kinds of memory that a reader asked for; `None` is for any."""

    types: frozenset[str] | None
    agents: frozenset[str] | None
    kinds: frozenset[str] | None

    @classmethod
    def of(cls, types: Collection[str] | None, agents: Collection[str] | None, kinds: Collection[str] | None) -> "Selection":
        """Returns the selection of these names. `ValidationError` for a type of event that does not exist."""
        for name, given in (("types", types), ("agents", agents), ("kinds", kinds)):
            is_list = isinstance(given, list | tuple | Set)
            if given is not None and not (is_list and all(isinstance(each, str) for each in given)):
                raise ValidationError(f"{name} must be a list of names, not {quoted(given)}")
        known = {str(each) for each in MemoryEventType}
        if unknown := sorted({str(each) for each in types or ()} - known):
            raise ValidationError(f"there is no event {quoted(unknown[0])}; there are {', '.join(sorted(known))}")
        return cls(
            None if types is None else frozenset(map(str, types)),
            None if agents is None else frozenset(map(composed, agents)),
            None if kinds is None else frozenset(map(str, kinds)),
        )

    def takes(self, draft: Draft) -> bool:
        """Returns whether an event was asked for."""
        return (
            (self.types is None or str(draft.type) in self.types)
            and (self.agents is None or draft.owner.agent in self.agents)
            and (self.kinds is None or draft.owner.kind in self.kinds)
        )


def lists_for(reader: Reader, draft: Draft, owners: Mapping[str, Owner]) -> dict[str, list[Any]]:
    """Returns the lists of a payload with those items that a reader may read."""
    return {
        name: [value for key, value in items if reader.reads(owners.get(key, NOBODY))] for name, items in draft.listed.items()
    }
