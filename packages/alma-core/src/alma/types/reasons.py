"""Recorded errors. Errors that differ only in varying parts (`alma.text.cleaned`) share one text, which keeps the parts that did not
vary."""

from functools import lru_cache

from alma.text import cleaned, varying_parts


@lru_cache(maxsize=2_048)
def skeleton(kept: str) -> str:
    """Returns the common form of errors that differ only in varying parts: `cleaned`, cached by text."""
    return cleaned(kept)


def kept_text(error: str, limit: int) -> str:
    """Returns the error as it is stored: on one line, with its numbers, paths, ids and times as they are, as far as `limit` characters
    allow.

    Beyond the limit, the longest of these are replaced by the name of their kind. Any text that `joined` makes of it is within the limit
    too.
    """
    parts = _cut(varying_parts(error), limit)
    excess = sum(_most(part) for part in parts) - limit
    for place in sorted(range(len(parts)), key=lambda place: -_most(parts[place])):
        kind = parts[place][1]
        if excess <= 0:
            break
        if kind:
            excess -= _most(parts[place]) - len(kind)
            parts[place] = kind, kind
    return "".join(text for text, _ in parts).strip()


def joined(one: str, other: str) -> str:
    """Returns one text for two that differ only in varying parts. Parts that differ are replaced by their kind, equal ones stay.

    The order, and how often a text is joined, make no difference.
    """
    if one == other:
        return one
    pairs = zip(varying_parts(one), varying_parts(other), strict=False)
    return "".join(text if text == other_text else kind for (text, kind), (other_text, _) in pairs)


def _cut(parts: list[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """Returns as many parts as fit when each varying part is replaced by its kind; the last text is cut."""
    kept: list[tuple[str, str]] = []
    for text, kind in parts:
        size = len(kind or text)
        if size > limit:
            return kept if kind else [*kept, (text[:limit], "")]
        kept.append((text, kind))
        limit -= size
    return kept


def _most(part: tuple[str, str]) -> int:
    """Returns the greater number of characters that a part takes: as it is, or as its kind."""
    return max(map(len, part))
