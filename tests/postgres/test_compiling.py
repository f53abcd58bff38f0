"""Statements are written for SQLAlchemy once a process, whatever the number of stores and schemas."""

from pytest_mock import MockerFixture

from alma_postgres import compiling
from alma_postgres.compiling import Texts


def test_the_statements_are_made_once_for_all_schemas(mocker: MockerFixture) -> None:
    made = mocker.spy(compiling, "statements")
    one, other = Texts("one"), Texts("other")
    assert made.call_count <= 1
    assert "one.project" in one["project_begin"]
    assert one["project_begin"].replace("one.", "other.") == other["project_begin"]
