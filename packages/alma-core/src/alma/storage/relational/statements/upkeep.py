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


_of_project, _is_here = _m.project == given("project"), _m.archived_at.is_(None)
_used = tuple(sa.func.coalesce(column, ZERO) for column in (_u.used, _u.thumbs_up, _u.thumbs_down))
_shown = tuple(sa.func.coalesce(sa.func.sum(column), ZERO) for column in (_u.used, _u.ignored, _u.thumbs_up, _u.thumbs_down))
_of_passages, _of_vectors = (table.c.project == given("project") for table in (PASSAGE, VECTOR))
_of_journal = in_journal()
_known_since = sa.case((_m.seen_at < _m.created_at, _m.seen_at), else_=_m.created_at)
_day, _journal_day = _known_since.op("/")(given("a_day")), JOURNAL.c.at.op("/")(given("a_day"))
_listed = sa.select(_m.row).where(
    _m.project == number("project"),
    _m.archived_at.is_(None),
    _m.partition.in_(rows_given()),
    sa.or_(optional("since", sa.BigInteger()).is_(None), _m.created_at >= number("since")),
)
_outcomes = MEMORY.join(PARTITION, PARTITION.c.row == _m.partition)
_is_outcome = PARTITION.c.kind == sa.literal_column("'outcome'")
_used_partitions = sa.select(_m.partition).where(_m.project == number("project"))

UPKEEP_STATEMENTS: dict[str, ClauseElement] = {
    # Values and projects.
    "projects": sa.select(PROJECT.c.row, PROJECT.c.name).order_by(PROJECT.c.row),
    "project_ends": sa.select(PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq).where(
        PROJECT.c.row == number("project")
    ),
    "store_put": replacing(STORE, "key"),
    "store_delete": sa.delete(STORE).where(STORE.c.key == given("of_key")),
    # Figures: what there is, counted.
    "passages": sa.select(_p.row, _p.project, _p.memory, _p.position, _p.time, _p.is_own, _p.speaker, _p.text, _p.keywords).where(
        _p.row.in_(rows_given())
    ),
    "growth": sa.select(
        *(_m.partition, _day.label("day"), sa.func.count()),
        *(sa.func.coalesce(sa.func.sum(column), ZERO) for column in (_m.trials, _m.successes)),
    )
    .where(_of_project, _is_here)
    .group_by(_m.partition, sa.literal_column("day"))
    .order_by(sa.literal_column("day"), _m.partition),
    "activity": sa.select(JOURNAL.c.operation, _journal_day.label("day"), sa.func.count())
    .where(_of_journal)
    .group_by(JOURNAL.c.operation, sa.literal_column("day"))
    .order_by(sa.literal_column("day"), JOURNAL.c.operation),
    "journal_newest": sa.select(*(JOURNAL.c.seq, JOURNAL.c.at, JOURNAL.c.actor, JOURNAL.c.operation, JOURNAL.c.payload.is_(None)))
    .where(_of_journal)
    .order_by(JOURNAL.c.place.desc())
    .limit(number("most"))
    .offset(ZERO),
    "telling": sa.select(_m.row)
    .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
    .where(_of_project, _is_here)
    .order_by((_used[0] + _used[1] - _used[2]).desc(), sa.func.coalesce(_m.trials, ZERO).desc(), _m.seen_at.desc(), _m.row.desc())
    .limit(number("most"))
    .offset(ZERO),
    "usage_totals": sa.select(sa.func.count(_u.memory), *_shown, sa.func.count(sa.func.nullif(_u.used, ZERO)))
    .select_from(USAGE.join(MEMORY, _m.row == _u.memory))
    .where(_of_project, _is_here),
    "archived_count": sa.select(sa.func.count()).where(_of_project, _m.archived_at.is_not(None)),
    "passage_size": sa.select(sa.func.count(), total(sa.func.length(_p.text) + sa.func.length(_p.keywords))).where(_of_passages),
    "vector_size": sa.select(sa.func.count(), total(sa.func.length(_v.vector))).where(_of_vectors),
    "journal_size": sa.select(
        sa.func.count(), total(sa.func.length(JOURNAL.c.payload)), sa.func.count() - sa.func.count(JOURNAL.c.payload)
    ).where(_of_journal),
    # Lists.
    "listed_oldest": _listed.order_by(_m.created_at, _m.row).limit(number("limit")).offset(ZERO),
    "listed_newest": _listed.order_by(_m.created_at.desc(), _m.row.desc()).limit(number("limit")).offset(ZERO),
    # Purges.
    "partitions_unused": sa.select(PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
        PARTITION.c.project == number("project"), PARTITION.c.row.not_in(_used_partitions)
    ),
    "partition_delete": sa.delete(PARTITION).where(PARTITION.c.row == number("of_row")),
    "outcome_bodies": sa.select(_m.project, _m.id, _m.body).select_from(_outcomes).where(_is_outcome),
    "outcome_bodies_in": sa.select(_m.id, _m.partition, _m.body)
    .select_from(_outcomes)
    .where(PARTITION.c.project == number("project"), _is_outcome),
}
"""Those of opening, figures, lists and purges, by name."""

_is_of_all = number("is_of_all") == ONE
_mine = sa.and_(_m.project == number("project"), sa.or_(_is_of_all, _m.partition.in_(rows_given("partitions"))))
_records = sa.and_(RECORD.c.project == number("project"), RECORD.c.kind.not_in(given_in("left_out")))
_counted = {
    "memories": sa.select(sa.func.count()).select_from(MEMORY).where(_mine),
    "archived": sa.select(sa.func.count()).select_from(MEMORY).where(_mine, _m.archived_at.is_not(None)),
    "records": sa.select(sa.func.count()).select_from(RECORD).where(_records),
}
_is_used = PARTITION.c.row.in_(sa.select(_m.partition).where(_m.project == number("project")))
_texts = sa.select(_p.project, _p.text_hash).distinct().where(_p.text_hash.is_not(None)).subquery("texts")
_has_vector = sa.exists().where(
    _v.project == _texts.c.project, _v.text_hash == _texts.c.text_hash, _v.embedder == number("embedder")
)
_is_missing = ~sa.exists().where(
    _v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == number("embedder")
).correlate(PASSAGE)
_made = sa.select(
    _p.project,
    _p.text_hash,
    optional("embedder", sa.BigInteger()),
    optional("vector", sa.LargeBinary()),
    optional("checksum", sa.LargeBinary()),
).where(_p.row == number("row"), _p.text_hash == given("text_hash"))
_columns = ("project", "text_hash", "embedder", "vector", "checksum")

RARE_STATEMENTS: dict[str, ClauseElement] = {
    # Export.
    "export_counts": sa.select(*(count.scalar_subquery().label(name) for name, count in _counted.items())),
    "export_numbers": sa.select(_m.row).where(_mine).order_by(_m.row),
    "memory_by_row": sa.select(MEMORY).where(_m.row == number("row")),
    # Verification.
    "removed_counts": sa.select(REMOVED.c.seq, sa.func.count())
    .where(REMOVED.c.project == number("project"))
    .group_by(REMOVED.c.seq),
    "partitions_used": sa.select(
        PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind, _is_used.label("is_used")
    ).where(PARTITION.c.project == number("project")),
    "vector_rows": sa.select(_v.row, _v.text_hash, _v.embedder, _v.vector, _v.checksum).where(_v.project == number("project")),
    # Vectors of another embedder than the one that serves.
    "texts_missing": sa.select(_p.row, _p.project, _p.memory, _p.position, _p.text, _p.text_hash)
    .where(_p.text_hash.is_not(None), _p.row > number("after"), _is_missing)
    .order_by(_p.row)
    .limit(number("limit"))
    .offset(ZERO),
    "texts_count": sa.select(sa.func.count()).select_from(_texts),
    "texts_made": sa.select(sa.func.count()).select_from(_texts).where(_has_vector),
    "vector_put": ignoring_from(VECTOR, _columns, _made),
    "vector_put_compared": ignoring(VECTOR, "row"),
    "vector_left_over": sa.select(_v.row)
    .where(_v.row > number("after"), _v.embedder.not_in(rows_given("numbers")))
    .order_by(_v.row)
    .limit(number("limit"))
    .offset(ZERO),
    "vector_delete": sa.delete(VECTOR).where(_v.row == number("of_row")),
}
"""Those of export, verification and re-embedding, which SQLite's sessions compile when they first run one."""


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
