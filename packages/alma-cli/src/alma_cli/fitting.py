"""Tables for terminals of any width."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

LONGEST_WORD = 36
"""Length of an id, which cannot be copied once it is broken. Longer words, such as paths, may be broken."""
_LEAST = 16
"""Characters in a line of a text column: narrower columns are hard to read."""


class FittingTable(Table):
    """Table that breaks no word of up to 36 characters and no figure. Where the terminal is too narrow for that, each row is a paragraph:
    its first cell, then the others with the names of their columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - 2 * len(self.columns)
        needed = [(_least_width(column), _full_width(column)) for column in self.columns]
        spare = room - sum(least for least, _ in needed)
        if spare < 0:
            for line in self._paragraphs():
                yield from _wrapped(line, console, options.max_width)
            return
        for column, width in zip(self.columns, _widths(needed, spare), strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)

    def _paragraphs(self) -> Iterator[str]:
        """Yields lines that may be longer than the terminal is wide."""
        if self.title:
            yield from ("", str(self.title))
        names = [str(column.header) for column in self.columns]
        for first, *others in zip(*(map(str, column.cells) for column in self.columns), strict=True):
            named = f"{names[0]} {first}" if self.columns[0].justify == "right" else first
            details = _details(names[1:], others).replace("\n", "\n  ")
            yield from ("", *f"{named}\n  {details}".rstrip().split("\n"))


def _wrapped(line: str, console: Console, width: int) -> Iterator[Text]:
    """Yields the line in parts that fit, each indented as the line is."""
    said = line.lstrip(" ")
    indent = " " * min(len(line) - len(said), width // 2)
    for part in Text(said).wrap(console, width - len(indent)) if said else [Text()]:
        part.rstrip()
        yield Text(indent).append_text(part)


def _details(names: Sequence[str], cells: Sequence[str]) -> str:
    """Returns cells with the names of their columns, those of several lines in lines of their own. The name of an only cell says nothing."""
    if len(cells) == 1:
        return cells[0]
    named = [f"{name}: {cell}" for name, cell in zip(names, cells, strict=True) if cell and name.strip("0½1 ")]
    short = "; ".join(cell for cell in named if "\n" not in cell)
    return "\n".join(filter(None, (short, *(cell for cell in named if "\n" in cell))))


def _widths(needed: Sequence[tuple[int, int]], spare: int) -> list[int]:
    """Returns the widths of columns, given the least and the full width of each: those that lack least are filled first."""
    widths = [least for least, _ in needed]
    places = sorted(range(len(needed)), key=lambda place: needed[place][1] - needed[place][0])
    for left, place in zip(range(len(places), 0, -1), places, strict=True):
        added = min(needed[place][1] - widths[place], spare // left)
        widths[place] += added
        spare -= added
    return widths


def _least_width(column: Column) -> int:
    """Returns the width below which the column would break a word or a figure."""
    full = _full_width(column)
    if column.no_wrap:
        return full
    words = (cell_len(word) for text in _texts(column) for word in text.split())
    return min(full, max(_LEAST, min(max(words, default=0), LONGEST_WORD)))


def _full_width(column: Column) -> int:
    return max(cell_len(line) for text in _texts(column) for line in text.split("\n"))


def _texts(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]
