"""`WebhookConfig`: a receiver of events, and how it wants them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Self, TypeVar

from alma.errors import ValidationError
from alma.text import composed, name_nearest, quoted
from alma_events.types import MemoryEvent, MemoryEventType
from alma_events.webhooks.guard import Guard, check_allowed
from alma_events.webhooks.schedule import Schedule
from alma_events.webhooks.signing import check_headers, check_secret

Ordering = Literal["memory", "strict", "none"]
PAYLOADS = ("thin", "full")
ORDERINGS = ("memory", "strict", "none")
NO_USERS, ALL_USERS = "none", "all"

USUAL_TIMEOUT = 15.0
LONGEST_TIMEOUT = 60.0
USUAL_RETRIES, USUAL_RETRY_DELAY, USUAL_BACKOFF = 3, 5.0, 2.0
MOST_RETRIES = 50
LARGEST_BATCH = 100
LONGEST_BATCH_DELAY = 60.0

_SAME = {
    "retry_count": "max_retries",
    "timeout": "timeout_seconds",
    "agent_filter": "agents",
}
"""Settings that were published under two names, or have a shorter one in a configuration."""

T = TypeVar("T")


@dataclass
class WebhookConfig:
    """A receiver of events.

    `events` are the types that it gets, all of them if the list is empty; `agents` (also `agent_filter`), `kinds` and `project_filter` select
    further. `users` is "none" (the default: nothing that was recorded for a user), "all", or the name of one. `payload` is "thin", ids and
    numbers, or "full", with the words of memories. `secret` signs; `headers` are sent besides.

    A failed delivery is tried again for three days. `retry_count` (also `max_retries`), `retry_delay` in seconds and `retry_backoff`, a
    factor, replace this schedule; what is not given of them is 3, 5.0 and 2.0. `timeout` (also `timeout_seconds`) is for a whole attempt, 15
    by default, at most 60. With a `batch_size` over 1 a request has up to that many events, and waits `batch_delay` seconds for them.
    `ordering="memory"` delivers the events of one memory in order, "strict" all of them one after another, "none" as they come.

    `allow_http`, `allow` (hosts and networks inside) and `nat64` weaken the guard of addresses. Only the operator may set these.
    """

    url: str
    events: Sequence[MemoryEventType | str] = field(default_factory=list)
    secret: str | None = field(default=None, repr=False)
    max_retries: int | None = None
    timeout_seconds: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    retry_count: int | None = None
    retry_delay: float | None = None
    retry_backoff: float | None = None
    timeout: float | None = None
    agent_filter: Sequence[str] | None = None
    project_filter: Sequence[str] | None = None
    batch_size: int = 1
    batch_delay: float = 1.0
    agents: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    users: str = NO_USERS
    payload: Literal["thin", "full"] = "thin"
    ordering: Ordering = "memory"
    allow_http: bool = False
    allow: Sequence[str] = ()
    nat64: bool = False

    def matches_event(self, event_type: MemoryEventType | str) -> bool:
        """Returns whether the receiver gets events of this type."""
        return not self.events or str(event_type) in map(str, self.events)

    def wants(self, event: MemoryEvent) -> bool:
        """Returns whether the receiver asked for such an event, whether it may read it or not."""
        return (
            self.matches_event(event.event_type)
            and (not self.agents or composed(event.agent or "") in map(composed, self.agents))
            and (not self.kinds or event.memory_type in self.kinds)
            and (self.project_filter is None or event.project_id in self.project_filter)
        )

    def checked(self) -> Self:
        """Returns the settings with one name each. `ValidationError` names the one that is wrong."""
        for former, name in _SAME.items():
            self._take(former, name)
        self.events = [_event_type(each) for each in _names(self.events, "events") or [] if each != "*"]
        self.secret = None if self.secret is None else check_secret(self.secret)
        self.headers = check_headers(self.headers)
        self.allow = check_allowed(_names(self.allow, "allow") or ())
        for name in ("agents", "kinds", "project_filter"):
            setattr(self, name, _names(getattr(self, name), name))
        for name, least, most, is_whole in _NUMBERS:
            _check_number(getattr(self, name), name, least, most, is_whole=is_whole)
        _check_choice(self.payload, "payload", PAYLOADS)
        _check_choice(self.ordering, "ordering", ORDERINGS)
        if not self.users or not isinstance(self.users, str):
            raise ValidationError('users must be "none", "all" or the name of a user')
        self.guard.check_url(self.url)
        return self

    @property
    def guard(self) -> Guard:
        """The rules for addresses of this receiver."""
        return Guard(self.allow_http is True, tuple(self.allow), self.nat64 is True)

    @property
    def schedule(self) -> Schedule:
        """Schedule of attempts for a delivery."""
        retries = self.max_retries if self.retry_count is None else self.retry_count
        if retries is self.retry_delay is self.retry_backoff is None:
            return Schedule()
        return Schedule.growing(
            USUAL_RETRIES if retries is None else retries,
            USUAL_RETRY_DELAY if self.retry_delay is None else self.retry_delay,
            USUAL_BACKOFF if self.retry_backoff is None else self.retry_backoff,
        )

    @property
    def seconds(self) -> float:
        """Seconds that an attempt may take in all."""
        return next((each for each in (self.timeout, self.timeout_seconds) if each is not None), USUAL_TIMEOUT)

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings as plain JSON values, with the secret."""
        return {**asdict(self), "events": [str(each) for each in self.events]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Returns the settings of a mapping, as in a configuration. `ValidationError` names a key that is unknown, and the nearest known one."""
        known = [each.name for each in fields(cls)]
        for key in given:
            if key not in known:
                raise ValidationError(f"{quoted(key)}: unknown key{name_nearest(str(key), known)}; known are {', '.join(known)}")
        if "url" not in given:
            raise ValidationError("url is missing")
        switches = {name: given[name] in (True, "on") for name in ("allow_http", "nat64") if name in given}
        return cls(**{**given, **switches})

    def _take(self, former: str, name: str) -> None:
        first, second = getattr(self, former), getattr(self, name)
        if first is not None and second is not None and first != second:
            raise ValidationError(f"{former} and {name} are two names of one setting; give one of them")
        setattr(self, name, second if first is None else first)
        setattr(self, former, None)


_NUMBERS = (
    ("max_retries", 0, MOST_RETRIES, True),
    ("retry_delay", 0, 86_400, False),
    ("retry_backoff", 1, 100, False),
    ("timeout_seconds", 0.1, LONGEST_TIMEOUT, False),
    ("batch_size", 1, LARGEST_BATCH, True),
    ("batch_delay", 0, LONGEST_BATCH_DELAY, False),
)


def _check_number(value: object, name: str, least: float, most: float, *, is_whole: bool) -> None:
    kind = int if is_whole else int | float
    if value is not None and (isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most):
        raise ValidationError(
            f"{name} must be a {'whole ' if is_whole else ''}number from {least} to {most:,.0f}, not {quoted(value)}"
        )


def _check_choice(value: object, name: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValidationError(f"{name} must be one of {', '.join(choices)}, not {quoted(value)}")


def _names(value: object, name: str) -> list[Any] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(each, str) and each for each in value):
        raise ValidationError(f"{name} must be a list of names, not {quoted(value)}")
    return list(value)


def _event_type(name: str) -> MemoryEventType:
    try:
        return MemoryEventType(name)
    except ValueError as error:
        known = [each.value for each in MemoryEventType]
        raise ValidationError(
            f"events: unknown {quoted(name)}{name_nearest(name, known)}; known are {', '.join(known)}"
        ) from error
