"""Compiles all statements ahead of time: `python -m alma.storage.sqlite.compiling` writes `compiled.py`.

So no process pays for building the statements or for importing SQLModel. A test holds the two together.
"""

from pathlib import Path

from sqlalchemy.dialects import sqlite

from alma.storage.relational.statements import statements


def compile_statements() -> str:
    """The text of `compiled.py`."""
    dialect = sqlite.dialect(paramstyle="named")
    lines = [
        '"""Made by `python -m alma.storage.sqlite.compiling` from `alma.storage.relational.statements`. Do not edit."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "",
        "STATEMENTS = {",
    ]
    for name, statement in statements().items():
        lines.append(f"    {name!r}: {' '.join(str(statement.compile(dialect=dialect)).split())!r},")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    Path(__file__).with_name("compiled.py").write_text(compile_statements(), encoding="utf-8")
