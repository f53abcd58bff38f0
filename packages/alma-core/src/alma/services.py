"""Calls of a service that a package beside the core stands on, such as a vector database: one at a time, its errors as `StorageError`."""

import functools
from collections.abc import Callable
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from alma.errors import StorageError

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
