"""Describes how the arguments of a call differ from those of the failed call that it repairs."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from alma.text import shortened
from alma_integration.calls import clean_values, mask, type_of

ARGUMENT_CHARS = 20_000
"""A longer argument is not compared: secrets are looked for in the whole text."""
SIDE_CHARS = 48
CONTEXT_CHARS = 16
"""Lengths of the text that is quoted of each argument, and of its part before the first difference."""
MOST_ARGUMENTS = 3


def describe_difference(failed: Mapping[str, Any], repair: Mapping[str, Any], stored: Callable[[str], str]) -> str | None:
    """Returns the arguments that differ, `port=8123 instead of 80`; `None` if none does in what may be stored.

    Secrets are masked by name and replaced by `stored` before texts are compared and cut. Of a long text, the part that differs is quoted.
    """
    before, after = (dict(_rendered(arguments, stored)) for arguments in (failed, repair))
    names = [name for name in dict.fromkeys([*after, *before]) if after.get(name) != before.get(name)]
    return "; ".join(_change(name, before.get(name), after.get(name)) for name in names[:MOST_ARGUMENTS]) or None


def _rendered(arguments: Mapping[str, Any], stored: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yields the arguments as texts, each redacted by itself and together with its name, which may tell that it is a secret."""
    for name, value in clean_values(mask(arguments), stored).items():
        with suppress(TypeError, ValueError, RecursionError):  # no value of JSON
            text = json.dumps(value, default=type_of, ensure_ascii=False, sort_keys=True)
            if len(text) <= ARGUMENT_CHARS:
                yield str(name), stored(f"{name}={text}").removeprefix(f"{name}=")


def _change(name: str, before: str | None, after: str | None) -> str:
    if before is None or after is None:
        return f"with {name}={shortened(after, SIDE_CHARS)}" if after is not None else f"without {name}"
    return f"{name}={_quoted_part(after, before)} instead of {_quoted_part(before, after)}"


def _quoted_part(text: str, other: str) -> str:
    """Returns a text, or its part around the difference from another one if it is long."""
    if len(text) <= SIDE_CHARS:
        return text
    alike = next(
        (place for place, (one, another) in enumerate(zip(text, other, strict=False)) if one != another),
        min(len(text), len(other)),
    )
    start = max(alike - CONTEXT_CHARS, 0)
    start = max(text.rfind(" ", 0, start + 1) + 1, start - CONTEXT_CHARS) if start else 0
    return ("…" if start else "") + shortened(text[start:], SIDE_CHARS)
