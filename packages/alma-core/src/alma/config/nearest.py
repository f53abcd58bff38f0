"""Suggests the known name nearest to an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(given: object, known: Iterable[str]) -> str:
    """Returns `, did you mean 'x'?` for the nearest known name, or an empty string when none is near. Ignores case."""
    if not isinstance(given, str):
        return ""
    by_folded = {name.casefold(): name for name in known}
    near = get_close_matches(given.strip().casefold()[:100], by_folded, n=1)
    return f", did you mean {by_folded[near[0]]!r}?" if near else ""
