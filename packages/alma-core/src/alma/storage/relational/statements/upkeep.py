"""The statements of figures, export, verification, purging and re-embedding."""

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, Text, delete, func, select
from sqlalchemy.sql import ClauseElement

from alma.storage.relational import tables
from alma.storage.relational.copying import COPIED
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
    USAGE,
    VECTOR,
    ZERO,
    given,
    given_in,
    ignoring,
    ignoring_from,
    in_journal,
    inserting,
    number,
    optional,
    replacing,
    rows_given,
    total,
)

_m, _p, _v, _u = MEMORY.c, PASSAGE.c, VECTOR.c, USAGE.c


def upkeep_statements() -> dict[str, ClauseElement]:
    """Statements of opening, figures, lists and purges."""
    return {**_values(), **_figures(), **_lists(), **_purged()}


def rare_statements() -> dict[str, ClauseElement]:
    """Statements of export, verification and re-embedding, which SQLite's sessions compile when they first run one."""
    return {**_exported(), **_verified(), **_next_vectors()}


def _values() -> dict[str, ClauseElement]:
    return {
        "projects": sa.select(PROJECT.c.row, PROJECT.c.name).order_by(PROJECT.c.row),
        "project_ends": sa.select(PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq).where(
            PROJECT.c.row == number("project")
        ),
        "store_put": replacing(STORE, "key"),
        "store_delete": sa.delete(STORE).where(STORE.c.key == given("of_key")),
    }


def _figures() -> dict[str, ClauseElement]:
    """What there is, counted."""
    of_project, is_here = _m.project == given("project"), _m.archived_at.is_(None)
    used = tuple(sa.func.coalesce(column, ZERO) for column in (_u.used, _u.thumbs_up, _u.thumbs_down))
    shown = tuple(sa.func.coalesce(sa.func.sum(column), ZERO) for column in (_u.used, _u.ignored, _u.thumbs_up, _u.thumbs_down))
    length, none = sa.func.length, ZERO
    of_passages, of_vectors = (table.c.project == given("project") for table in (PASSAGE, VECTOR))
    of_journal = in_journal()
    known_since = sa.case((_m.seen_at < _m.created_at, _m.seen_at), else_=_m.created_at)
    day, journal_day = known_since.op("/")(given("a_day")), JOURNAL.c.at.op("/")(given("a_day"))
    return {
        "passages": sa.select(
            _p.row, _p.project, _p.memory, _p.position, _p.time, _p.is_own, _p.speaker, _p.text, _p.keywords
        ).where(_p.row.in_(rows_given())),
        "growth": sa.select(
            *(_m.partition, day.label("day"), sa.func.count()),
            *(sa.func.coalesce(sa.func.sum(column), ZERO) for column in (_m.trials, _m.successes)),
        )
        .where(of_project, is_here)
        .group_by(_m.partition, sa.literal_column("day"))
        .order_by(sa.literal_column("day"), _m.partition),
        "activity": sa.select(JOURNAL.c.operation, journal_day.label("day"), sa.func.count())
        .where(of_journal)
        .group_by(JOURNAL.c.operation, sa.literal_column("day"))
        .order_by(sa.literal_column("day"), JOURNAL.c.operation),
        "journal_newest": sa.select(
            *(JOURNAL.c.seq, JOURNAL.c.at, JOURNAL.c.actor, JOURNAL.c.operation, JOURNAL.c.payload.is_(None))
        )
        .where(of_journal)
        .order_by(JOURNAL.c.place.desc())
        .limit(number("most"))
        .offset(ZERO),
        "telling": sa.select(_m.row)
        .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
        .where(of_project, is_here)
        .order_by(
            (used[0] + used[1] - used[2]).desc(), sa.func.coalesce(_m.trials, none).desc(), _m.seen_at.desc(), _m.row.desc()
        )
        .limit(number("most"))
        .offset(ZERO),
        "usage_totals": sa.select(sa.func.count(_u.memory), *shown, sa.func.count(sa.func.nullif(_u.used, none)))
        .select_from(USAGE.join(MEMORY, _m.row == _u.memory))
        .where(of_project, is_here),
        "archived_count": sa.select(sa.func.count()).where(of_project, _m.archived_at.is_not(None)),
        "passage_size": sa.select(sa.func.count(), total(length(_p.text) + length(_p.keywords))).where(of_passages),
        "vector_size": sa.select(sa.func.count(), total(length(_v.vector))).where(of_vectors),
        "journal_size": sa.select(
            sa.func.count(), total(length(JOURNAL.c.payload)), sa.func.count() - sa.func.count(JOURNAL.c.payload)
        ).where(of_journal),
    }


def _exported() -> dict[str, ClauseElement]:
    is_of_all = number("is_of_all") == ONE
    mine = sa.and_(_m.project == number("project"), sa.or_(is_of_all, _m.partition.in_(rows_given("partitions"))))
    records = sa.and_(RECORD.c.project == number("project"), RECORD.c.kind.not_in(given_in("left_out")))
    counted = {
        "memories": sa.select(sa.func.count()).select_from(MEMORY).where(mine),
        "archived": sa.select(sa.func.count()).select_from(MEMORY).where(mine, _m.archived_at.is_not(None)),
        "records": sa.select(sa.func.count()).select_from(RECORD).where(records),
    }
    return {
        "export_counts": sa.select(*(count.scalar_subquery().label(name) for name, count in counted.items())),
        "export_numbers": sa.select(_m.row).where(mine).order_by(_m.row),
        "memory_by_row": sa.select(MEMORY).where(_m.row == number("row")),
    }


def _lists() -> dict[str, ClauseElement]:
    listed = sa.select(_m.row).where(
        _m.project == number("project"),
        _m.archived_at.is_(None),
        _m.partition.in_(rows_given()),
        sa.or_(optional("since", sa.BigInteger()).is_(None), _m.created_at >= number("since")),
    )
    return {
        "listed_oldest": listed.order_by(_m.created_at, _m.row).limit(number("limit")).offset(ZERO),
        "listed_newest": listed.order_by(_m.created_at.desc(), _m.row.desc()).limit(number("limit")).offset(ZERO),
    }


def _purged() -> dict[str, ClauseElement]:
    outcomes = MEMORY.join(PARTITION, PARTITION.c.row == _m.partition)
    is_outcome = PARTITION.c.kind == sa.literal_column("'outcome'")
    used = sa.select(_m.partition).where(_m.project == number("project"))
    return {
        "partitions_unused": sa.select(PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
            PARTITION.c.project == number("project"), PARTITION.c.row.not_in(used)
        ),
        "partition_delete": sa.delete(PARTITION).where(PARTITION.c.row == number("of_row")),
        "outcome_bodies": sa.select(_m.project, _m.id, _m.body).select_from(outcomes).where(is_outcome),
        "outcome_bodies_in": sa.select(_m.id, _m.partition, _m.body)
        .select_from(outcomes)
        .where(PARTITION.c.project == number("project"), is_outcome),
    }


def _verified() -> dict[str, ClauseElement]:
    is_used = PARTITION.c.row.in_(sa.select(_m.partition).where(_m.project == number("project")))
    return {
        "removed_counts": sa.select(REMOVED.c.seq, sa.func.count())
        .where(REMOVED.c.project == number("project"))
        .group_by(REMOVED.c.seq),
        "partitions_used": sa.select(
            PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind, is_used.label("is_used")
        ).where(PARTITION.c.project == number("project")),
        "vector_rows": sa.select(_v.row, _v.text_hash, _v.embedder, _v.vector, _v.checksum).where(
            _v.project == number("project")
        ),
    }


def _next_vectors() -> dict[str, ClauseElement]:
    """Vectors of another embedder than the one that serves."""
    texts = sa.select(_p.project, _p.text_hash).distinct().where(_p.text_hash.is_not(None)).subquery("texts")
    has_vector = sa.exists().where(
        _v.project == texts.c.project, _v.text_hash == texts.c.text_hash, _v.embedder == number("embedder")
    )
    is_missing = ~sa.exists().where(
        _v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == number("embedder")
    ).correlate(PASSAGE)
    made = sa.select(
        _p.project,
        _p.text_hash,
        optional("embedder", sa.BigInteger()),
        optional("vector", sa.LargeBinary()),
        optional("checksum", sa.LargeBinary()),
    ).where(_p.row == number("row"), _p.text_hash == given("text_hash"))
    columns = ("project", "text_hash", "embedder", "vector", "checksum")
    return {
        "texts_missing": sa.select(_p.row, _p.project, _p.memory, _p.position, _p.text, _p.text_hash)
        .where(_p.text_hash.is_not(None), _p.row > number("after"), is_missing)
        .order_by(_p.row)
        .limit(number("limit"))
        .offset(ZERO),
        "texts_count": sa.select(sa.func.count()).select_from(texts),
        "texts_made": sa.select(sa.func.count()).select_from(texts).where(has_vector),
        "vector_put": ignoring_from(VECTOR, columns, made),
        "vector_put_compared": ignoring(VECTOR, "row"),
        "vector_left_over": sa.select(_v.row)
        .where(_v.row > number("after"), _v.embedder.not_in(rows_given("numbers")))
        .order_by(_v.row)
        .limit(number("limit"))
        .offset(ZERO),
        "vector_delete": sa.delete(VECTOR).where(_v.row == number("of_row")),
    }


def copying_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    found: dict[str, ClauseElement] = {}
    for name in COPIED:
        table = tables.metadata.tables[name]
        found[f"copy_{name}"] = select(table).order_by(*table.primary_key.columns)
        found[f"copied_{name}"] = inserting(table)
        found[f"copied_count_{name}"] = select(func.count()).select_from(table)
    return found


_ROW = BigInteger().with_variant(Integer(), "sqlite")

text_metadata = MetaData()

WORD = Table(
    "word",
    text_metadata,
    Column("project", _ROW, primary_key=True),
    Column("stem", Text().with_variant(Text(collation="C"), "postgresql"), primary_key=True),
    Column("memory", _ROW, primary_key=True, index=True),
    Column("own", Integer, nullable=False),
    Column("other", Integer, nullable=False),
)


def text_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    return {
        "word_insert": inserting(WORD),
        "words_clear": delete(WORD).where(WORD.c.project == number("of_project")),
        "words_delete": delete(WORD).where(WORD.c.project == number("of_project"), WORD.c.memory == number("of_memory")),
        "word_lists": select(WORD.c.stem, WORD.c.memory, WORD.c.own, WORD.c.other)
        .where(WORD.c.project == number("project"), WORD.c.stem.in_(given_in("stems")))
        .order_by(WORD.c.stem, WORD.c.memory),
    }
