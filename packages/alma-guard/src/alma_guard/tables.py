"""Secrets in tables: the cells under a heading that names one, in Markdown, in what a database prints, in CSV."""

from collections.abc import Iterator

from alma_guard.names import ASSIGNED_LEAST, is_secret, kind_of

HEADINGS = ("password", "passwd", "pwd", "secret", "token")
"""One of these is in every such heading."""

_SEPARATORS = "|\t;,"
_AROUND_CELL = " \t\"'`*\r"
_RULE = frozenset("-+|=: ")
_LONGEST_NAME = 24


def tabled(text: str) -> Iterator[tuple[int, int, str]]:
    """Returns where such cells begin and end, and their kinds."""
    start = size = 0
    separator, kinds = "|", dict[int, str]()
    for line in text.split("\n"):
        if kinds and line.count(separator) == size:
            yield from _secrets(line.split(separator), kinds, start)
        elif not (kinds and _RULE.issuperset(line)):
            separator = next((one for one in _SEPARATORS if one in line), "|")
            size, kinds = line.count(separator), _kinds(line, separator)
        start += len(line) + 1


def _kinds(line: str, separator: str) -> dict[int, str]:
    """Returns the kinds of secrets that a line names in cells of its own, by column."""
    low = line.lower()
    if separator not in line or not any(map(low.__contains__, HEADINGS)):
        return {}
    names = [name.strip(_AROUND_CELL) for name in line.split(separator)]
    is_heading = (
        sum(map(bool, names)) > 1 if separator == "|" else all(names) and not line[0].isspace()
    )  # not the arguments of a call
    if not is_heading or any(len(name) > _LONGEST_NAME or name.count(" ") > 1 for name in names):
        return {}
    return {column: kind for column, name in enumerate(names) if (kind := kind_of(name)) and kind != "bare"}


def _secrets(cells: list[str], kinds: dict[int, str], start: int) -> Iterator[tuple[int, int, str]]:
    for column, cell in enumerate(cells):
        value, kind = cell.strip(_AROUND_CELL), kinds.get(column)
        if kind is not None and " " not in value and is_secret(value, kind, ASSIGNED_LEAST[kind]):
            begin = start + cell.index(value)
            yield begin, begin + len(value), kind
        start += len(cell) + 1
