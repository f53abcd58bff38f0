"""Statements are written once, for all schemas."""

from alma_postgres.compiling import Texts


def test_a_statement_is_the_same_in_every_schema() -> None:
    one, other = Texts("one"), Texts("other")
    assert "one.project" in one["project_begin"]
    assert one["project_begin"].replace("one.", "other.") == other["project_begin"]
