"""Every statement by its name, written over the tables once for all dialects. A session runs them by these names."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.copying import COPIED
from alma.storage.relational.sql import (
    JOURNAL,
    MEMORY,
    ONE,
    PARTITION,
    PASSAGE,
    PROJECT,
    RECORD,
    REMOVED,
    STORE,
    TOUCHED,
    USAGE,
    VECTOR,
    ZERO,
    embedder,
    given,
    given_in,
    ignoring,
    in_journal,
    inserting,
    migrations,
    number,
    optional,
    place,
    replacing,
    rows_given,
    rows_of,
    total,
    updating,
)
from alma.storage.relational.tables import WORD, metadata
from alma.storage.relational.text_index import OTHER_WEIGHT

_m, _p, _v, _u = MEMORY.c, PASSAGE.c, VECTOR.c, USAGE.c

USAGE_COUNTS = tuple(column.name for column in _u if column.name != "memory")
"""The usage counts of a memory, in the order of `Candidate`."""

_SHOWN = (_m.id, _m.agent, _m.body, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.created_at, _m.updated_at)
"""The columns of a memory that is shown."""

_EMBEDDED = (_p.is_live == ONE, _p.text_hash.is_not(None))
"""The condition of a passage that a search by vectors may find."""


_RECORDED = (_m.row, _m.partition, _m.id, _m.body, _m.successes, _m.seen_at, _m.created_at, _m.archived_at)
"""The columns of `RecordedOutcome`."""

_IS_ITS_VECTOR = sa.and_(_v.project == _p.project, _v.text_hash == _p.text_hash, _v.embedder == embedder())
"""The condition that a vector is that of a passage, by the embedder that serves."""


def _weighted_length() -> sa.Case[Any]:
    """The part of a passage in the length of its memory's text in full text. `overhead` is what the seal adds to each text."""
    weight: sa.ColumnClause[float] = sa.literal_column(str(OTHER_WEIGHT))
    text, keywords = (sa.func.length(column) - optional("overhead", sa.BigInteger()) for column in (_p.text, _p.keywords))
    return sa.case(
        (_p.is_live == ZERO, ZERO),
        (_p.is_own == ONE, text + weight * keywords),
        else_=weight * (text + keywords),
    )


_named = (_m.project == given("project"), _m.id.in_(given_in("ids")))
_in_partitions = (_m.partition.in_(rows_given()), _m.project + ZERO == given("project"))  # a sum: as of vectors
_passages = sa.select(PASSAGE, _m.id.label("owner")).select_from(PASSAGE.outerjoin(MEMORY, _m.row == _p.memory))
_usages = sa.select(USAGE, _m.id.label("owner")).select_from(USAGE.join(MEMORY, _m.row == _u.memory))
_of_memory = (_m.project == given("project"), _m.id == given("memory_id"))
_record_key = [RECORD.c[name] == given(f"of_{name}") for name in ("project", "kind", "key")]
_texts = sa.select(_p.memory, _m.partition, _weighted_length()).select_from(PASSAGE.join(MEMORY, _m.row == _p.memory))
_searched = sa.select(_p.memory, _p.position, _p.is_own, _p.text, _p.keywords)
_is_new_passage = (_p.project == given("project"), _p.seq > given("after"), _p.seq <= given("upto"))
_with_vectors = sa.select(
    _p.seq, _p.row, _p.memory, _m.partition, _p.is_own, _m.content_hash, _p.is_live, _v.vector, _v.text_hash
).select_from(PASSAGE.join(MEMORY, _m.row == _p.memory).outerjoin(VECTOR, _IS_ITS_VECTOR))
_is_of_project = _p.project + ZERO == given("project")  # a sum: else SQLite reads the whole project by its index
_embedded = _with_vectors.where(_is_of_project, *_EMBEDDED)
_wanted = rows_of(VECTOR, project="project", text_hash="text_hash")
_is_wanted = sa.and_(_v.project == _wanted.c.project, _v.text_hash == _wanted.c.text_hash, _v.embedder == embedder())
_within = MEMORY.alias("within")
_inside = sa.select(_within.c.row).where(_within.c.partition.in_(rows_given()))
_has_vector = sa.select(_p.row).where(_p.memory == _m.row, *_EMBEDDED).exists()
_negative_first = sa.case((_m.content_hash >= sa.bindparam("half", type_=sa.LargeBinary()), ZERO), else_=ONE)
_by_version = sa.select(RECORD.c.key, RECORD.c.version, RECORD.c.body)
_of_kind = (RECORD.c.project == given("project"), RECORD.c.kind == given("kind"))
_touching = sa.union(
    sa.select(TOUCHED.c.seq).where(
        TOUCHED.c.project == given("project"), TOUCHED.c.key.in_(given_in("keys")), TOUCHED.c.seq > given("after")
    ),
    sa.select(_m.seq).where(_m.project == given("project"), _m.id.in_(given_in("keys")), _m.seq > given("after")),
).subquery("touching")
_seen_within = (
    _m.archived_at.is_(None),
    sa.or_(optional("since", sa.BigInteger()).is_(None), _m.seen_at >= number("since")),
    sa.or_(optional("until", sa.BigInteger()).is_(None), _m.seen_at <= number("until")),
    sa.or_(optional("known_by", sa.BigInteger()).is_(None), _m.created_at <= number("known_by")),
)
_is_new_removal = (REMOVED.c.project == given("project"), REMOVED.c.seq > given("after"), REMOVED.c.seq <= given("upto"))

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
_partitions = sa.select(PARTITION.c.row, PARTITION.c.is_user, PARTITION.c.owner, PARTITION.c.kind).where(
    PARTITION.c.project == number("project")
)
_is_used = PARTITION.c.row.in_(sa.select(_m.partition).where(_m.project == number("project")))

USUAL_STATEMENTS: dict[str, ClauseElement] = {
    # Projects and values of the store.
    "store_values": sa.select(STORE.c.key, STORE.c.value),
    "migrations_run": sa.select(migrations()),
    "project_by_name": sa.select(PROJECT.c.row).where(PROJECT.c.name == given("name")),
    "project_begin": sa.select(
        *(PROJECT.c.row, PROJECT.c.head_seq, PROJECT.c.head_hash, PROJECT.c.learned_seq),
        *(embedder(), migrations(), sa.select(sa.func.max(PARTITION.c.row)).scalar_subquery()),
    ).where(PROJECT.c.name == given("name")),
    "project_head": sa.select(PROJECT.c.head_seq, embedder(), migrations()).where(PROJECT.c.row == given("project")),
    "project_insert": inserting(PROJECT, "row"),
    "project_advance": updating(PROJECT, "row", "head_seq", "head_hash", "learned_seq"),
    "partitions": _partitions.where(PARTITION.c.row > given("after")).order_by(PARTITION.c.row),
    "partition_insert": inserting(PARTITION, "row"),
    "counts": sa.select(_m.partition, sa.func.count(), sa.func.min(_m.created_at), sa.func.max(_m.created_at))
    .where(_m.project == given("project"), _m.archived_at.is_(None))
    .group_by(_m.partition),
    # Memories and their usage.
    "memory_insert": inserting(MEMORY, "row"),
    "memory_by_id": sa.select(MEMORY).where(_m.project == given("project"), _m.id == given("id")),
    "places": sa.select(_m.id, _m.row, _m.partition, _m.archived_at, *(_u[name] for name in USAGE_COUNTS))
    .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
    .where(*_named),
    "memories": sa.select(_m.row, _m.partition, *_SHOWN).where(_m.row.in_(rows_given())),
    "memories_named": sa.select(_m.row, _m.partition, *_SHOWN).where(*_named),
    "rows_in": sa.select(_m.row).where(*_in_partitions).order_by(_m.row),
    "outcomes_in": sa.select(*_RECORDED).where(*_in_partitions, _m.row >= given("since")).order_by(_m.row),
    "outcomes_named": sa.select(*_RECORDED).where(*_named).order_by(_m.row),
    "candidates": sa.select(
        *(_m.row, _m.partition, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.content_hash),
        *(sa.func.coalesce(_u[name], ZERO) for name in USAGE_COUNTS),
    )
    .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
    .where(_m.row.in_(rows_given()), _m.archived_at.is_(None)),
    "usage_insert": inserting(USAGE),
    "usage_put": replacing(USAGE, "memory"),
    "usage_update": updating(USAGE, "memory", *USAGE_COUNTS),
    # Whole rows with their keys, for `logical`.
    "partition_of": sa.select(PARTITION).where(PARTITION.c.row == given("row")),
    "memory_rows": sa.select(MEMORY).where(_m.project == given("project")).order_by(_m.row),
    "memory_update": updating(MEMORY, "row", *(column.name for column in _m if column.name not in ("row", "project"))),
    "memory_delete": sa.delete(MEMORY).where(_m.row == given("of_row")),
    "passage_rows": _passages.where(_p.project == given("project")).order_by(_p.row),
    "passages_of": _passages.where(*_of_memory).order_by(_p.position),
    "passage_at": _passages.where(*_of_memory, _p.position == given("position")),
    "passage_update": updating(PASSAGE, "row", *(column.name for column in _p if column.name not in ("row", "project"))),
    "passage_delete": sa.delete(PASSAGE).where(_p.row == given("of_row")),
    "usage_rows": _usages.where(_m.project == given("project")).order_by(_u.memory),
    "usage_of": _usages.where(*_of_memory),
    "usage_delete": sa.delete(USAGE).where(_u.memory == given("of_memory")),
    "record_rows": sa.select(RECORD).where(RECORD.c.project == given("project")).order_by(RECORD.c.kind, RECORD.c.key),
    "record_row": sa.select(RECORD).where(
        *(RECORD.c[name] == given(name) for name in ("project", "kind", "key")),
    ),
    "record_update": sa.update(RECORD)
    .values({name: given(name) for name in ("version", "body", "updated_at")})
    .where(*_record_key),
    "record_delete": sa.delete(RECORD).where(*_record_key),
    "record_take": sa.delete(RECORD)
    .where(*_record_key, RECORD.c.version == given("of_version"))
    .returning(RECORD.c.body, RECORD.c.updated_at),
    # Texts, for full text.
    "passage_insert": inserting(PASSAGE, "row"),
    "texts": _texts.where(*_is_new_passage),
    "texts_since": _texts.where(_p.memory.in_(sa.select(_p.memory).where(*_is_new_passage))),
    "texts_searched": _searched.where(_p.project == given("project"), _p.is_live == ONE).order_by(_p.memory, _p.position),
    "texts_searched_of": _searched.where(_p.memory.in_(rows_given()), _p.is_live == ONE).order_by(_p.memory, _p.position),
    "texts_touched": sa.select(_p.memory).distinct().where(*_is_new_passage),
    # Vectors.
    "vector_insert": ignoring(VECTOR, "row", "embedder").values(embedder=embedder()),
    "vectors": sa.select(_v.text_hash, _v.vector, _v.embedder).join(_wanted, _is_wanted),
    "vector_changes": _with_vectors.where(
        _p.project == given("project"), _p.seq > given("after"), _p.seq <= given("upto"), _p.text_hash.is_not(None)
    ).order_by(_p.seq, _p.row),
    "vectors_of": _embedded.where(_m.row.in_(rows_given())).order_by(_p.memory, _p.row),
    "vectors_in": _embedded.where(_p.memory.in_(_inside)).order_by(_p.memory, _p.row),
    "vectors_at": sa.select(_p.row, _v.vector, _v.text_hash)
    .select_from(PASSAGE.outerjoin(VECTOR, _IS_ITS_VECTOR))
    .where(_is_of_project, _p.row.in_(rows_given()), _p.text_hash.is_not(None)),
    "hashes": sa.select(_p.text_hash).distinct().where(_p.project == given("project"), _p.text_hash.is_not(None)),
    "vector_known": sa.select(_v.row).where(
        _v.project == number("project"), _v.text_hash == given("text_hash"), _v.embedder == number("embedder")
    ),
    "vector_drop": sa.delete(VECTOR).where(_v.project == given("of_project"), _v.text_hash == given("of_text_hash")),
    # Samples of a scope.
    "ties_of": sa.select(_m.row, _m.content_hash)
    .where(_m.project == given("project"), _m.row.in_(rows_given()), _has_vector)
    .order_by(_m.row),
    "smallest_ties": sa.select(_m.row)
    .where(_m.project == given("project"), _m.partition.in_(rows_given()), _has_vector)
    .order_by(_negative_first, _m.content_hash, _m.row)
    .limit(number("limit")),
    "population": sa.select(sa.func.count())
    .select_from(MEMORY)
    .where(_m.project == given("project"), _m.partition.in_(rows_given()), _has_vector),
    # Small records.
    "records_by_key": _by_version.add_columns(RECORD.c.updated_at).where(*_of_kind, RECORD.c.key.in_(given_in("keys"))),
    "records_of_kind": _by_version.where(*_of_kind).order_by(RECORD.c.key),
    "records_under": _by_version.where(*_of_kind, RECORD.c.key > given("first"), RECORD.c.key < given("last")).order_by(
        RECORD.c.key
    ),
    "records_newest": _by_version.where(*_of_kind)
    .order_by(RECORD.c.updated_at.desc(), RECORD.c.key.desc())
    .limit(number("newest")),
    "record_insert": inserting(RECORD),
    "record_put": replacing(RECORD, "project", "kind", "key", follows="version"),
    # The journal.
    "journal_insert": inserting(JOURNAL, "place").values(place=place(number("project"), given("seq"))),
    "journal_hash": sa.select(JOURNAL.c.hash).where(JOURNAL.c.place == place(number("project"), given("seq"))),
    "journal_operation": sa.select(JOURNAL).where(in_journal(), JOURNAL.c.operation == given("operation")),
    "journal_after": sa.select(JOURNAL).where(in_journal(given("after"))).order_by(JOURNAL.c.place),
    "journal_touching": sa.select(JOURNAL)
    .select_from(_touching.join(JOURNAL, JOURNAL.c.place == place(number("project"), _touching.c.seq)))
    .order_by(_touching.c.seq),
    "journal_at": sa.select(JOURNAL).where(JOURNAL.c.place == place(number("project"), given("seq"))),
    "journal_erase": sa.update(JOURNAL)
    .values(payload=sa.null(), salt=sa.null())
    .where(JOURNAL.c.place == place(number("of_project"), given("of_seq"))),
    # What records touched.
    "touched_seqs": sa.union(
        sa.select(TOUCHED.c.seq).where(TOUCHED.c.project == given("project"), TOUCHED.c.key == given("key")),
        sa.select(_m.seq).where(_m.project == given("project"), _m.id == given("key")),
    ).order_by("seq"),
    "touched_all": sa.union_all(
        sa.select(TOUCHED.c.key, TOUCHED.c.seq).where(TOUCHED.c.project == given("project")),
        sa.select(_m.id, _m.seq).where(_m.project == given("project")),
    ),
    "touched_delete": sa.delete(TOUCHED).where(TOUCHED.c.project == given("of_project"), TOUCHED.c.key == given("of_key")),
    "touched_drop": sa.delete(TOUCHED).where(
        TOUCHED.c.project == given("of_project"), TOUCHED.c.key == given("of_key"), TOUCHED.c.seq == given("of_seq")
    ),
    "touched_under": sa.select(TOUCHED.c.key)
    .distinct()
    .where(TOUCHED.c.project == given("project"), TOUCHED.c.key > given("first"), TOUCHED.c.key < given("last")),
    "touched_insert": ignoring(TOUCHED),
    # Memories by time.
    "stale": sa.select(_m.id)
    .where(
        _m.project == given("project"),
        _m.archived_at.is_(None),
        _m.partition.in_(rows_given()),
        sa.or_(optional("seen_before", sa.BigInteger()).is_(None), _m.seen_at < number("seen_before")),
        sa.or_(optional("below", sa.Float()).is_(None), _m.confidence < given("below")),
    )
    .order_by(_m.row),
    "within": sa.select(_m.row)
    .where(_m.project == given("project"), _m.partition.in_(rows_given()), *_seen_within)
    .order_by(_m.row),
    "within_among": sa.select(_m.row)
    .where(
        _m.row.in_(rows_given("among")),
        _m.project + ZERO == given("project"),  # sums: else SQLite may read the whole project by an index
        (_m.partition + ZERO).in_(rows_given()),
        *_seen_within,
    )
    .order_by(_m.row),
    # Passages that are gone.
    "removed_insert": ignoring(REMOVED),
    "removed_any": sa.select(REMOVED.c.passage).where(*_is_new_removal).limit(ONE),
    "removed_since": sa.select(REMOVED.c.passage).where(
        *_is_new_removal,
        # a passage that lost its vector and has one again is taken in with the changes
        ~sa.select(_p.row).where(_p.row == REMOVED.c.passage, *_EMBEDDED).exists(),
    ),
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
    .limit(number("most")),
    "telling": sa.select(_m.row)
    .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
    .where(_of_project, _is_here)
    .order_by((_used[0] + _used[1] - _used[2]).desc(), sa.func.coalesce(_m.trials, ZERO).desc(), _m.seen_at.desc(), _m.row.desc())
    .limit(number("most")),
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
    "listed_oldest": _listed.order_by(_m.created_at, _m.row).limit(number("limit")),
    "listed_newest": _listed.order_by(_m.created_at.desc(), _m.row.desc()).limit(number("limit")),
    # Purges.
    "partitions_used": _partitions.add_columns(_is_used.label("is_used")),
    "partition_delete": sa.delete(PARTITION).where(PARTITION.c.row == number("of_row")),
    "outcome_bodies": sa.select(_m.id, _m.partition, _m.body)
    .select_from(MEMORY.join(PARTITION, PARTITION.c.row == _m.partition))
    .where(PARTITION.c.project == number("project"), PARTITION.c.kind == sa.literal_column("'outcome'")),
}
"""Statements of calls that programs make all the time, and of short commands: SQLite's sessions have their text ahead of time."""

_mine = sa.and_(_m.project == number("project"), sa.or_(number("is_of_all") == ONE, _m.partition.in_(rows_given("partitions"))))
_embedded_texts = sa.select(_p.project, _p.text_hash).distinct().where(_p.text_hash.is_not(None)).subquery("texts")


def _has_next_vector(text: Any) -> sa.Exists:
    """The condition that a text of a project has a vector by the given embedder."""
    of_text = (_v.project == text.project, _v.text_hash == text.text_hash)
    return sa.exists().where(*of_text, _v.embedder == number("embedder")).correlate_except(VECTOR)


RARE_STATEMENTS: dict[str, ClauseElement] = {
    # Export.
    "export_counts": sa.select(sa.func.count().label("memories"), sa.func.count(_m.archived_at).label("archived")).where(_mine),
    "export_numbers": sa.select(_m.row).where(_mine).order_by(_m.row),
    "memory_by_row": sa.select(MEMORY).where(_m.row == number("row")),
    # Verification.
    "removed_counts": sa.select(REMOVED.c.seq, sa.func.count())
    .where(REMOVED.c.project == number("project"))
    .group_by(REMOVED.c.seq),
    "vector_rows": sa.select(_v.row, _v.text_hash, _v.embedder, _v.vector, _v.checksum).where(_v.project == number("project")),
    # Vectors of another embedder than the one that serves.
    "texts_missing": sa.select(_p.row, _p.project, _p.memory, _p.position, _p.text, _p.text_hash)
    .where(_p.text_hash.is_not(None), _p.row > number("after"), ~_has_next_vector(_p))
    .order_by(_p.row)
    .limit(number("limit")),
    "texts_made": sa.select(total(sa.case((_has_next_vector(_embedded_texts.c), ONE), else_=ZERO)), sa.func.count()).select_from(
        _embedded_texts
    ),
    "passage_hashes": sa.select(_p.row, _p.text_hash).where(_p.row.in_(rows_given())),
    "next_vector_insert": ignoring(VECTOR, "row"),
    "vector_left_over": sa.select(_v.row)
    .where(_v.row > number("after"), _v.embedder.not_in(rows_given("numbers")))
    .order_by(_v.row)
    .limit(number("limit")),
    "vectors_unused": sa.select(_v.row, _v.project, _v.text_hash).where(
        sa.tuple_(_v.project, _v.text_hash).not_in(sa.select(_p.project, _p.text_hash).where(_p.text_hash.is_not(None)))
    ),
    "vector_delete": sa.delete(VECTOR).where(_v.row == number("of_row")),
    # The full text of stores that have no other.
    "word_insert": inserting(WORD),
    "words_clear": sa.delete(WORD).where(WORD.c.project == number("of_project")),
    "words_delete": sa.delete(WORD).where(WORD.c.project == number("of_project"), WORD.c.memory == number("of_memory")),
    "word_lists": sa.select(WORD.c.stem, WORD.c.memory, WORD.c.own, WORD.c.other)
    .where(WORD.c.project == number("project"), WORD.c.stem.in_(given_in("stems")))
    .order_by(WORD.c.stem, WORD.c.memory),
}
"""Statements of export, verification, re-embedding and copies, which SQLite's sessions compile when they first run one."""

for _name in COPIED:
    _table = metadata.tables[_name]
    RARE_STATEMENTS |= {
        f"copy_{_name}": sa.select(_table).order_by(*_table.primary_key.columns),
        f"copied_{_name}": inserting(_table),
        f"copied_count_{_name}": sa.select(sa.func.count()).select_from(_table),
    }

STATEMENTS = USUAL_STATEMENTS | RARE_STATEMENTS
