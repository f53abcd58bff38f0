"""The log of a server process: one line for each record, on standard error."""

import logging
import sys

LONGEST = 500


class OneLine(logging.Formatter):
    """Formats a record as one line of at most 500 characters. Of an exception it has the name and the message: what clients send can raise
    many, and hosts show or keep what a server says."""

    def format(self, record: logging.LogRecord) -> str:
        said = f"alma: {record.levelname.lower()}: {record.getMessage()}"
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            said += f": {type(error).__name__}: {error}"
        plain = "".join(each if each.isprintable() else " " for each in said)
        return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def log_in_lines() -> None:
    """Has warnings and errors of all libraries logged in lines, unless the process logs elsewhere already."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
