"""Every statement by its name, written over the tables once for all dialects."""

from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.main import MAIN_STATEMENTS
from alma.storage.relational.statements.upkeep import RARE_STATEMENTS, UPKEEP_STATEMENTS, copying_statements


def usual_statements() -> dict[str, ClauseElement]:
    """Those of calls that programs make all the time, and of short commands: SQLite's sessions have their text ahead of time."""
    return {**MAIN_STATEMENTS, **UPKEEP_STATEMENTS}


def statements() -> dict[str, ClauseElement]:
    """All of them. A session runs them by these names."""
    return {**usual_statements(), **RARE_STATEMENTS, **copying_statements()}
