"""Calls of a service that a package beside the core stands on, such as a vector database: one at a time, its errors as `StorageError`."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from alma.errors import StorageError
from alma.protocols import VectorChanges, VectorsRequest

LONGEST_REASON = 300

P = ParamSpec("P")
R = TypeVar("R")


class Service:
    """A service as its users call it: by `lock`, one thread at a time, and under the name and place that errors give.

    `advice` ends the message of an error. `secret` is left out of all messages.
    """

    def __init__(self, name: str, place: str, *, advice: str = "is it running?", secret: str = "") -> None:
        self.lock, self.place = RLock(), place
        self._name, self._advice, self._secret = name, advice, secret

    def error(self, error: Exception) -> StorageError:
        """Returns what is raised in the place of an error of the service's client, its message cut to a few hundred characters."""
        reason = str(error)
        if self._secret:
            reason = reason.replace(self._secret, "…")
        return StorageError(f"{self._name} at {self.place}: {reason[:LONGEST_REASON]}; {self._advice}")


class UsesService(Protocol):
    """Has the service that its methods call."""

    @property
    def service(self) -> Service:
        """The service."""


User = TypeVar("User", bound=UsesService)


def calls_service(method: Callable[Concatenate[User, P], R]) -> Callable[Concatenate[User, P], R]:
    """Has a method hold the lock of its service, and errors of the client leave it as `StorageError`."""

    @functools.wraps(method)
    def call(user: User, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with user.service.lock:
                return method(user, *args, **kwargs)
        except StorageError:
            raise
        except Exception as error:  # clients raise the errors of several libraries
            raise user.service.error(error) from error

    return call


class WatermarkedSearch(ABC):
    """The part of an `alma.protocols.CandidateSearch` that services share which hold the watermark beside the vectors of a project.

    Content without a watermark of this project's is not trusted: it is no answer, and is made anew before anything is written.
    """

    service: Service

    def __init__(self, service: Service, request: VectorsRequest) -> None:
        self.service, self.request = service, request
        self._is_trusted = False

    @property
    def recall(self) -> float:
        """At least nine of ten."""
        return 0.9

    @property
    @calls_service
    def upto(self) -> int:
        """Newest journal `seq` held, read from the service itself. Changes nothing: another process may be filling it."""
        return self._held() or 0

    @calls_service
    def apply(self, changes: VectorChanges, /) -> None:
        """Takes changes in journal order. The watermark moves when all of them are there. Content that is not ours is made anew."""
        held = self._held()
        if held is None:
            self.clear()
        elif changes.upto <= held:
            return
        self.write(changes)
        self._is_trusted = True

    @calls_service
    def search(self, query: NDArray[np.float32], /, *, partitions: Sequence[int], limit: int) -> NDArray[np.int64]:
        """Returns the memories of the `limit` nearest passages of each partition, ascending."""
        if not partitions or limit < 1 or not (self._is_trusted or self._held() is not None):
            return np.empty(0, dtype=np.int64)
        wanted = [int(partition) for partition in dict.fromkeys(partitions)]
        return np.array(sorted(set(self.nearest(np.asarray(query, dtype=np.float32), wanted, limit))), dtype=np.int64)

    @calls_service
    def clear(self) -> None:
        """Deletes what the project has there, and makes an empty place for it."""
        self._is_trusted = False
        self.make_empty()

    def _held(self) -> int | None:
        """The `seq` of the stored watermark; `None` without one of ours."""
        upto = self.request.upto_of(self.watermark())
        self._is_trusted = upto is not None
        return upto

    @abstractmethod
    def watermark(self) -> object:
        """Returns what is stored as the watermark; `None` where there is nothing. Changes nothing."""

    @abstractmethod
    def write(self, changes: VectorChanges) -> None:
        """Stores the vectors, deletes those that are gone, then stores the watermark of `changes.upto`."""

    @abstractmethod
    def nearest(self, query: NDArray[np.float32], partitions: Sequence[int], limit: int) -> Iterable[int]:
        """Yields the memories of the `limit` nearest passages of each of the partitions, which are distinct."""

    @abstractmethod
    def make_empty(self) -> None:
        """Deletes what the project has there, and makes an empty place for it."""
