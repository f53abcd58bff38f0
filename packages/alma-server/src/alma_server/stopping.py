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
        self.asked = asyncio.Event()

    @property
    def is_asked(self) -> bool:
        """True once the server was asked to end."""
        return self.asked.is_set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Notices SIGTERM and SIGINT within the block, beside who handles them already. Only the main thread can."""
        if current_thread() is not main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def notice(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.asked.set)
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
