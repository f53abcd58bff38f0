"""Spans of OpenTelemetry that belong to those of a client."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context, propagate


@contextmanager
def joined(headers: Mapping[str, str]) -> Iterator[None]:
    """Makes spans within the block children of the span that `traceparent` names."""
    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)
