"""The statements of the hot paths, written over the tables, and their compiler.

`python -m alma.storage.sources` writes `compiled.py`, so that no process pays for building them or for importing SQLModel; a test holds the
two together.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import (
    Insert,
    Integer,
    String,
    Table,
    Update,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from alma.storage import tables
from alma.storage.evidence import RECOUNTED
from alma.storage.lengths import OTHER_WEIGHT
from alma.storage.rows import VECTORS_AT_ONCE

_STORE, _PROJECT, _PARTITION, _MEMORY, _PASSAGE, _VECTOR, _USAGE, _RECORD, _JOURNAL = (
    tables.metadata.tables[name]
    for name in ("store", "project", "partition", "memory", "passage", "vector", "usage", "record", "journal")
)
_EVIDENCE, _TOUCHED, _REMOVED = (tables.metadata.tables[name] for name in ("evidence", "touched", "removed"))
_m, _p, _v, _u = _MEMORY.c, _PASSAGE.c, _VECTOR.c, _USAGE.c
_LOGGED = tuple(column for column in _JOURNAL.c if column.name != "place")

USAGE = tuple(column.name for column in _u if column.name != "memory")
"""What is counted of a memory that was shown, in the order of `Candidate`."""


def sources() -> dict[str, ClauseElement]:
    """Every statement by the name of its constant."""
    touching = (
        select(_TOUCHED.c.seq)
        .distinct()
        .where(_TOUCHED.c.project == _given("project"), _TOUCHED.c.key.in_(_given_in("keys")), _TOUCHED.c.seq > _given("after"))
        .subquery("touching")
    )
    return {
        "STORE_VALUES": select(_STORE.c.key, _STORE.c.value),
        "STORE_INSERT": _inserting(_STORE),
        "PROJECT_NAMES": select(_PROJECT.c.name).order_by(_PROJECT.c.name),
        "PROJECT_BY_NAME": select(_PROJECT.c.row).where(_PROJECT.c.name == _given("name")),
        "PROJECT_BEGIN": select(
            *(_PROJECT.c.row, _PROJECT.c.head_seq, _PROJECT.c.head_hash, _PROJECT.c.learned_seq, _PROJECT.c.unindexed),
            *(_embedder(), select(func.max(_PARTITION.c.row)).scalar_subquery()),
        ).where(_PROJECT.c.name == _given("name")),
        "PROJECT_HEAD": select(_PROJECT.c.head_seq, _embedder()).where(_PROJECT.c.row == _given("project")),
        "PROJECT_TEXT": select(_PROJECT.c.head_seq, _PROJECT.c.unindexed).where(_PROJECT.c.row == _given("project")),
        "PROJECT_INSERT": _inserting(_PROJECT, "row"),
        "PROJECT_ADVANCE": _updating(_PROJECT, "row", "head_seq", "head_hash", "learned_seq", "unindexed"),
        "PROJECT_INDEXED": _updating(_PROJECT, "row", "unindexed"),
        "PARTITIONS": select(_PARTITION.c.row, _PARTITION.c.is_user, _PARTITION.c.owner, _PARTITION.c.kind)
        .where(_PARTITION.c.project == _given("project"), _PARTITION.c.row > _given("after"))
        .order_by(_PARTITION.c.row),
        "PARTITION_INSERT": _inserting(_PARTITION, "row"),
        "MEMORY_INSERT": _inserting(_MEMORY, "row").values(row=_next_row(_MEMORY)),
        "MEMORY_LET_GO": _letting_go(_MEMORY),
        "MEMORY_BY_ID": select(_MEMORY).where(_m.project == _given("project"), _m.id == _given("id")),
        "MEMORY_PLACE": select(_m.row, _m.partition, _m.archived_at).where(
            _m.project == _given("project"), _m.id == _given("id")
        ),
        "PASSAGE_INSERT": _inserting(_PASSAGE, "row").values(row=_next_row(_PASSAGE)),
        "PASSAGE_LET_GO": _letting_go(_PASSAGE),
        "SEARCHED": select(_p.memory, _p.is_own, _p.text, _p.keywords)
        .where(_p.memory.in_(_rows_given()))
        .order_by(_p.memory, _p.position),
        "VECTOR_INSERT": _inserting(_VECTOR, "row", "embedder").values(embedder=_embedder()).prefix_with("OR IGNORE"),
        "VECTOR_BY_HASH": select(_v.text_hash, _v.vector).where(
            _v.project == _given("project"), _v.text_hash == _given("hash_0"), _v.embedder == _embedder()
        ),
        "VECTORS_BY_HASH": select(_v.text_hash, _v.vector).where(
            *(_v.project == _given("project"), _v.embedder == _embedder()),
            _v.text_hash.in_([_given(f"hash_{number}") for number in range(VECTORS_AT_ONCE)]),
        ),
        "LENGTHS": select(
            _p.memory,
            case(
                (_p.is_live == literal_column("0"), literal_column("0")),
                (
                    _p.is_own == literal_column("1"),
                    func.length(_p.text) + literal_column(str(OTHER_WEIGHT)) * func.length(_p.keywords),
                ),
                else_=literal_column(str(OTHER_WEIGHT)) * (func.length(_p.text) + func.length(_p.keywords)),
            ),
        ).where(_p.project == _given("project"), _p.seq > _given("after"), _p.seq <= _given("upto")),
        "VECTOR_CHANGES": select(_p.seq, _p.row, _p.memory, _m.partition, _p.is_own, _m.content_hash, _p.is_live, _v.vector)
        .select_from(
            _PASSAGE.join(_MEMORY, _m.row == _p.memory).outerjoin(
                _VECTOR, and_(_v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == _embedder())
            )
        )
        .where(_p.project == _given("project"), _p.seq > _given("after"), _p.seq <= _given("upto"), _p.text_hash.is_not(None))
        .order_by(_p.seq, _p.row),
        "CANDIDATES": select(
            *(_m.row, _m.partition, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.content_hash),
            *(func.coalesce(_u[name], literal_column("0")) for name in USAGE),
        )
        .select_from(_MEMORY.outerjoin(_USAGE, _u.memory == _m.row))
        .where(_m.row.in_(_rows_given()), _m.archived_at.is_(None)),
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
        ).where(_m.row.in_(_rows_given())),
        "COUNTS": select(_m.partition, func.count(), func.min(_m.created_at), func.max(_m.created_at))
        .where(_m.project == _given("project"), _m.archived_at.is_(None))
        .group_by(_m.partition),
        "USAGE_BY_MEMORY": select(_USAGE).where(_u.memory == _given("memory")),
        "USAGE_INSERT": _inserting(_USAGE),
        "USAGE_UPDATE": _updating(_USAGE, "memory", *USAGE),
        "RECORD_BY_KEY": select(_RECORD.c.version, _RECORD.c.body, _RECORD.c.updated_at).where(
            _RECORD.c.project == _given("project"), _RECORD.c.kind == _given("kind"), _RECORD.c.key == _given("key")
        ),
        "RECORDS_OF_KIND": select(_RECORD.c.key, _RECORD.c.version, _RECORD.c.body)
        .where(_RECORD.c.project == _given("project"), _RECORD.c.kind == _given("kind"))
        .order_by(_RECORD.c.key),
        "RECORDS_NEWEST": select(_RECORD.c.key, _RECORD.c.version, _RECORD.c.body)
        .where(_RECORD.c.project == _given("project"), _RECORD.c.kind == _given("kind"))
        .order_by(_RECORD.c.updated_at.desc(), _RECORD.c.key.desc())
        .limit(_given("newest"))
        .offset(literal_column("0")),
        "RECORD_INSERT": _inserting(_RECORD),
        "RECORD_UPDATE": update(_RECORD)
        .values({name: _given(name) for name in ("version", "body", "updated_at")})
        .where(
            _RECORD.c.project == _given("of_project"),
            _RECORD.c.kind == _given("of_kind"),
            _RECORD.c.key == _given("of_key"),
            _RECORD.c.version == _given("of_version"),
        ),
        "JOURNAL_INSERT": _inserting(_JOURNAL, "place").values(place=_place(_number("project"), _given("seq"))),
        "JOURNAL_HASH": select(_JOURNAL.c.hash).where(_JOURNAL.c.place == _place(_number("project"), _given("seq"))),
        "JOURNAL_OF": select(*_LOGGED).where(_of_journal()).order_by(_JOURNAL.c.place),
        "JOURNAL_AFTER": select(*_LOGGED).where(_of_journal(_given("after"))).order_by(_JOURNAL.c.place),
        "JOURNAL_TOUCHING": select(*_LOGGED)
        .select_from(touching.join(_JOURNAL, _JOURNAL.c.place == _place(_number("project"), touching.c.seq)))
        .order_by(touching.c.seq),
        "JOURNAL_AT": select(*_LOGGED).where(_JOURNAL.c.place == _place(_number("project"), _given("seq"))),
        "JOURNAL_ERASE": update(_JOURNAL)
        .values(payload=null(), salt=null())
        .where(_JOURNAL.c.place == _place(_number("of_project"), _given("of_seq"))),
        "TOUCHED_SEQS": select(_TOUCHED.c.seq)
        .where(_TOUCHED.c.project == _given("project"), _TOUCHED.c.key == _given("key"))
        .order_by(_TOUCHED.c.seq),
        "TOUCHED_ALL": select(_TOUCHED.c.key, _TOUCHED.c.seq).where(_TOUCHED.c.project == _given("project")),
        "TOUCHED_DELETE": delete(_TOUCHED).where(_TOUCHED.c.project == _given("of_project"), _TOUCHED.c.key == _given("of_key")),
        "TOUCHED_DROP": delete(_TOUCHED).where(
            _TOUCHED.c.project == _given("of_project"), _TOUCHED.c.key == _given("of_key"), _TOUCHED.c.seq == _given("of_seq")
        ),
        "TOUCHED_UNDER": select(_TOUCHED.c.key)
        .distinct()
        .where(_TOUCHED.c.project == _given("project"), _TOUCHED.c.key > _given("first"), _TOUCHED.c.key < _given("last")),
        "STALE": select(_m.id)
        .where(
            _m.project == _given("project"),
            _m.archived_at.is_(None),
            _m.partition.in_(_rows_given()),
            or_(_given("seen_before").is_(None), _m.seen_at < _given("seen_before")),
            or_(_given("below").is_(None), _m.confidence < _given("below")),
        )
        .order_by(_m.row),
        "HASHES": select(_p.text_hash).distinct().where(_p.project == _given("project"), _p.text_hash.is_not(None)),
        "VECTOR_DROP": delete(_VECTOR).where(_v.project == _given("of_project"), _v.text_hash == _given("of_text_hash")),
        "TOUCHED_INSERT": _inserting(_TOUCHED).prefix_with("OR IGNORE"),
        "REMOVED_INSERT": _inserting(_REMOVED).prefix_with("OR IGNORE"),
        "REMOVED_ANY": select(_REMOVED.c.passage)
        .where(_REMOVED.c.project == _given("project"), _REMOVED.c.seq > _given("after"), _REMOVED.c.seq <= _given("upto"))
        .limit(literal_column("1"))
        .offset(literal_column("0")),
        "REMOVED_SINCE": select(_REMOVED.c.passage).where(
            _REMOVED.c.project == _given("project"),
            _REMOVED.c.seq > _given("after"),
            _REMOVED.c.seq <= _given("upto"),
            ~select(_p.row)
            .where(_p.row == _REMOVED.c.passage, _p.is_live == literal_column("1"), _p.text_hash.is_not(None))
            .exists(),
        ),
        **_logical(),
        **_insight(),
    }


def _logical() -> dict[str, ClauseElement]:
    """What `logical.py` reads and writes: whole rows with their keys."""
    passages = select(_PASSAGE, _m.id.label("owner")).select_from(_PASSAGE.outerjoin(_MEMORY, _m.row == _p.memory))
    usages = select(_USAGE, _m.id.label("owner")).select_from(_USAGE.join(_MEMORY, _m.row == _u.memory))
    of_memory = (_m.project == _given("project"), _m.id == _given("memory_id"))
    own = _EVIDENCE.alias("own")
    of_agent = (_EVIDENCE.c.project == _given("project"), _EVIDENCE.c.agent == _given("agent"))
    of_class = (*of_agent, _EVIDENCE.c.task_class == _given("task_class"))
    of_outcomes = _PARTITION.c.kind == literal_column("'outcome'")
    outcomes = _MEMORY.join(_PARTITION, _PARTITION.c.row == _m.partition)
    outcomes_of_agent = (
        select(_PARTITION.c.row)
        .where(_PARTITION.c.project == _given("project"), _PARTITION.c.is_user == literal_column("0"))
        .where(_PARTITION.c.owner == _given("agent"), of_outcomes)
        .scalar_subquery()
    )
    first_passage = (
        select(_p.text)
        .where(_p.memory == _m.row)
        .order_by(_p.position)
        .limit(literal_column("1"))
        .offset(literal_column("0"))
        .correlate(_MEMORY)
        .scalar_subquery()
    )
    firsts = (
        select(
            *(_m.row, _m.id, _m.agent, _m.body, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.created_at),
            *(_m.updated_at, _m.evidence, first_passage.label("task")),
        )
        .select_from(outcomes)
        .where(of_outcomes)
    )
    is_uncounted = ~exists().where(_EVIDENCE.c.project == _m.project, _EVIDENCE.c.id == _m.evidence).correlate(_MEMORY)
    record_key = [_RECORD.c[name] == _given(f"of_{name}") for name in ("project", "kind", "key")]
    return {
        "PARTITION_OF": select(_PARTITION.c.is_user, _PARTITION.c.owner, _PARTITION.c.kind).where(
            _PARTITION.c.row == _given("row")
        ),
        "MEMORY_ROWS": select(_MEMORY).where(_m.project == _given("project")).order_by(_m.row),
        "MEMORY_UPDATE": _updating(_MEMORY, "row", *(column.name for column in _m if column.name not in ("row", "project"))),
        "MEMORY_RECOUNT": _updating(_MEMORY, "row", *RECOUNTED, "seq"),
        "MEMORY_DELETE": delete(_MEMORY).where(_m.row == _given("of_row")),
        "PASSAGE_ROWS": passages.where(_p.project == _given("project")).order_by(_p.row),
        "PASSAGES_OF": passages.where(*of_memory).order_by(_p.position),
        "PASSAGE_AT": passages.where(*of_memory, _p.position == _given("position")),
        "PASSAGE_UPDATE": _updating(_PASSAGE, "row", *(column.name for column in _p if column.name not in ("row", "project"))),
        "PASSAGE_DELETE": delete(_PASSAGE).where(_p.row == _given("of_row")),
        "USAGE_ROWS": usages.where(_m.project == _given("project")).order_by(_u.memory),
        "USAGE_OF": usages.where(*of_memory),
        "USAGE_DELETE": delete(_USAGE).where(_u.memory == _given("of_memory")),
        "RECORD_ROWS": select(_RECORD).where(_RECORD.c.project == _given("project")).order_by(_RECORD.c.kind, _RECORD.c.key),
        "RECORD_ROW": select(_RECORD).where(
            *(_RECORD.c[name] == _given(name) for name in ("project", "kind", "key")),
        ),
        "RECORD_REWRITE": update(_RECORD)
        .values({name: _given(name) for name in ("version", "body", "updated_at")})
        .where(*record_key),
        "RECORD_DELETE": delete(_RECORD).where(*record_key),
        "EVIDENCE_ROWS": select(_EVIDENCE).where(_EVIDENCE.c.project == _given("project")).order_by(_EVIDENCE.c.row),
        "EVIDENCE_BY_ID": select(_EVIDENCE).where(_EVIDENCE.c.project == _given("project"), _EVIDENCE.c.id == _given("id")),
        "EVIDENCE_INSERT": _inserting(_EVIDENCE, "row"),
        "EVIDENCE_UPDATE": _updating(_EVIDENCE, "row", *(c.name for c in _EVIDENCE.c if c.name not in ("row", "project"))),
        "EVIDENCE_AT": select(_EVIDENCE).where(*of_class, _EVIDENCE.c.strategy_hash == _given("strategy_hash")),
        "EVIDENCE_OF_CLASS": select(_EVIDENCE)
        .where(*of_class)
        .order_by(_EVIDENCE.c.trials.desc(), _EVIDENCE.c.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_CLASSES": select(_EVIDENCE)
        .where(*of_agent, _EVIDENCE.c.task.is_not(None))
        .order_by(_EVIDENCE.c.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_LARGEST_CLASSES": select(_EVIDENCE)
        .where(*of_agent, _EVIDENCE.c.task.is_not(None))
        .order_by(_EVIDENCE.c.trials.desc(), _EVIDENCE.c.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_TOTAL": select(func.total(_m.successes), func.total(_m.successes.is_not(None))).where(
            *(_m.project == _given("project"), _m.evidence.is_not(None)),
            _m.partition == outcomes_of_agent,
            _m.evidence.is_not(None),
            func.substr(_m.evidence, literal_column("17"), literal_column("1")) != literal_column("'s'"),
        ),
        "EVIDENCE_OUTCOMES": select(_m.row)
        .select_from(outcomes)
        .where(_m.project == _given("project"), _m.evidence == _given("evidence"), of_outcomes)
        .order_by(_m.seen_at.desc(), _m.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_CLASS_EXISTS": select(
            or_(
                exists().where(_m.project == _given("project"), *_begins(_m.evidence)),
                exists().where(_EVIDENCE.c.project == _given("project"), *_begins(_EVIDENCE.c.id)),
            )
        ),
        "EVIDENCE_FIRST_OF_CLASS": firsts.where(_m.project == _given("project"), *_begins(_m.evidence))
        .order_by(_m.row)
        .limit(literal_column("1"))
        .offset(literal_column("0")),
        "EVIDENCE_FIRSTS": firsts.where(_m.row.in_(_rows_given()), _m.evidence.is_not(None), is_uncounted),
        "EVIDENCE_NEWEST_FIRSTS": firsts.where(
            _m.row.in_(
                select(_m.row)
                .where(_m.project == _given("project"), _m.evidence.is_not(None), _m.partition == outcomes_of_agent)
                .order_by(_m.row.desc())
                .limit(_given("looked_at"))
                .offset(literal_column("0"))
            ),
            *(_m.evidence.is_not(None), is_uncounted),
        )
        .order_by(_m.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_COUNTED": select(_m.evidence, func.count(), func.max(_EVIDENCE.c.trials + _EVIDENCE.c.unverified))
        .select_from(outcomes.outerjoin(_EVIDENCE, and_(_EVIDENCE.c.project == _m.project, _EVIDENCE.c.id == _m.evidence)))
        .where(_m.project == _given("project"), *_begins(_m.evidence), of_outcomes)
        .group_by(_m.evidence)
        .order_by(_m.evidence),
        "EVIDENCE_BEHIND": select(_m.row.label("memory"), _EVIDENCE)
        .select_from(_MEMORY.join(_EVIDENCE, and_(_EVIDENCE.c.project == _m.project, _EVIDENCE.c.id == _m.evidence)))
        .where(_m.row.in_(_rows_given())),
        "EVIDENCE_OVERRULED": select(_m.row)
        .select_from(
            _MEMORY.join(_EVIDENCE, and_(_EVIDENCE.c.project == _m.project, _EVIDENCE.c.id == _m.evidence)).join(
                own, and_(*(own.c[name] == _EVIDENCE.c[name] for name in ("project", "task_class", "strategy_hash")))
            )
        )
        .where(
            *(_m.row.in_(_rows_given()), _EVIDENCE.c.agent != _given("agent")),
            *(own.c.agent == _given("agent"), own.c.trials >= _given("trials")),
        ),
        "EVIDENCE_OF_RULES": select(_EVIDENCE).where(
            *of_agent, or_(_EVIDENCE.c.heuristic.is_not(None), _EVIDENCE.c.anti_pattern.is_not(None))
        ),
        "EVIDENCE_DELETE": delete(_EVIDENCE).where(_EVIDENCE.c.row == _given("of_row")),
        "VECTOR_EXISTS": select(_v.row).where(
            _v.project == _given("project"), _v.text_hash == _given("text_hash"), _v.embedder == _embedder()
        ),
    }


def _insight() -> dict[str, ClauseElement]:
    """What `insight.py` counts."""
    of_project, is_here = _m.project == _given("project"), _m.archived_at.is_(None)
    used = tuple(func.coalesce(column, literal_column("0")) for column in (_u.used, _u.thumbs_up, _u.thumbs_down))
    shown = tuple(
        func.coalesce(func.sum(column), literal_column("0")) for column in (_u.used, _u.ignored, _u.thumbs_up, _u.thumbs_down)
    )
    length, total, none = func.length, func.total, literal_column("0", Integer())
    of_passages, of_vectors = (table.c.project == _given("project") for table in (_PASSAGE, _VECTOR))
    of_journal = _of_journal()
    day, journal_day = _m.created_at.op("/")(_given("a_day")), _JOURNAL.c.at.op("/")(_given("a_day"))
    return {
        "PASSAGES": select(_p.row, _p.position, _p.time, _p.is_own, _p.speaker, _p.text, _p.keywords).where(
            _p.row.in_(_rows_given())
        ),
        "GROWTH": select(_m.partition, day.label("day"), func.count())
        .where(of_project, is_here)
        .group_by(_m.partition, literal_column("day"))
        .order_by(literal_column("day"), _m.partition),
        "ACTIVITY": select(_JOURNAL.c.operation, journal_day.label("day"), func.count())
        .where(of_journal)
        .group_by(_JOURNAL.c.operation, literal_column("day"))
        .order_by(literal_column("day"), _JOURNAL.c.operation),
        "JOURNAL_NEWEST": select(
            *(_JOURNAL.c.seq, _JOURNAL.c.at, _JOURNAL.c.actor, _JOURNAL.c.operation, _JOURNAL.c.payload.is_(None))
        )
        .where(of_journal)
        .order_by(_JOURNAL.c.place.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "TELLING": select(_m.row)
        .select_from(_MEMORY.outerjoin(_USAGE, _u.memory == _m.row))
        .where(of_project, is_here)
        .order_by((used[0] + used[1] - used[2]).desc(), func.coalesce(_m.trials, none).desc(), _m.seen_at.desc(), _m.row.desc())
        .limit(_given("most"))
        .offset(literal_column("0")),
        "USAGE_TOTALS": select(func.count(_u.memory), *shown, func.count(func.nullif(_u.used, none)))
        .select_from(_USAGE.join(_MEMORY, _m.row == _u.memory))
        .where(of_project, is_here),
        "ARCHIVED_COUNT": select(func.count()).where(of_project, _m.archived_at.is_not(None)),
        "PASSAGE_SIZE": select(func.count(), total(length(_p.text) + length(_p.keywords))).where(of_passages),
        "VECTOR_SIZE": select(func.count(), total(length(_v.vector))).where(of_vectors),
        "JOURNAL_SIZE": select(
            func.count(), total(length(_JOURNAL.c.payload)), func.count() - func.count(_JOURNAL.c.payload)
        ).where(of_journal),
    }


def _given(name: str) -> Any:
    return bindparam(name)


def _begins(column: Any) -> tuple[Any, Any]:
    """The condition of beginning as all texts do that come after the first one given and before the last."""
    return column >= _given("first"), column < _given("last")


def _number(name: str) -> Any:
    return bindparam(name, type_=Integer())


def _place(project: Any, seq: Any) -> Any:
    """The key of a record in the journal of a project."""
    return project * literal_column(str(1 << 32), Integer()) + seq


def _of_journal(after: Any = None) -> Any:
    """The condition of being in the journal of the given project, after a `seq`."""
    project, first = _number("project"), literal_column("0", Integer()) if after is None else after
    return and_(
        _JOURNAL.c.place > _place(project, first),
        _JOURNAL.c.place < _place(project + literal_column("1", Integer()), literal_column("0", Integer())),
    )


def _embedder() -> Any:
    """The number of the database's embedder, whose vectors serve."""
    value = select(_STORE.c.value).where(_STORE.c.key == literal_column("'embedder_number'")).scalar_subquery()
    return cast(value, Integer)


def _rows_given() -> Any:
    """The row numbers that a JSON array names."""
    return _given_in("rows")


def _given_in(name: str) -> Any:
    """The values of a JSON array."""
    return select(func.json_each(_given(name)).table_valued("value").c.value)


def _inserting(table: Table, *left_out: str) -> Insert:
    return insert(table).values({column.name: _given(column.name) for column in table.c if column.name not in left_out})


def _updating(table: Table, key: str, *columns: str) -> Update:
    return update(table).values({name: _given(name) for name in columns}).where(table.c[key] == _given(f"of_{key}"))


def _newest(table: Table) -> Any:
    return select(func.max(table.c.row)).scalar_subquery()


def _next_row(table: Table) -> Any:
    """A row number that no row of a table ever had. `AUTOINCREMENT` would write a page of its own for that, each time."""
    let_go = select(cast(_STORE.c.value, Integer)).where(_STORE.c.key == _let_go(table)).scalar_subquery()
    none = literal_column("0", Integer())
    return func.max(func.coalesce(_newest(table), none), func.coalesce(let_go, none)) + literal_column("1", Integer())


def _letting_go(table: Table) -> Any:
    """Remembers the newest row number of a table before its row is deleted; does nothing for any other row."""
    given = bindparam("of_row", type_=Integer())
    chosen = select(_let_go(table), cast(given, String)).where(given == _newest(table))
    made = sqlite.insert(_STORE).from_select(["key", "value"], chosen)
    return made.on_conflict_do_update(index_elements=["key"], set_={"value": made.excluded.value})


def _let_go(table: Table) -> Any:
    return literal_column(f"'newest_{table.name}_let_go'", String())


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
