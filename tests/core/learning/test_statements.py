"""SQL statements and the keywords that a pattern names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.learning.statements import READ_CHARS, holds, keywords, statement


@pytest.mark.parametrize(
    ("pattern", "action", "expected"),
    [
        ("SELECT * in production queries", "select * from orders where id = 3", True),
        ("SELECT * in production queries", "SELECT count(*) FROM orders", False),
        ("UNION of large result sets", "SELECT id FROM a UNION SELECT id FROM b", True),
        ("UNION of large result sets", "SELECT id FROM a UNION ALL SELECT id FROM b", False),
        ("Sorting by ORDER BY RAND()", "SELECT id FROM quotes ORDER BY RAND() LIMIT 1", True),
        ("TRUNCATE TABLE in migrations", "truncate table users", True),
        ("Paginating with OFFSET", "SELECT id FROM users LIMIT 50", False),
    ],
)
def test_the_keywords_of_a_pattern_are_looked_for_as_they_stand(pattern: str, action: str, *, expected: bool) -> None:
    assert holds(statement(action) or "", keywords(pattern)) is expected


@pytest.mark.parametrize("text", ["Select a seat", "Update the account page", "truncate(text, 80)", "Delete the branch", ""])
def test_a_sentence_is_no_statement(text: str) -> None:
    assert statement(text) is None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    statement(text)
    keywords(text)


@pytest.mark.parametrize("piece", ["select ", "update x ", "with ", "grant ", "create a "])
def test_reading_a_long_text_takes_no_longer_than_its_beginning_does(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    assert statement(text) == statement(text[:READ_CHARS])
