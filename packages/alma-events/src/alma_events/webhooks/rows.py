"""Values of deliveries: a position in the journal, a reference to an event on its way, and how its delivery stands."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alma.errors import ValidationError
from alma.text import quoted

ALL_OF_RECORD = 2**31 - 1
"""The index of a position behind all events of its record."""


class WebhookDeliveryStatus(StrEnum):
    """How a delivery stands: not tried yet, waiting for another attempt, delivered, or failed for good."""

    PENDING = "pending"
    RETRYING = "retrying"
    SUCCESS = "success"
    FAILED = "failed"


WAITING = (WebhookDeliveryStatus.PENDING, WebhookDeliveryStatus.RETRYING)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a project's journal: behind an event of a record, or behind the whole record."""

    seq: int
    index: int = ALL_OF_RECORD

    @classmethod
    def of(cls, given: object) -> "Position":
        """Returns the position of "seq.index", or of a `seq` with all of its record. `ValidationError` for anything else."""
        seq, dot, index = str(given).partition(".")
        if (
            isinstance(given, bool)
            or not isinstance(given, str | int)
            or not seq.isdecimal()
            or not (index.isdecimal() or not dot)
        ):
            raise ValidationError(
                f'a position is the number of a journal record, or "seq.index" as in 4711.2, not {quoted(given)}'
            )
        if max(int(seq), int(index or 0)) >= 2**62:
            raise ValidationError(f"a position as great as {quoted(given)} does not exist")
        return cls(int(seq), min(int(index), ALL_OF_RECORD) if dot else ALL_OF_RECORD)

    @property
    def as_after(self) -> str | int:
        """The position as `read_events` takes it."""
        return self.seq if self.index == ALL_OF_RECORD else str(self)

    def __str__(self) -> str:
        return str(self.seq) if self.index == ALL_OF_RECORD else f"{self.seq}.{self.index}"


@dataclass(slots=True)
class Reference:
    """An event on its way to an endpoint, without its words. `lane` is what its order is kept within; `due` is in seconds since 1970."""

    at: Position
    event_id: str
    event_type: str
    lane: str
    previous: str | None = None
    tries: int = 0
    due: float = 0.0
    is_replay: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt for one event ended. `due` is when the next one is, `None` where there is none."""

    reference: Reference
    status: WebhookDeliveryStatus
    http_status: int = 0
    error: str = ""
    ms: int = 0
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the delivery of one event stands. Neither the event's words nor what the receiver answered is kept."""

    url: str
    event_id: str
    event_type: str
    position: str
    status: WebhookDeliveryStatus
    attempts: int = 0
    last_error: str | None = None
    status_code: int | None = None
    duration_ms: int | None = None
    last_attempt: datetime | None = None
    next_attempt: datetime | None = None
