"""Traces, metrics and JSON logs of the calls that read and write memory. Nothing is emitted, and nothing imported, before it is switched on.

The names are those of OpenTelemetry's conventions for GenAI (status: development). Texts of memories and queries are left out unless
`capture_content` is set: they may hold what people said.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from alma.errors import missing_for
from alma.memory.alma import ALMA, checked_alma
from alma.memory.operation import STEP_METHOD, Operation, Watcher, ids_of
from alma.types.episodes import EpisodeRecord
from alma.types.memories import Outcome
from alma.types.prompt import note
from alma.types.slice import MemorySlice

__all__ = ["JSONFormatter", "Operation", "Watcher", "instrument", "log_operations", "watch"]

LOGGER = "alma.operations"
_LOCK = threading.RLock()
_OF_STEP = {"episode.id": "episode_id", "step.number": "step"}


def watch(alma: ALMA, watcher: Watcher) -> Callable[[], None]:
    """Has a watcher called around each operation on the store of `alma`, in all its projects. Returns the function that ends it."""
    store = checked_alma(alma)._store
    with _LOCK:
        store.watchers = (*store.watchers, watcher)

    def stop() -> None:
        with _LOCK:
            latest = alma._store
            latest.watchers = tuple(each for each in latest.watchers if each is not watcher)

    return stop


def instrument(
    alma: ALMA, *, tracer_provider: Any = None, meter_provider: Any = None, capture_content: bool = False
) -> Callable[[], None]:
    """Emits a span and metrics for each operation, by default to the global providers. Returns the function that ends it.

    Spans are named `search_memory`, `create_memory`, `update_memory`, `upsert_memory` and `delete_memory`. Metrics:
    `alma.memory.operation.duration` (s), `alma.memory.records` and `alma.verdicts`. `MissingDependencyError` without `alma-core[otel]`.
    """
    try:
        from opentelemetry import metrics, trace
    except ImportError as missing:
        raise missing_for("Telemetry needs", missing, "otel") from missing
    tracer = trace.get_tracer("alma", tracer_provider=tracer_provider)
    meter = metrics.get_meter("alma", meter_provider=meter_provider)
    durations = meter.create_histogram("alma.memory.operation.duration", unit="s", description="Duration of memory operations.")
    records = meter.create_counter(
        "alma.memory.records", unit="{record}", description="Memory records that operations returned or wrote."
    )
    verdicts = meter.create_counter("alma.verdicts", unit="{verdict}", description="Verdicts on tasks that were recorded.")

    @contextmanager
    def watcher(operation: Operation) -> Iterator[None]:
        start, kinds = time.perf_counter(), {"gen_ai.operation.name": operation.name}
        with tracer.start_as_current_span(
            operation.name, record_exception=capture_content, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                kinds["error.type"] = type(error).__name__
                span.set_status(trace.Status(trace.StatusCode.ERROR, str(error) if capture_content else None))
                raise
            finally:
                found = attributes(operation, with_content=capture_content)
                span.set_attributes({**found, **kinds})
                durations.record(time.perf_counter() - start, kinds)
                if "gen_ai.memory.record.count" in found:
                    records.add(int(found["gen_ai.memory.record.count"]), kinds)
                if "alma.verdict" in found and operation.method != STEP_METHOD:
                    verdicts.add(1, {name: found[name] for name in ("alma.verdict", "alma.verdict.source") if name in found})

    return watch(alma, watcher)


def log_operations(alma: ALMA, *, logger: logging.Logger | None = None, capture_content: bool = False) -> Callable[[], None]:
    """Logs each operation at level INFO to `alma.operations`, or to `logger`, with its attributes for `JSONFormatter`. Returns the function
    that ends it."""
    log = logger or logging.getLogger(LOGGER)

    @contextmanager
    def watcher(operation: Operation) -> Iterator[None]:
        start, failed = time.perf_counter(), {}
        try:
            yield
        except BaseException as error:
            failed = {"error.type": type(error).__name__}
            raise
        finally:
            found = {**attributes(operation, with_content=capture_content), **failed}
            found["duration_ms"] = round((time.perf_counter() - start) * 1000, 3)
            log.info("%s", operation.name, extra={"alma": found})

    return watch(alma, watcher)


class JSONFormatter(logging.Formatter):
    """Formats a record as one JSON object on one line: time (ISO 8601, UTC), level, logger, message, and attributes of an operation."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        named = {"time": f"{when}.{int(record.msecs):03d}Z", "level": record.levelname, "logger": record.name}
        found = {**named, "message": record.getMessage(), **getattr(record, "alma", {})}
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)


def attributes(operation: Operation, *, with_content: bool) -> dict[str, Any]:
    """Returns an operation as attributes: names, ids, counts and verdicts; texts only with `with_content`."""
    result = operation.result
    found: dict[str, Any] = {"gen_ai.operation.name": operation.name, "gen_ai.memory.store.id": operation.project_id}
    if operation.agent is not None:
        found["gen_ai.agent.name"] = operation.agent
    found["alma.method"] = operation.method
    ids = ids_of(result)
    if ids is not None:
        found["gen_ai.memory.record.count"] = len(ids)
        if len(ids) == 1:
            found["gen_ai.memory.record.id"] = ids[0]
    if isinstance(result, EpisodeRecord):
        found |= {"gen_ai.memory.record.count": int(result.outcome is not None), "alma.episode.id": result.id}
    if operation.method == STEP_METHOD and isinstance(result, Outcome):
        found |= {f"alma.{name}": result.metadata[key] for name, key in _OF_STEP.items()}
    found |= _verdict(result)
    if with_content:
        found |= _content(operation)
    return found


def _verdict(result: Any) -> dict[str, str]:
    if isinstance(result, Outcome | EpisodeRecord) and result.outcome is not None:
        source = result.verdict_source
        return {"alma.verdict": result.outcome.value, **({"alma.verdict.source": source.value} if source else {})}
    return {}


def _content(operation: Operation) -> dict[str, str]:
    found = (
        {"gen_ai.memory.query.text": operation.query} if operation.query is not None and operation.name == "search_memory" else {}
    )
    if isinstance(operation.result, MemorySlice):
        shown = [
            {"id": item.memory.id, "content": note(item.memory, None), "score": item.score} for item in operation.result.recalled
        ]
        found["gen_ai.memory.records"] = json.dumps(shown, ensure_ascii=False)
    return found
