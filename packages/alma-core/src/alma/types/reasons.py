"""Errors as they are recorded: one text for all that differ in what varies alone (`alma.text.cleaned`), in which stands what did not vary."""

from functools import lru_cache

from alma.text import cleaned, varying_parts


@lru_cache(maxsize=2_048)
def skeleton(kept: str) -> str:
    """What two errors have in common that differ in what varies alone: `cleaned`, made once for each text that is kept."""
    return cleaned(kept)


def kept_text(error: str, limit: int) -> str:
    """The error as it is kept: on one line, with its numbers, paths, ids and times as they are, as far as `limit` characters allow.

    Where they do not, the longest are named by their kind. Whatever `joined` makes of the text is within the limit too.
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
    """The one text for two that differ in what varies alone: what differs between them is named by its kind, what is equal stays.

    The order, and how often a text is joined, make no difference.
    """
    if one == other:
        return one
    pairs = zip(varying_parts(one), varying_parts(other), strict=False)
    return "".join(text if text == other_text else kind for (text, kind), (other_text, _) in pairs)


def _cut(parts: list[tuple[str, str]], limit: int) -> list[tuple[str, str]]:
    """As many parts as fit with the kinds in place of what varies, the last text cut."""
    kept: list[tuple[str, str]] = []
    for text, kind in parts:
        size = len(kind or text)
        if size > limit:
            return kept if kind else [*kept, (text[:limit], "")]
        kept.append((text, kind))
        limit -= size
    return kept


def _most(part: tuple[str, str]) -> int:
    """The characters that a part takes, as it is or as its kind."""
    return max(map(len, part))
