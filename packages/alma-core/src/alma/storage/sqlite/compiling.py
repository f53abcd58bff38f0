"""Compiles statements: the usual ones ahead of time, the others when they are first run.

`python -m alma.storage.sqlite.compiling` writes `compiled.json`, so that hardly a process pays for building statements or for importing SQLModel. A
test holds the two together.
"""

import json
from functools import cache
from pathlib import Path

from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements import STATEMENTS, USUAL_STATEMENTS


@cache
def compiled_statements() -> dict[str, str]:
    """The text of each statement by its name."""
    return {name: _compile(statement) for name, statement in STATEMENTS.items()}


def compile_statements() -> str:
    """The text of `compiled.json`."""
    return json.dumps({name: _compile(statement) for name, statement in USUAL_STATEMENTS.items()}, indent=1) + "\n"


def _compile(statement: ClauseElement) -> str:
    """Returns the text of a statement, without the offset that SQLAlchemy gives each limit: a parameter without a name of ours."""
    text = " ".join(str(statement.compile(dialect=sqlite.dialect(paramstyle="named"))).split()).replace(" OFFSET :param_1", "")
    assert ":param_" not in text, text
    return text


if __name__ == "__main__":
    Path(__file__).with_name("compiled.json").write_text(compile_statements(), encoding="utf-8")
