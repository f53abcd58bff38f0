"""The figures of a server, in a registry of their own."""

import os
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_SHARED = "PROMETHEUS_MULTIPROC_DIR"


class Figures:
    """Counters, gauges and times by their published names."""

    def __init__(self) -> None:
        _forget_dead()
        self.registry = kept = CollectorRegistry()
        self.requests = Counter("alma_http_requests", "Requests that ended.", ("route", "method", "status"), registry=kept)
        self.seconds = Histogram("alma_http_request_seconds", "Time from a request to the end of its answer.", registry=kept)
        self.shed = Counter("alma_shed", "Calls refused because too many waited.", registry=kept)
        self.inflight = _sum("alma_http_inflight", "Requests that run.", kept)
        self.waiting = _sum("alma_reads_waiting", "Reads that wait for a thread.", kept)
        self.sse = _sum("alma_sse_clients", "Open streams of events.", kept)
        self.lag = _most("alma_events_lag_seconds", "Age of the newest event when a stream sent it.", kept)
        self.seq = _most("alma_journal_seq", "Newest record of a project's journal that a stream saw.", kept, "project")
        self.bytes = _most("alma_store_bytes", "Size of the store's files.", kept)

    def render(self) -> tuple[bytes, str]:
        """Returns the figures of this process, or of all processes that share a folder, and the media type."""
        registry = self.registry
        if os.environ.get(_SHARED):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library has no types there
        return generate_latest(registry), CONTENT_TYPE_LATEST


def _forget_dead() -> None:
    """Takes the figures of processes out that were killed, so that what they had in work does not count for ever."""
    for file in Path(os.environ.get(_SHARED, "/nonexistent")).glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            mark_process_dead(process)  # type: ignore[no-untyped-call]  # the library has no types there
        except PermissionError:
            continue


def _sum(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, text, multiprocess_mode="livesum", registry=registry)


def _most(name: str, text: str, registry: CollectorRegistry, *labels: str) -> Gauge:
    return Gauge(name, text, labels, multiprocess_mode="max", registry=registry)
