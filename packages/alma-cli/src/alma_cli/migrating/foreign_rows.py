"""Reads a row of another program's table field by field. Missing required fields raise; other faults are left out with a remark."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from alma.errors import ValidationError
from alma.memory.arguments import checked_metadata, checked_name, checked_text, optional_duration, optional_label, optional_text
from alma.types.identity import as_utc

Row = Mapping[str, object]


@dataclass(slots=True)
class ForeignRow:
    """One row. `remarks` lists what was left out of it; `taken` are the columns that were read."""

    row: Row
    now: datetime
    remarks: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def get(self, name: str) -> object:
        """Returns the raw value; `None` for a missing column."""
        self.taken.add(name)
        return self.row.get(name)

    def name(self, name: str) -> str:
        """Returns an agent or a user. `ScopeViolationError` if there is none."""
        return checked_name(self.get(name), name)

    def text(self, name: str) -> str:
        """Returns a required text. `ValidationError` if it is empty or cannot be stored."""
        return checked_text(self.get(name), name)

    def optional_text(self, name: str) -> str | None:
        """Returns a text that may be empty. `ValidationError` if it cannot be stored."""
        return optional_text(self.get(name), name)

    def label(self, name: str, default: str) -> str:
        """Returns a short text, the default if it is empty or invalid."""
        return self._or_without(name, lambda value: optional_label(value, name)) or default

    def duration(self, name: str) -> int | None:
        """Returns milliseconds, if they are valid."""
        found: int | None = self._or_without(name, optional_duration)
        return found

    def confidence(self, default: float) -> float:
        """Returns a number from 0 to 1, the default if it is none."""
        value = self.get("confidence")
        if isinstance(value, int | float) and 0 <= value <= 1:
            return float(value)
        if value is not None:
            self.remarks.append("confidence left out: it is not a number from 0 to 1")
        return default

    def moment(self, name: str) -> datetime | None:
        """Returns a time, in UTC if it has no zone. `None` if none can be read."""
        value = self.get(name)
        try:
            return as_utc(datetime.fromisoformat(value)) if isinstance(value, str) else None
        except ValueError:
            return None

    def past(self, name: str) -> datetime:
        """Returns a time; the current time if none can be read, or if it is in the future."""
        found = self.moment(name)
        if found is None or found > self.now:
            fault = "cannot be read" if found is None else "is in the future"
            self.remarks.append(f"{name} {fault}: the time of the import stands instead")
            return self.now
        return found

    def metadata(self, key: str, origin: Mapping[str, object]) -> dict[str, Any]:
        """Returns the row's own metadata, with its origin and the columns that were not read under `key`."""
        given = self._given_metadata()
        others = {name: value for name, value in self.row.items() if name not in self.taken and _is_filled(value)}
        known = {name: value for name, value in origin.items() if value is not None}
        try:
            return checked_metadata({**given, key: {**others, **known}})
        except ValidationError:
            self.remarks.append("metadata left out: it cannot be stored")
            return {}

    def _given_metadata(self) -> Mapping[str, Any]:
        text = self.get("metadata")
        if text is None or text == "":
            return {}
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.remarks.append("metadata left out: it is no JSON object")
            return {}
        return found

    def _or_without(self, name: str, check: Callable[[object], Any]) -> Any:
        try:
            return check(self.get(name))
        except ValidationError:
            self.remarks.append(f"{name} left out: it cannot be stored as it is")
            return None


def _is_filled(value: object) -> bool:
    return isinstance(value, str | int | float) and value != ""
