"""The statements of export, verification, purging and re-embedding."""

from typing import Any

from sqlalchemy import BigInteger, LargeBinary, Select, and_, delete, exists, func, literal_column, or_, select
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.pieces import (
    JOURNAL,
    MEMORY,
    ONE,
    PARTITION,
    PASSAGE,
    PROJECT,
    RECORD,
    REMOVED,
    STORE,
    VECTOR,
    ZERO,
    given,
    given_in,
    ignoring,
    ignoring_from,
    in_journal,
    number,
    optional,
    replacing,
    rows_given,
)

_m, _p, _v = MEMORY.c, PASSAGE.c, VECTOR.c


def upkeep_statements() -> dict[str, ClauseElement]:
    """Statements of calls that a program makes now and then."""
    return {**_values(), **_exported(), **_verified(), **_of_strategies(), **_next_vectors()}


def _values() -> dict[str, ClauseElement]:
    return {
        "projects": select(PROJECT.c.row, PROJECT.c.name).order_by(PROJECT.c.row),
        "project_ends": select(PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq).where(
            PROJECT.c.row == number("project")
        ),
        "store_put": replacing(STORE, "key"),
        "store_delete": delete(STORE).where(STORE.c.key == given("of_key")),
    }


def _exported() -> dict[str, ClauseElement]:
    is_of_all = number("is_of_all") == ONE
    mine = and_(_m.project == number("project"), or_(is_of_all, _m.partition.in_(rows_given("partitions"))))
    records = and_(RECORD.c.project == number("project"), RECORD.c.kind.not_in(given_in("left_out")))
    counted = {
        "memories": select(func.count()).select_from(MEMORY).where(mine),
        "archived": select(func.count()).select_from(MEMORY).where(mine, _m.archived_at.is_not(None)),
        "records": select(func.count()).select_from(RECORD).where(records),
    }
    return {
        "export_counts": select(*(count.scalar_subquery().label(name) for name, count in counted.items())),
        "export_numbers": select(_m.row).where(mine).order_by(_m.row),
        "memory_by_row": select(MEMORY).where(_m.row == number("row")),
        "listed_oldest": _listed().order_by(_m.created_at, _m.row).limit(number("limit")).offset(ZERO),
        "listed_newest": _listed().order_by(_m.created_at.desc(), _m.row.desc()).limit(number("limit")).offset(ZERO),
    }


def _listed() -> Select[Any]:
    return select(_m.row).where(
        _m.project == number("project"),
        _m.archived_at.is_(None),
        _m.partition.in_(rows_given()),
        or_(optional("since", BigInteger()).is_(None), _m.created_at >= number("since")),
    )


def _verified() -> dict[str, ClauseElement]:
    is_used = PARTITION.c.row.in_(select(_m.partition).where(_m.project == number("project")))
    return {
        "journal_operation": select(JOURNAL).where(in_journal(), JOURNAL.c.operation == given("operation")),
        "removed_counts": select(REMOVED.c.seq, func.count())
        .where(REMOVED.c.project == number("project"))
        .group_by(REMOVED.c.seq),
        "partitions_unused": select(PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
            PARTITION.c.project == number("project"),
            PARTITION.c.row.not_in(select(_m.partition).where(_m.project == number("project"))),
        ),
        "partition_delete": delete(PARTITION).where(PARTITION.c.row == number("of_row")),
        "partitions_used": select(
            PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind, is_used.label("is_used")
        ).where(PARTITION.c.project == number("project")),
        "vector_rows": select(_v.row, _v.text_hash, _v.embedder, _v.vector, _v.checksum).where(_v.project == number("project")),
    }


def _of_strategies() -> dict[str, ClauseElement]:
    """Outcomes, which name strategies."""
    outcomes = MEMORY.join(PARTITION, PARTITION.c.row == _m.partition)
    is_outcome = PARTITION.c.kind == literal_column("'outcome'")
    return {
        "outcome_bodies": select(_m.project, _m.id, _m.body).select_from(outcomes).where(is_outcome),
        "outcome_bodies_in": select(_m.id, _m.partition, _m.body)
        .select_from(outcomes)
        .where(PARTITION.c.project == number("project"), is_outcome),
    }


def _next_vectors() -> dict[str, ClauseElement]:
    """Vectors of another embedder than the one that serves."""
    texts = select(_p.project, _p.text_hash).distinct().where(_p.text_hash.is_not(None)).subquery("texts")
    has_vector = exists().where(
        _v.project == texts.c.project, _v.text_hash == texts.c.text_hash, _v.embedder == number("embedder")
    )
    is_missing = ~exists().where(
        _v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == number("embedder")
    ).correlate(PASSAGE)
    made = select(
        _p.project,
        _p.text_hash,
        optional("embedder", BigInteger()),
        optional("vector", LargeBinary()),
        optional("checksum", LargeBinary()),
    ).where(_p.row == number("row"), _p.text_hash == given("text_hash"))
    columns = ("project", "text_hash", "embedder", "vector", "checksum")
    return {
        "texts_missing": select(_p.row, _p.project, _p.memory, _p.position, _p.text, _p.text_hash)
        .where(_p.text_hash.is_not(None), _p.row > number("after"), is_missing)
        .order_by(_p.row)
        .limit(number("limit"))
        .offset(ZERO),
        "texts_count": select(func.count()).select_from(texts),
        "texts_made": select(func.count()).select_from(texts).where(has_vector),
        "vector_put": ignoring_from(VECTOR, columns, made),
        "vector_put_compared": ignoring(VECTOR, "row"),
        "vector_known": select(_v.row).where(
            _v.project == number("project"), _v.text_hash == given("text_hash"), _v.embedder == number("embedder")
        ),
        "vector_left_over": select(_v.row)
        .where(_v.row > number("after"), _v.embedder.not_in(rows_given("numbers")))
        .order_by(_v.row)
        .limit(number("limit"))
        .offset(ZERO),
        "vector_delete": delete(VECTOR).where(_v.row == number("of_row")),
    }
