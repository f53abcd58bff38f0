"""The statements of the hot paths, written over the tables, and their compiler.

`python -m alma.storage.sources` writes `compiled.py`, so that no process pays for building them or for importing SQLModel; a test holds the
two together.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import (
    Case,
    ColumnClause,
    Integer,
    and_,
    case,
    delete,
    func,
    literal_column,
    null,
    or_,
    select,
    union,
    union_all,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from alma.storage import tables
from alma.storage.evidence import RECOUNTED
from alma.storage.evidence_sources import evidence_sources
from alma.storage.pieces import (
    JOURNAL,
    MEMORY,
    PARTITION,
    PASSAGE,
    PROJECT,
    RECORD,
    REMOVED,
    STORE,
    TOUCHED,
    USAGE,
    VECTOR,
    embedder,
    given,
    given_in,
    in_journal,
    inserting,
    number,
    place,
    replacing,
    rows_given,
    rows_of,
    updating,
    updating_rows,
)
from alma.storage.text_table import OTHER_WEIGHT

_m, _p, _v, _u = MEMORY.c, PASSAGE.c, VECTOR.c, USAGE.c
_LOGGED = tuple(column for column in JOURNAL.c if column.name != "place")

USAGE_COUNTS = tuple(column.name for column in _u if column.name != "memory")
"""What is counted of a memory that was shown, in the order of `Candidate`."""


def sources() -> dict[str, ClauseElement]:
    """Every statement by the name of its constant."""
    touching = union(
        select(TOUCHED.c.seq).where(
            TOUCHED.c.project == given("project"), TOUCHED.c.key.in_(given_in("keys")), TOUCHED.c.seq > given("after")
        ),
        select(_m.seq).where(_m.project == given("project"), _m.id.in_(given_in("keys")), _m.seq > given("after")),
    ).subquery("touching")
    named_memories = (_m.project == given("project"), _m.id.in_(given_in("ids")))
    texts = select(_p.memory, _m.partition, _weighted_length()).select_from(PASSAGE.join(MEMORY, _m.row == _p.memory))
    return {
        "STORE_VALUES": select(STORE.c.key, STORE.c.value),
        "STORE_INSERT": inserting(STORE),
        "PROJECT_NAMES": select(PROJECT.c.name).order_by(PROJECT.c.name),
        "PROJECT_BY_NAME": select(PROJECT.c.row).where(PROJECT.c.name == given("name")),
        "PROJECT_BEGIN": select(
            *(PROJECT.c.row, PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq, PROJECT.c.unindexed),
            *(embedder(), select(func.max(PARTITION.c.row)).scalar_subquery()),
        ).where(PROJECT.c.name == given("name")),
        "PROJECT_HEAD": select(PROJECT.c.head_seq, embedder()).where(PROJECT.c.row == given("project")),
        "PROJECT_TEXT": select(PROJECT.c.head_seq, PROJECT.c.unindexed).where(PROJECT.c.row == given("project")),
        "PROJECT_INSERT": inserting(PROJECT, "row"),
        "PROJECT_ADVANCE": updating(PROJECT, "row", "head_seq", "head_hash", "learned_seq", "unindexed"),
        "PROJECT_INDEXED": updating(PROJECT, "row", "unindexed"),
        "PARTITIONS": select(PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind)
        .where(PARTITION.c.project == given("project"), PARTITION.c.row > given("after"))
        .order_by(PARTITION.c.row),
        "PARTITION_INSERT": inserting(PARTITION, "row"),
        "MEMORY_INSERT": inserting(MEMORY, "row"),
        "MEMORY_BY_ID": select(MEMORY).where(_m.project == given("project"), _m.id == given("id")),
        "MEMORY_NUMBER": select(_m.row).where(_m.project == given("project"), _m.id == given("id")),
        "PLACES": select(_m.id, _m.row, _m.partition, _m.archived_at, _m.evidence, *(_u[name] for name in USAGE_COUNTS))
        .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
        .where(*named_memories),
        "COUNTED": select(_m.id, _m.row, _m.seq, *(_m[name] for name in RECOUNTED)).where(*named_memories),
        "PASSAGE_INSERT": inserting(PASSAGE, "row"),
        "SEARCHED": select(_p.memory, _p.is_own, _p.text, _p.keywords)
        .where(_p.memory.in_(rows_given()))
        .order_by(_p.memory, _p.position),
        "VECTOR_INSERT": inserting(VECTOR, "row", "embedder").values(embedder=embedder()).prefix_with("OR IGNORE"),
        "VECTORS": select(_v.text_hash, _v.vector).join(
            wanted := rows_of("project", "text_hash"),
            and_(_v.project == wanted.c.project, _v.text_hash == wanted.c.text_hash, _v.embedder == embedder()),
        ),
        "TEXTS": texts.where(_p.project == given("project"), _p.seq > given("after"), _p.seq <= given("upto")),
        "TEXTS_SINCE": texts.where(
            _p.memory.in_(
                select(_p.memory).where(_p.project == given("project"), _p.seq > given("after"), _p.seq <= given("upto"))
            )
        ),
        "VECTOR_CHANGES": select(_p.seq, _p.row, _p.memory, _m.partition, _p.is_own, _m.content_hash, _p.is_live, _v.vector)
        .select_from(
            PASSAGE.join(MEMORY, _m.row == _p.memory).outerjoin(
                VECTOR, and_(_v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == embedder())
            )
        )
        .where(_p.project == given("project"), _p.seq > given("after"), _p.seq <= given("upto"), _p.text_hash.is_not(None))
        .order_by(_p.seq, _p.row),
        "CANDIDATES": select(
            *(_m.row, _m.partition, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.content_hash),
            *(func.coalesce(_u[name], literal_column("0")) for name in USAGE_COUNTS),
        )
        .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
        .where(_m.row.in_(rows_given()), _m.archived_at.is_(None)),
        "MEMORIES": select(
            *(
                _m.row,
                _m.partition,
                _m.id,
                _m.agent,
                _m.body,
                _m.confidence,
                _m.successes,
                _m.trials,
                _m.seen_at,
                _m.created_at,
                _m.updated_at,
            )
        ).where(_m.row.in_(rows_given())),
        "COUNTS": select(_m.partition, func.count(), func.min(_m.created_at), func.max(_m.created_at))
        .where(_m.project == given("project"), _m.archived_at.is_(None))
        .group_by(_m.partition),
        "USAGE_INSERT": inserting(USAGE),
        "USAGE_PUT": replacing(USAGE, "memory"),
        "USAGE_UPDATE": updating(USAGE, "memory", *USAGE_COUNTS),
        "RECORD_BY_KEY": select(RECORD.c.version, RECORD.c.body, RECORD.c.updated_at).where(
            RECORD.c.project == given("project"), RECORD.c.kind == given("kind"), RECORD.c.key == given("key")
        ),
        "RECORDS_BY_KEY": select(RECORD.c.key, RECORD.c.version, RECORD.c.body).where(
            RECORD.c.project == given("project"), RECORD.c.kind == given("kind"), RECORD.c.key.in_(given_in("keys"))
        ),
        "RECORDS_OF_KIND": select(RECORD.c.key, RECORD.c.version, RECORD.c.body)
        .where(RECORD.c.project == given("project"), RECORD.c.kind == given("kind"))
        .order_by(RECORD.c.key),
        "RECORDS_NEWEST": select(RECORD.c.key, RECORD.c.version, RECORD.c.body)
        .where(RECORD.c.project == given("project"), RECORD.c.kind == given("kind"))
        .order_by(RECORD.c.updated_at.desc(), RECORD.c.key.desc())
        .limit(given("newest"))
        .offset(literal_column("0")),
        "RECORD_INSERT": inserting(RECORD),
        "RECORD_TAKE": delete(RECORD)
        .where(
            RECORD.c.project == given("of_project"),
            RECORD.c.kind == given("of_kind"),
            RECORD.c.key == given("of_key"),
            RECORD.c.version == given("of_version"),
        )
        .returning(RECORD.c.body, RECORD.c.updated_at),
        "RECORD_UPDATE": update(RECORD)
        .values({name: given(name) for name in ("version", "body", "updated_at")})
        .where(
            RECORD.c.project == given("of_project"),
            RECORD.c.kind == given("of_kind"),
            RECORD.c.key == given("of_key"),
            RECORD.c.version == given("of_version"),
        ),
        "JOURNAL_INSERT": inserting(JOURNAL, "place").values(place=place(number("project"), given("seq"))),
        "JOURNAL_HASH": select(JOURNAL.c.hash).where(JOURNAL.c.place == place(number("project"), given("seq"))),
        "JOURNAL_OF": select(JOURNAL).where(in_journal()).order_by(JOURNAL.c.place),
        "JOURNAL_AFTER": select(*_LOGGED).where(in_journal(given("after"))).order_by(JOURNAL.c.place),
        "JOURNAL_TOUCHING": select(*_LOGGED)
        .select_from(touching.join(JOURNAL, JOURNAL.c.place == place(number("project"), touching.c.seq)))
        .order_by(touching.c.seq),
        "JOURNAL_AT": select(*_LOGGED).where(JOURNAL.c.place == place(number("project"), given("seq"))),
        "JOURNAL_ERASE": update(JOURNAL)
        .values(payload=null(), salt=null())
        .where(JOURNAL.c.place == place(number("of_project"), given("of_seq"))),
        "TOUCHED_SEQS": union(
            select(TOUCHED.c.seq).where(TOUCHED.c.project == given("project"), TOUCHED.c.key == given("key")),
            select(_m.seq).where(_m.project == given("project"), _m.id == given("key")),
        ).order_by("seq"),
        "TOUCHED_ALL": union_all(
            select(TOUCHED.c.key, TOUCHED.c.seq).where(TOUCHED.c.project == given("project")),
            select(_m.id, _m.seq).where(_m.project == given("project")),
        ),
        "TOUCHED_DELETE": delete(TOUCHED).where(TOUCHED.c.project == given("of_project"), TOUCHED.c.key == given("of_key")),
        "TOUCHED_DROP": delete(TOUCHED).where(
            TOUCHED.c.project == given("of_project"), TOUCHED.c.key == given("of_key"), TOUCHED.c.seq == given("of_seq")
        ),
        "TOUCHED_UNDER": select(TOUCHED.c.key)
        .distinct()
        .where(TOUCHED.c.project == given("project"), TOUCHED.c.key > given("first"), TOUCHED.c.key < given("last")),
        "STALE": select(_m.id)
        .where(
            _m.project == given("project"),
            _m.archived_at.is_(None),
            _m.partition.in_(rows_given()),
            or_(given("seen_before").is_(None), _m.seen_at < given("seen_before")),
            or_(given("below").is_(None), _m.confidence < given("below")),
        )
        .order_by(_m.row),
        "HASHES": select(_p.text_hash).distinct().where(_p.project == given("project"), _p.text_hash.is_not(None)),
        "VECTOR_DROP": delete(VECTOR).where(_v.project == given("of_project"), _v.text_hash == given("of_text_hash")),
        "TOUCHED_INSERT": inserting(TOUCHED).prefix_with("OR IGNORE"),
        "REMOVED_INSERT": inserting(REMOVED).prefix_with("OR IGNORE"),
        "REMOVED_ANY": select(REMOVED.c.passage)
        .where(REMOVED.c.project == given("project"), REMOVED.c.seq > given("after"), REMOVED.c.seq <= given("upto"))
        .limit(literal_column("1"))
        .offset(literal_column("0")),
        "REMOVED_SINCE": select(REMOVED.c.passage).where(
            REMOVED.c.project == given("project"),
            REMOVED.c.seq > given("after"),
            REMOVED.c.seq <= given("upto"),
            ~select(_p.row)  # a passage that lost its vector and has one again is taken in with the changes
            .where(_p.row == REMOVED.c.passage, _p.is_live == literal_column("1"), _p.text_hash.is_not(None))
            .exists(),
        ),
        **_logical(),
        **evidence_sources(),
        **_insight(),
    }


def _weighted_length() -> Case[Any]:
    """What a passage adds to the length of its memory's text in full text."""
    weight: ColumnClause[float] = literal_column(str(OTHER_WEIGHT))
    return case(
        (_p.is_live == literal_column("0"), literal_column("0")),
        (_p.is_own == literal_column("1"), func.length(_p.text) + weight * func.length(_p.keywords)),
        else_=weight * (func.length(_p.text) + func.length(_p.keywords)),
    )


def _logical() -> dict[str, ClauseElement]:
    """What `logical.py` reads and writes: whole rows with their keys."""
    passages = select(PASSAGE, _m.id.label("owner")).select_from(PASSAGE.outerjoin(MEMORY, _m.row == _p.memory))
    usages = select(USAGE, _m.id.label("owner")).select_from(USAGE.join(MEMORY, _m.row == _u.memory))
    of_memory = (_m.project == given("project"), _m.id == given("memory_id"))
    record_key = [RECORD.c[name] == given(f"of_{name}") for name in ("project", "kind", "key")]
    return {
        "PARTITION_OF": select(PARTITION.c.project, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
            PARTITION.c.row == given("row")
        ),
        "MEMORY_ROWS": select(MEMORY).where(_m.project == given("project")).order_by(_m.row),
        "MEMORY_UPDATE": updating(MEMORY, "row", *(column.name for column in _m if column.name not in ("row", "project"))),
        "MEMORY_RECOUNT": updating_rows(MEMORY, ("row",), *RECOUNTED, "seq"),
        "MEMORY_DELETE": delete(MEMORY).where(_m.row == given("of_row")),
        "PASSAGE_ROWS": passages.where(_p.project == given("project")).order_by(_p.row),
        "PASSAGES_OF": passages.where(*of_memory).order_by(_p.position),
        "PASSAGE_AT": passages.where(*of_memory, _p.position == given("position")),
        "PASSAGE_UPDATE": updating(PASSAGE, "row", *(column.name for column in _p if column.name not in ("row", "project"))),
        "PASSAGE_DELETE": delete(PASSAGE).where(_p.row == given("of_row")),
        "USAGE_ROWS": usages.where(_m.project == given("project")).order_by(_u.memory),
        "USAGE_OF": usages.where(*of_memory),
        "USAGE_DELETE": delete(USAGE).where(_u.memory == given("of_memory")),
        "RECORD_ROWS": select(RECORD).where(RECORD.c.project == given("project")).order_by(RECORD.c.kind, RECORD.c.key),
        "RECORD_ROW": select(RECORD).where(
            *(RECORD.c[name] == given(name) for name in ("project", "kind", "key")),
        ),
        "RECORD_REWRITE": update(RECORD)
        .values({name: given(name) for name in ("version", "body", "updated_at")})
        .where(*record_key),
        "RECORD_DELETE": delete(RECORD).where(*record_key),
        "VECTOR_EXISTS": select(_v.row).where(
            _v.project == given("project"), _v.text_hash == given("text_hash"), _v.embedder == embedder()
        ),
    }


def _insight() -> dict[str, ClauseElement]:
    """What `insight.py` counts."""
    of_project, is_here = _m.project == given("project"), _m.archived_at.is_(None)
    used = tuple(func.coalesce(column, literal_column("0")) for column in (_u.used, _u.thumbs_up, _u.thumbs_down))
    shown = tuple(
        func.coalesce(func.sum(column), literal_column("0")) for column in (_u.used, _u.ignored, _u.thumbs_up, _u.thumbs_down)
    )
    length, total, none = func.length, func.total, literal_column("0", Integer())
    of_passages, of_vectors = (table.c.project == given("project") for table in (PASSAGE, VECTOR))
    of_journal = in_journal()
    day, journal_day = _m.created_at.op("/")(given("a_day")), JOURNAL.c.at.op("/")(given("a_day"))
    return {
        "PASSAGES": select(_p.row, _p.position, _p.time, _p.is_own, _p.speaker, _p.text, _p.keywords).where(
            _p.row.in_(rows_given())
        ),
        "GROWTH": select(_m.partition, day.label("day"), func.count())
        .where(of_project, is_here)
        .group_by(_m.partition, literal_column("day"))
        .order_by(literal_column("day"), _m.partition),
        "ACTIVITY": select(JOURNAL.c.operation, journal_day.label("day"), func.count())
        .where(of_journal)
        .group_by(JOURNAL.c.operation, literal_column("day"))
        .order_by(literal_column("day"), JOURNAL.c.operation),
        "JOURNAL_NEWEST": select(
            *(JOURNAL.c.seq, JOURNAL.c.at, JOURNAL.c.actor, JOURNAL.c.operation, JOURNAL.c.payload.is_(None))
        )
        .where(of_journal)
        .order_by(JOURNAL.c.place.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "TELLING": select(_m.row)
        .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
        .where(of_project, is_here)
        .order_by((used[0] + used[1] - used[2]).desc(), func.coalesce(_m.trials, none).desc(), _m.seen_at.desc(), _m.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "USAGE_TOTALS": select(func.count(_u.memory), *shown, func.count(func.nullif(_u.used, none)))
        .select_from(USAGE.join(MEMORY, _m.row == _u.memory))
        .where(of_project, is_here),
        "ARCHIVED_COUNT": select(func.count()).where(of_project, _m.archived_at.is_not(None)),
        "PASSAGE_SIZE": select(func.count(), total(length(_p.text) + length(_p.keywords))).where(of_passages),
        "VECTOR_SIZE": select(func.count(), total(length(_v.vector))).where(of_vectors),
        "JOURNAL_SIZE": select(
            func.count(), total(length(JOURNAL.c.payload)), func.count() - func.count(JOURNAL.c.payload)
        ).where(of_journal),
    }


def compile_sources() -> str:
    """The text of `compiled.py`."""
    dialect = sqlite.dialect(paramstyle="named")
    lines = [
        '"""Made by `python -m alma.storage.sources` from `sources.py`. Do not edit."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "",
    ]
    for name, source in sources().items():
        sql = " ".join(str(source.compile(dialect=dialect)).split())
        lines.append(f"{name} = {sql!r}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    Path(tables.__file__).with_name("compiled.py").write_text(compile_sources(), encoding="utf-8")
