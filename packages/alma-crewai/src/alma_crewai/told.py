"""What an agent did, in words that can be compared from one run to the next."""

import json
import re
from collections.abc import Iterable, Mapping

from alma.text import masked, one_line, shortened
from alma.types import Step

CALL_CHARS = 300
VALUE_CHARS = 100
STRATEGY_CHARS = 600

_SAID = re.compile(r"^\s*\**\s*strategy\s*\**\s*:\s*\**\s*(.+?)\s*\**\s*$", re.IGNORECASE | re.MULTILINE)


def call(tool: str, arguments: object) -> str:
    """A call of a tool as one line: `deploy(target="staging")`.

    Long values are cut, and what is named like a secret (`password`, `token`, `api_key`) is told as `"***"`. What cannot be read as arguments
    is told as `…`: there is no knowing what it holds.
    """
    given = _read(arguments)
    if given is None:
        return shortened(f"{one_line(tool)}(…)", CALL_CHARS)
    inside = ", ".join(f"{name}={shortened(_value(name, value), VALUE_CHARS)}" for name, value in given.items())
    return shortened(f"{one_line(tool)}({one_line(inside)})", CALL_CHARS)


def strategy(answer: str, steps: Iterable[Step]) -> str | None:
    """The way that was taken: the last line "Strategy: …" of the answer, else the distinct calls of tools in order, else unknown."""
    said = _SAID.findall(answer)
    if said:
        return shortened(one_line(said[-1]), STRATEGY_CHARS)
    calls = dict.fromkeys(step.action for step in steps)
    return shortened(", then ".join(calls), STRATEGY_CHARS) or None


def _read(arguments: object) -> Mapping[str, object] | None:
    """The arguments by name; CrewAI hands over some as the model wrote them."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, Mapping) else None if arguments else {}


def _value(name: str, value: object) -> str:
    try:
        return json.dumps(masked({name: value})[name], ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
