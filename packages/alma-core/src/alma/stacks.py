"""Which functions a thread is in. An interrupt (Ctrl-C) between two instructions can end a block before it has left what it entered."""

from types import FrameType


def runs(block: FrameType, frame: FrameType | None) -> bool:
    """Returns True if a function is the one of the frame, or one of those that called it. `None` is the frame of a thread that has ended."""
    while frame is not None and frame is not block:
        frame = frame.f_back
    return frame is not None
