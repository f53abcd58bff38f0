"""The statements of `logical.py`: whole rows with their keys."""

from sqlalchemy import (
    delete,
    select,
    update,
)
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.pieces import (
    MEMORY,
    PARTITION,
    PASSAGE,
    RECORD,
    USAGE,
    given,
    updating,
    updating_rows,
)

_m, _p, _u = MEMORY.c, PASSAGE.c, USAGE.c


def logical_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    passages = select(PASSAGE, _m.id.label("owner")).select_from(PASSAGE.outerjoin(MEMORY, _m.row == _p.memory))
    usages = select(USAGE, _m.id.label("owner")).select_from(USAGE.join(MEMORY, _m.row == _u.memory))
    of_memory = (_m.project == given("project"), _m.id == given("memory_id"))
    record_key = [RECORD.c[name] == given(f"of_{name}") for name in ("project", "kind", "key")]
    return {
        "partition_of": select(PARTITION.c.project, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
            PARTITION.c.row == given("row")
        ),
        "memory_rows": select(MEMORY).where(_m.project == given("project")).order_by(_m.row),
        "memory_update": updating(MEMORY, "row", *(column.name for column in _m if column.name not in ("row", "project"))),
        "memory_delete": delete(MEMORY).where(_m.row == given("of_row")),
        "passage_rows": passages.where(_p.project == given("project")).order_by(_p.row),
        "passages_of": passages.where(*of_memory).order_by(_p.position),
        "passage_at": passages.where(*of_memory, _p.position == given("position")),
        "passage_update": updating_rows(
            PASSAGE, ("row",), *(column.name for column in _p if column.name not in ("row", "project"))
        ),
        "passage_delete": delete(PASSAGE).where(_p.row == given("of_row")),
        "usage_rows": usages.where(_m.project == given("project")).order_by(_u.memory),
        "usage_of": usages.where(*of_memory),
        "usage_delete": delete(USAGE).where(_u.memory == given("of_memory")),
        "record_rows": select(RECORD).where(RECORD.c.project == given("project")).order_by(RECORD.c.kind, RECORD.c.key),
        "record_row": select(RECORD).where(
            *(RECORD.c[name] == given(name) for name in ("project", "kind", "key")),
        ),
        "record_rewrite": update(RECORD)
        .values({name: given(name) for name in ("version", "body", "updated_at")})
        .where(*record_key),
        "record_delete": delete(RECORD).where(*record_key),
    }
