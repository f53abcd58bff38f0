"""Reads OpenTelemetry spans from OTLP JSON. What is not of this form is a `ValidationError` that names the place."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from alma.errors import ValidationError
from alma.text import quoted

LARGEST_TRACES = 100_000_000
"""Characters, or bytes, of one document at most."""

ERROR = 2
"""The status code of a failed span."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span: its ids, its attributes as plain values, its times in nanoseconds, and its error."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    attributes: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    def text(self, *names: str) -> str:
        """Returns the first of these attributes that is a text with words; "" if none is."""
        found = (self.attributes.get(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value.strip()), "")

    @property
    def seconds(self) -> float:
        """Duration; 0 where the times are missing or reversed."""
        return max(self.end - self.start, 0) / 1e9


def read_spans(traces: object) -> list[Span]:
    """Returns the spans of OTLP JSON: a mapping, its text, or one document per line, as the file exporter of a collector writes it."""
    return [span for number, document in enumerate(_documents(traces), 1) for span in _spans(document, f"document {number}")]


def _documents(traces: object) -> Iterator[Any]:
    if isinstance(traces, Mapping):
        yield traces
        return
    if not isinstance(traces, str | bytes):
        raise ValidationError(f"traces are OTLP JSON, as a text or a mapping, not {quoted(traces)}")
    if len(traces) > LARGEST_TRACES:
        raise ValidationError(f"traces have {len(traces)} characters; at most {LARGEST_TRACES} are read, so split them by lines")
    text = _decoded(traces)
    try:
        yield json.loads(text)
    except RecursionError:
        raise ValidationError("traces are nested too deeply to be read") from None
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise ValidationError(f"traces are no JSON: {error}") from None
        yield from map(_line, range(1, len(lines) + 1), lines)


def _decoded(traces: str | bytes) -> str:
    try:
        return traces if isinstance(traces, str) else traces.decode()
    except UnicodeDecodeError as error:
        raise ValidationError(f"traces are no text in UTF-8: {error.reason} at byte {error.start}") from None


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"line {number} of the traces is no JSON: {error}") from None


def _spans(document: Any, at: str) -> Iterator[Span]:
    for resource in _members(document, "resourceSpans", at, is_needed=True):
        for scope in _members(resource, "scopeSpans", f"{at}, resourceSpans"):
            for number, span in enumerate(_members(scope, "spans", f"{at}, scopeSpans")):
                yield _span(span, f"{at}, span {number}")


def _members(value: Any, name: str, at: str, *, is_needed: bool = False) -> list[Any]:
    if not isinstance(value, Mapping):
        raise ValidationError(f"{at}: an object is needed, not {quoted(value)}")
    if is_needed and name not in value:
        raise ValidationError(f"{at} has no {name}; traces are OTLP JSON as an OpenTelemetry collector writes it")
    found = value.get(name, [])
    if not isinstance(found, list):
        raise ValidationError(f"{at}: {name} must be a list, not {quoted(found)}")
    return found


def _span(span: Any, at: str) -> Span:
    attributes = _attributes(span, at)
    return Span(
        trace_id=_id(span, "traceId", at),
        span_id=_id(span, "spanId", at),
        parent_id=_id(span, "parentSpanId", at, is_needed=False),
        name=span["name"] if isinstance(span.get("name"), str) else "",
        start=_time(span, "startTimeUnixNano", at),
        end=_time(span, "endTimeUnixNano", at),
        attributes=attributes,
        error=_error(span, attributes, at),
    )


def _id(span: Mapping[str, Any], name: str, at: str, *, is_needed: bool = True) -> str:
    found = span.get(name, "")
    if (
        not isinstance(found, str)
        or len(found) > 64
        or not ((found.isalnum() and found.isascii()) or (found == "" and not is_needed))
    ):
        raise ValidationError(f"{at}: {name} is {quoted(found)}; it must be an id in letters and digits")
    return found


def _time(span: Mapping[str, Any], name: str, at: str) -> int:
    found = span.get(name, 0)
    try:
        if isinstance(found, str) and len(found) <= 20:
            return int(found)
    except ValueError:
        pass
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 64:
        return found
    raise ValidationError(f"{at}: {name} is {quoted(found)}; it must be a number of nanoseconds")


def _attributes(holder: Any, at: str) -> dict[str, Any]:
    pairs = _members(holder, "attributes", at)
    if not all(isinstance(pair, Mapping) and isinstance(pair.get("key"), str) for pair in pairs):
        raise ValidationError(f"{at}: each of its attributes needs a key and a value")
    return {pair["key"]: _value(pair.get("value"), at) for pair in pairs}


def _value(value: Any, at: str, depth: int = 20) -> Any:
    if not isinstance(value, Mapping) or depth == 0:
        return None
    if "kvlistValue" in value:
        pairs = _members(value["kvlistValue"], "values", at)
        return {
            str(pair["key"]): _value(pair.get("value"), at, depth - 1)
            for pair in pairs
            if isinstance(pair, Mapping) and "key" in pair
        }
    if "arrayValue" in value:
        return [_value(each, at, depth - 1) for each in _members(value["arrayValue"], "values", at)]
    return next((value[name] for name in ("stringValue", "boolValue", "intValue", "doubleValue") if name in value), None)


def _error(span: Mapping[str, Any], attributes: Mapping[str, Any], at: str) -> str | None:
    """Returns the error of a span: of its status, of its exception, or the `error.type` attribute."""
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    thrown = [
        _attributes(event, at)
        for event in _members(span, "events", at)
        if isinstance(event, Mapping) and event.get("name") == "exception"
    ]
    kind = attributes.get("error.type")
    if status.get("code") not in (ERROR, "STATUS_CODE_ERROR") and not kind:
        return None
    last = thrown[-1] if thrown else {}
    kind = kind or last.get("exception.type")
    said = status.get("message") or last.get("exception.message")
    return ": ".join(str(part) for part in (kind, said) if part) or "failed without a message"
