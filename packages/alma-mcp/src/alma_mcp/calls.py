"""Common needs of every tool, resource and prompt: the memory, and the access of the client."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alma_access import Access
from alma_access.serving.opening import Opening

if TYPE_CHECKING:
    from alma import ALMA


@dataclass(frozen=True, slots=True)
class Calls:
    """The memory of a server, and a function that returns the access of the client that is calling."""

    opening: Opening
    whose: Callable[[], Access]

    @property
    def alma(self) -> "ALMA":
        """The memory. Waits until it is open."""
        return self.opening.alma()

    @property
    def access(self) -> Access:
        """Access of the client that is calling: the agents and users that it may speak as, and its rights."""
        return self.whose()

    def access_to(self, right: str) -> Access:
        """Returns `access`. `ScopeViolationError` if the client has no right of this name."""
        access = self.access
        access.require(right)
        return access
