"""Base of ALMA's values, and what identifies memories and embedders: ids, times, fingerprints."""

import os
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeVar

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from alma.errors import ValidationError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Returns the current time, aware, in UTC."""
    return datetime.now(UTC)


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
