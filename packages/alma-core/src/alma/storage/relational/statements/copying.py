"""The statements of `copying.py`: every table as it is."""

from sqlalchemy import func, select
from sqlalchemy.sql import ClauseElement

from alma.storage.relational import tables
from alma.storage.relational.copying import COPIED
from alma.storage.relational.statements.pieces import inserting


def copying_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    found: dict[str, ClauseElement] = {}
    for name in COPIED:
        table = tables.metadata.tables[name]
        found[f"copy_{name}"] = select(table).order_by(*table.primary_key.columns)
        found[f"copied_{name}"] = inserting(table)
        found[f"copied_count_{name}"] = select(func.count()).select_from(table)
    return found
