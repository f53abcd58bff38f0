"""Stored text is shown, never obeyed."""

import io
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from alma_cli.output import printable, table

if TYPE_CHECKING:
    from rich.table import Table


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31mred\x07\x9b\ud800 b\n\tc") == "a\ufffd[31mred\ufffd\ufffd\ufffd b\n\tc"


def test_characters_that_turn_the_direction_of_writing_never_reach_the_terminal() -> None:
    assert printable("a\u202eb\u2066c\u200bd\r👩\u200d💻") == "a\ufffdb\ufffdc\ufffdd\ufffd👩\u200d💻"


def test_a_table_takes_markup_as_text() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(table(("what",), [("[bold red]:smile:[/]",)], title="[b]t[/b]"))

    assert "[bold red]:smile:[/]" in out.getvalue()
    assert "[b]t[/b]" in out.getvalue()


def lines_of(made: "Table", width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(made)
    return out.getvalue().splitlines()


WORDS = st.lists(st.text("abcdefgh-äß日本語", min_size=1, max_size=18), min_size=1, max_size=8).map(" ".join)
ROW = st.tuples(WORDS, st.just("0198c5b8-7d1e-7cc3-98a4-3f0c9d2b6a11"), WORDS, st.integers(0, 10**6).map(str))


@given(st.lists(ROW, min_size=1, max_size=4), st.integers(40, 160))
def test_no_word_and_no_figure_is_broken_in_a_terminal_of_any_width(rows: list[tuple[str, ...]], width: int) -> None:
    shown = lines_of(table(("what", "id", "owner", "tries"), rows, title="All", right=("tries",)), width)

    assert max(map(cell_len, shown)) <= width
    held = {word.rstrip(";") for line in shown for word in line.split()}
    assert {word.rstrip(";") for row in rows for cell in row for word in cell.split()} <= held


def test_a_table_that_has_no_room_is_one_paragraph_a_row_with_the_names_of_its_columns() -> None:
    made = table(("way", "went", "0 ½ 1"), [("canary\n  for deployments", "4 of 4", "--[=o")], whole=("went", "0 ½ 1"))

    assert lines_of(made, 60)[1].split() == ["way", "went", "0", "½", "1"]
    assert lines_of(made, 20) == ["", "canary", "  for deployments", "  went: 4 of 4"]
