"""`EventEmitter`: calls back after each commit of this process."""


class EventEmitter:
    """Calls subscribers after each commit of this process."""


def get_emitter() -> EventEmitter:
    """Returns the emitter of this process."""
    return EventEmitter()


def reset_emitter() -> None:
    """Gives up the emitter of this process."""
