"""Figures of a server for Prometheus. No label holds an agent, a user or text."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alma_server.problems import ProblemError


class Metrics:
    """Counters of one server. Without the package prometheus-client nothing is counted, and `render` is a problem 501.

    Processes of one server share their figures by the folder that the variable `PROMETHEUS_MULTIPROC_DIR` names when this module's
    library is loaded.
    """

    def __init__(self) -> None:
        try:
            from alma_server.prometheus import Figures
        except ModuleNotFoundError as error:
            if error.name != "prometheus_client":
                raise
            self.figures: Any = None
        else:
            self.figures = Figures()

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Counts a request as running within the block."""
        if self.figures is None:
            yield
            return
        self.figures.inflight.inc()
        try:
            yield
        finally:
            self.figures.inflight.dec()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request that ended. `route` is a template, "" for an address that there is not."""
        if self.figures is not None:
            self.figures.requests.labels(route or "none", method if method in _METHODS else "other", str(status or 499)).inc()
            self.figures.seconds.observe(seconds)

    def count_shed(self) -> None:
        """Counts a call that was refused because too many waited."""
        if self.figures is not None:
            self.figures.shed.inc()

    def note_waiting(self, reads: int) -> None:
        """States how many reads wait for a thread."""
        if self.figures is not None:
            self.figures.waiting.set(reads)

    def note_store(self, folder: Path) -> None:
        """States the size of the files in a store's folder."""
        if self.figures is not None:
            self.figures.bytes.set(sum(each.stat().st_size for each in folder.iterdir() if each.is_file()))

    def set_streams(self, count: int) -> None:
        """States how many streams are open."""
        if self.figures is not None:
            self.figures.sse.set(count)

    def note_event(self, project: str, seq: int, age: float) -> None:
        """States the newest event that a stream sent: its record, and the seconds since that was stored."""
        if self.figures is not None:
            self.figures.seq.labels(project).set(seq)
            self.figures.lag.set(age)

    def render(self) -> tuple[bytes, str]:
        """Returns the figures in the text format of Prometheus, and its media type."""
        if self.figures is None:
            raise ProblemError(501, "missing-dependency", "metrics need the package prometheus-client")
        return self.figures.render()  # type: ignore[no-any-return]


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
