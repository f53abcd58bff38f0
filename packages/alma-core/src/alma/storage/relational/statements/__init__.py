"""Every statement by its name, written over the tables once for all dialects."""

from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.copying import copying_statements
from alma.storage.relational.statements.main import main_statements
from alma.storage.relational.statements.upkeep import upkeep_statements


def statements() -> dict[str, ClauseElement]:
    """All of them. A session runs them by these names."""
    by_room = (main_statements, upkeep_statements, copying_statements)
    return {name: statement for made in by_room for name, statement in made().items()}
