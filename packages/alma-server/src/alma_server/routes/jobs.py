"""Work that takes longer than a request: one piece at a time, with its progress, known to whoever began it until an hour after its end.

A job is known to the process that runs it. Where several serve one port, a client waits for it in the request that begins it.
"""

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from fastapi import FastAPI

from alma.errors import AlmaError, MemoryNotFoundError
from alma_server.asking import Asked
from alma_server.problems import ProblemError
from alma_server.routes.answers import Job

_LOG = logging.getLogger("alma")

KEPT_SECONDS = 3_600
MOST_WAITING = 16

_CHUNK = 1 << 16

Progress = Callable[[int, int], None]


class Made:
    """Bytes that were made, in a file without a name, so that no crash leaves them behind. Several may read them at once."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self._descriptor = os.dup(file.fileno())

    def write(self, data: bytes) -> int:
        """Adds bytes."""
        with os.fdopen(os.dup(self._descriptor), "ab") as file:
            return file.write(data)

    def chunks(self) -> Iterator[bytes]:
        """Yields all bytes, from the first."""
        place = 0
        while chunk := os.pread(self._descriptor, _CHUNK, place):
            place += len(chunk)
            yield chunk

    def __del__(self) -> None:
        os.close(self._descriptor)


Work = Callable[[Progress], tuple[dict[str, Any], Made | None]]
"""Does the work: takes a function to report progress, and returns a report and what it made."""


@dataclass(slots=True)
class Running:
    """A job of a token in a project."""

    token: str
    project: str
    sort: str
    id: str = field(default_factory=lambda: uuid4().hex)
    status: str = "waiting"
    done: int = 0
    total: int = 0
    result: dict[str, Any] | None = None
    problem: str | None = None
    ended: float = 0.0
    made: Made | None = None
    future: "Future[None] | None" = None

    async def wait(self) -> None:
        """Waits until it has ended."""
        if self.future is not None:
            await asyncio.shield(asyncio.wrap_future(self.future))

    def report(self, done: int, total: int) -> None:
        """Notes the progress."""
        self.done, self.total = done, total

    def shown(self) -> Job:
        """Returns the job as the API shows it."""
        return Job(
            id=self.id,
            sort=self.sort,
            status=self.status,
            done=self.done,
            total=self.total,
            result=self.result,
            problem=self.problem,
        )


class Jobs:
    """The jobs of a server process. Made by its first job."""

    def __init__(self) -> None:
        self._known: dict[str, Running] = {}
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="alma-job")

    @classmethod
    def of(cls, app: FastAPI) -> "Jobs":
        """Returns the jobs of an application."""
        if not hasattr(app.state, "jobs"):
            app.state.jobs = cls()
        jobs: Jobs = app.state.jobs
        return jobs

    def start(self, asked: Asked, sort: str, work: Work) -> Running:
        """Begins a job as soon as those before it have ended. `ProblemError` 503 if too many wait."""
        self._drop_old()
        if sum(each.status == "waiting" for each in self._known.values()) >= MOST_WAITING:
            raise ProblemError(503, "overloaded", "too many jobs wait already", headers={"Retry-After": "60"})
        job = Running(asked.token.id, asked.project or "", sort)
        self._known[job.id] = job
        job.future = self._executor.submit(_run, job, work)
        return job

    def find(self, asked: Asked, job_id: str) -> Running:
        """Returns a job of the token that asks. `MemoryNotFoundError` for any other."""
        self._drop_old()
        job = self._known.get(job_id)
        if job is None or job.token != asked.token.id or asked.project not in (None, job.project):
            raise MemoryNotFoundError("there is no such job of this token")
        return job

    def drop_exports(self, project: str | None) -> None:
        """Forgets the exports of a project, running ones too, as they hold what was erased since."""
        for job in [each for each in self._known.values() if each.project == project and each.sort == "export"]:
            del self._known[job.id]

    def _drop_old(self) -> None:
        now = time.monotonic()
        for job in [each for each in self._known.values() if each.ended and now - each.ended > KEPT_SECONDS]:
            del self._known[job.id]


def _run(job: Running, work: Work) -> None:
    job.status = "running"
    try:
        job.result, job.made = work(job.report)
        job.status = "done"
    except AlmaError as error:
        job.status, job.problem = "failed", str(error)
    except Exception:  # noqa: BLE001 - whoever began it asks for the state, and the log has the error
        job.status, job.problem = "failed", "the server failed; see its log"
        _LOG.exception("job %s failed", job.id)
    finally:
        job.ended = time.monotonic()
