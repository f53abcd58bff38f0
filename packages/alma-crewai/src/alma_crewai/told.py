"""What an agent did, in words that can be compared from one run to the next."""

import json
import re
from collections.abc import Iterable, Mapping

from alma.text import one_line, shortened
from alma.types import Step

CALL_CHARS = 300
STRATEGY_CHARS = 600

_SAID = re.compile(r"^\s*\**\s*strategy\s*\**\s*:\s*\**\s*(.+?)\s*\**\s*$", re.IGNORECASE | re.MULTILINE)


def call(tool: str, arguments: object) -> str:
    """A call of a tool as one line: `deploy(target="staging")`."""
    if isinstance(arguments, Mapping):
        inside = ", ".join(f"{name}={_value(value)}" for name, value in arguments.items())
    else:
        inside = "" if arguments is None else str(arguments)
    return shortened(f"{one_line(tool)}({one_line(inside)})", CALL_CHARS)


def strategy(answer: str, steps: Iterable[Step]) -> str | None:
    """The way that was taken: the last line "Strategy: …" of the answer, else the distinct calls of tools in order, else unknown."""
    said = _SAID.findall(answer)
    if said:
        return shortened(one_line(said[-1]), STRATEGY_CHARS)
    calls = dict.fromkeys(step.action for step in steps)
    return shortened(", then ".join(calls), STRATEGY_CHARS) or None


def _value(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
