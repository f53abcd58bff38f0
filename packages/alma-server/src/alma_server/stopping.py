"""The end of a server: streams end as soon as the process is asked to, which the web server waits for before anything else ends."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]


class Stopping:
    """States whether the server was asked to end. Used from its event loop."""

    def __init__(self) -> None:
        self.is_asked = False
        """True once the server was asked to end."""
        self._calls: list[Callable[[], object]] = []

    def on_ask(self, call: Callable[[], object]) -> None:
        """Registers a callback for when the server is asked to end."""
        self._calls.append(call)

    def ask(self) -> None:
        """Asks the server to end. A second time is harmless."""
        if not self.is_asked:
            self.is_asked = True
            for call in self._calls:
                call()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Notices SIGTERM and SIGINT within the block, beside who handles them already. Only the main thread can."""
        if current_thread() is not main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def notice(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.ask)
            handler = former[signal.Signals(number)]
            if callable(handler):
                handler(number, frame)

        for number, handler in former.items():
            if callable(handler):
                signal.signal(number, notice)
        try:
            yield
        finally:
            for number, handler in former.items():
                if signal.getsignal(number) is notice:
                    signal.signal(number, handler)
