"""What a server process logs is one line a record."""

import logging

from alma_access.serving.logs import LONGEST, OneLine


def formatted(message: str, error: Exception | None = None) -> str:
    record = logging.LogRecord("mcp", logging.WARNING, "file.py", 1, message, None, None)
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
    return OneLine().format(record)


def test_an_exception_is_its_name_and_message() -> None:
    said = formatted("the handler raised", ValueError("no such prompt"))
    assert said == "alma: warning: the handler raised: ValueError: no such prompt"


def test_what_a_client_sent_forges_no_line_and_moves_no_cursor() -> None:
    said = formatted("Invalid Host header: a\nalma: error: all is lost\r\x1b[2J\u202e")
    assert said.isprintable()
    assert said.count("\n") == 0


def test_a_long_record_is_cut() -> None:
    assert len(formatted("x" * 10_000)) == LONGEST
