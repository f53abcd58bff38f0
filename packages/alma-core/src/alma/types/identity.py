"""Base of ALMA's values, and what identifies things: ids, times and fingerprints; owners, and whose memories an agent may read."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Annotated, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from alma.errors import ValidationError
from alma.text import SEPARATOR, composed, normalised, plain_value, quoted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Returns the current time, aware, in UTC."""
    return datetime.now(UTC)


def optional_duration(value: object) -> int | None:
    """Returns milliseconds, 0 or more, rounded to whole ones."""
    if value is None:
        return None
    number = plain_value(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 2**53:
        raise ValidationError(f"duration_ms must be a number of milliseconds, 0 or more, not {quoted(value)}")
    return round(number)


def as_utc(moment: datetime) -> datetime:
    """Returns the same time in UTC; a naive one is taken as UTC already. `ValueError` if UTC has no such year."""
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment} cannot be expressed in UTC") from error


def to_micros(moment: datetime) -> int:
    """Returns microseconds since 1970, exact."""
    return (as_utc(moment) - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Returns the time that `to_micros` was given."""
    return EPOCH + timedelta(microseconds=micros)


def new_id(moment: datetime | None = None) -> str:
    """Returns a new UUIDv7 (RFC 9562, section 5.7) as text: 48 bits of Unix milliseconds, then 74 random bits."""
    millis = to_micros(moment or utc_now()) // 1000 & (1 << 48) - 1
    random = int.from_bytes(os.urandom(10), "big")
    bits = millis << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


UtcDatetime = Annotated[datetime, AfterValidator(as_utc)]
"""A datetime that is always aware UTC; a naive one is taken as UTC."""


class Value(BaseModel):
    """A frozen value: it cannot be changed, and names no field that it does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


ModelT = TypeVar("ModelT", bound=pydantic.BaseModel)


def read_json(model: type[ModelT], data: str | bytes, what: str) -> ModelT:
    """Reads a value from JSON text. `ValidationError` states the first fault."""
    try:
        return model.model_validate_json(data)
    except pydantic.ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:60] for part in fault["loc"][:10])
        raise ValidationError(
            f"this is not {what} as `to_json` writes it: {place}{': ' if place else ''}{fault['msg'][:200]}"
        ) from error


class Fingerprint(Value):
    """Identifies a model. Two embedders with equal fingerprints give interchangeable vectors. `token_limit` 0 means none."""

    model: str
    revision: str
    dimension: Annotated[int, Field(ge=1)]
    precision: str
    token_limit: Annotated[int, Field(ge=0)]
    preparation: str


EVERYONE = "*"

Name = Annotated[str, AfterValidator(composed)]


class MemoryScope(Value):
    """Rules of one agent.

    `agent_name` may be left out: it is the name under which the rules are configured. An empty `can_learn` is no limit. `share_with`
    names the agents that may read this agent's memories (`*` for all); `None` means that nothing was declared, which lets a reader that
    inherits from this agent read them. `inherit_from` names the agents whose memories this agent wants to read.
    """

    agent_name: Name = ""
    domain: str = ""
    can_learn: tuple[str, ...] = ()
    cannot_learn: tuple[str, ...] = ()
    share_with: tuple[Name, ...] | None = None
    inherit_from: tuple[Name, ...] = ()
    min_occurrences_for_heuristic: Annotated[int, Field(ge=1)] = 3

    def shares_with(self, reader: str) -> bool:
        """Returns True when this agent offers its memories to `reader`."""
        return self.share_with is not None and (reader in self.share_with or EVERYONE in self.share_with)

    def is_allowed(self, category: str) -> bool:
        """Returns True when the agent may learn in a category: it is not forbidden, and listed in `can_learn` if that is given."""
        wanted = normalised(category)
        if wanted in map(normalised, self.cannot_learn):
            return False
        return not self.can_learn or wanted in map(normalised, self.can_learn)

    def can_read_from(self, agent: str) -> bool:
        """Returns True when the agent wants to read another: itself, or one in `inherit_from`. What the other shares decides, too."""
        return agent in self.get_readable_agents()

    def get_readable_agents(self) -> list[str]:
        """Returns the agents that `can_read_from` is true of, itself first where `agent_name` is known."""
        return [*filter(None, [self.agent_name]), *self.inherit_from]


class UserWall(StrEnum):
    """Wall between the users of an agent: the records that cross from one user to others. Preferences never do.

    `separate`: counts, and strategies that at least two users or no user brought. `isolated`: nothing. `shared`: everything.
    """

    SEPARATE = "separate"
    ISOLATED = "isolated"
    SHARED = "shared"


class Access(StrEnum):
    """The rule that lets a reader see an owner's memories, or the one that hides them."""

    OWN = "own"
    SHARED = "shared"
    SHARED_WITH_ALL = "shared_with_all"
    INHERITED = "inherited"
    OWN_PREFERENCE = "own_preference"
    NOT_SHARED = "not_shared"
    LEFT_OUT = "left_out"
    SHARED_EXCLUDED = "shared_excluded"
    NO_USER = "no_user"
    OTHER_USER = "other_user"

    @property
    def is_open(self) -> bool:
        """True when the reader sees the memories."""
        return self in _OPEN

    @property
    def described(self) -> str:
        """The rule in words."""
        return _DESCRIBED[self]


_OPEN = frozenset({Access.OWN, Access.SHARED, Access.SHARED_WITH_ALL, Access.INHERITED, Access.OWN_PREFERENCE})
_DESCRIBED = {
    Access.OWN: "it is the reader's own",
    Access.SHARED: "its owner's share_with names the reader",
    Access.SHARED_WITH_ALL: "its owner's share_with is open to all",
    Access.INHERITED: "the reader's inherit_from names its owner",
    Access.OWN_PREFERENCE: "it is a preference of this user",
    Access.NOT_SHARED: "its owner shares nothing with the reader, and the reader does not inherit from its owner",
    Access.LEFT_OUT: "its owner's share_with leaves the reader out, which inherit_from does not overrule",
    Access.SHARED_EXCLUDED: "shared memories were not asked for (include_shared=False)",
    Access.NO_USER: "it belongs to a user, and no user_id was given",
    Access.OTHER_USER: "it belongs to another user",
}


def access(reader: str, owner: str, scopes: Mapping[str, MemoryScope]) -> Access:
    """Returns the rule between two agents of one project. Fails closed: unknown agents share nothing."""
    if reader == owner:
        return Access.OWN
    offered = scopes.get(owner, _NO_RULES).share_with
    if offered is None:
        wanted = owner in scopes.get(reader, _NO_RULES).inherit_from
        return Access.INHERITED if wanted else Access.NOT_SHARED
    if reader in offered:
        return Access.SHARED
    return Access.SHARED_WITH_ALL if EVERYONE in offered else Access.LEFT_OUT


_NO_RULES = MemoryScope()


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
