"""Stored text is shown, never obeyed."""

import io

from rich.console import Console

from alma_cli.output import printable, table


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31mred\x07\x9b\ud800 b\n\tc") == "a\ufffd[31mred\ufffd\ufffd\ufffd b\n\tc"


def test_characters_that_turn_the_direction_of_writing_never_reach_the_terminal() -> None:
    assert printable("a\u202eb\u2066c\u200bd\r👩\u200d💻") == "a\ufffdb\ufffdc\ufffdd\ufffd👩\u200d💻"


def test_a_table_takes_markup_as_text() -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(table(("what",), [("[bold red]:smile:[/]",)], title="[b]t[/b]"))

    assert "[bold red]:smile:[/]" in out.getvalue()
    assert "[b]t[/b]" in out.getvalue()
