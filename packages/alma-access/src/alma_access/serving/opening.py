"""Opens a memory beside the server, so that the server answers before the database and the model are loaded."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alma import ALMA


class Opening:
    """A memory that is opened once, in a thread. Calls that need it wait; after a failure the next call tries again."""

    def __init__(self, open_alma: Callable[[], "ALMA"]) -> None:
        self._open = open_alma
        self._lock = Lock()
        self._future: Future[ALMA] | None = None
        self._is_closed = False
        self._failure = ""

    @property
    def is_open(self) -> bool:
        """True when calls do not wait."""
        future = self._future
        return future is not None and future.done() and future.exception() is None

    @property
    def failure(self) -> str:
        """The error of the last try to open the memory that has ended; "" if it did not fail."""
        return self._failure

    def start(self) -> "Future[ALMA]":
        """Begins to open the memory, unless that is under way or done."""
        with self._lock:
            if self._future is None or (self._future.done() and self._future.exception() is not None and not self._is_closed):
                self._future = Future()
                Thread(target=self._run, args=(self._future,), name="alma-opening", daemon=True).start()
            return self._future

    def alma(self) -> "ALMA":
        """Returns the memory when it is open. Raises what opening it raised."""
        return self.start().result()

    def close(self) -> None:
        """Closes the memory, if it was opened. Waits for one that is being opened."""
        with self._lock:
            self._is_closed = True
            future = self._future
        if future is not None and future.exception() is None:
            future.result().close()

    def _run(self, future: "Future[ALMA]") -> None:
        try:
            opened = self._open()
        except BaseException as error:  # noqa: BLE001 - passed on to the waiting calls
            self._failure = str(error) or type(error).__name__
            future.set_exception(error)
        else:
            self._failure = ""
            future.set_result(opened)
