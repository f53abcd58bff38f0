"""Compiles statements: the usual ones ahead of time, the others when they are first run.

`python -m alma.storage.sqlite.compiling` writes `compiled.py`, so that hardly a process pays for building statements or for importing SQLModel. A
test holds the two together.
"""

from functools import cache
from pathlib import Path

from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements import statements, usual_statements


@cache
def compiled_statements() -> dict[str, str]:
    """The text of each statement by its name."""
    return {name: _compile(statement) for name, statement in statements().items()}


def compile_statements() -> str:
    """The text of `compiled.py`."""
    lines = [
        '"""Made by `python -m alma.storage.sqlite.compiling` from `alma.storage.relational.statements`. Do not edit."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "",
        "STATEMENTS = {",
    ]
    lines += [f"    {name!r}: {_compile(statement)!r}," for name, statement in usual_statements().items()]
    return "\n".join([*lines, "}", ""])


def _compile(statement: ClauseElement) -> str:
    return " ".join(str(statement.compile(dialect=sqlite.dialect(paramstyle="named"))).split())


if __name__ == "__main__":
    Path(__file__).with_name("compiled.py").write_text(compile_statements(), encoding="utf-8")
