"""The statements of `figures.py`: what there is, counted."""

from sqlalchemy import (
    func,
    literal_column,
    select,
)
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.statements.pieces import (
    JOURNAL,
    MEMORY,
    PASSAGE,
    USAGE,
    VECTOR,
    ZERO,
    given,
    in_journal,
    number,
    rows_given,
    total,
)

_m, _p, _v, _u = MEMORY.c, PASSAGE.c, VECTOR.c, USAGE.c


def figure_statements() -> dict[str, ClauseElement]:
    """All of them, by name."""
    of_project, is_here = _m.project == given("project"), _m.archived_at.is_(None)
    used = tuple(func.coalesce(column, ZERO) for column in (_u.used, _u.thumbs_up, _u.thumbs_down))
    shown = tuple(func.coalesce(func.sum(column), ZERO) for column in (_u.used, _u.ignored, _u.thumbs_up, _u.thumbs_down))
    length, none = func.length, ZERO
    of_passages, of_vectors = (table.c.project == given("project") for table in (PASSAGE, VECTOR))
    of_journal = in_journal()
    day, journal_day = _m.created_at.op("/")(given("a_day")), JOURNAL.c.at.op("/")(given("a_day"))
    return {
        "passages": select(
            _p.row, _p.project, _p.memory, _p.position, _p.time, _p.is_own, _p.speaker, _p.text, _p.keywords
        ).where(_p.row.in_(rows_given())),
        "growth": select(_m.partition, day.label("day"), func.count())
        .where(of_project, is_here)
        .group_by(_m.partition, literal_column("day"))
        .order_by(literal_column("day"), _m.partition),
        "activity": select(JOURNAL.c.operation, journal_day.label("day"), func.count())
        .where(of_journal)
        .group_by(JOURNAL.c.operation, literal_column("day"))
        .order_by(literal_column("day"), JOURNAL.c.operation),
        "journal_newest": select(
            *(JOURNAL.c.seq, JOURNAL.c.at, JOURNAL.c.actor, JOURNAL.c.operation, JOURNAL.c.payload.is_(None))
        )
        .where(of_journal)
        .order_by(JOURNAL.c.place.desc())
        .limit(number("most"))
        .offset(ZERO),
        "telling": select(_m.row)
        .select_from(MEMORY.outerjoin(USAGE, _u.memory == _m.row))
        .where(of_project, is_here)
        .order_by((used[0] + used[1] - used[2]).desc(), func.coalesce(_m.trials, none).desc(), _m.seen_at.desc(), _m.row.desc())
        .limit(number("most"))
        .offset(ZERO),
        "usage_totals": select(func.count(_u.memory), *shown, func.count(func.nullif(_u.used, none)))
        .select_from(USAGE.join(MEMORY, _m.row == _u.memory))
        .where(of_project, is_here),
        "archived_count": select(func.count()).where(of_project, _m.archived_at.is_not(None)),
        "passage_size": select(func.count(), total(length(_p.text) + length(_p.keywords))).where(of_passages),
        "vector_size": select(func.count(), total(length(_v.vector))).where(of_vectors),
        "journal_size": select(
            func.count(), total(length(JOURNAL.c.payload)), func.count() - func.count(JOURNAL.c.payload)
        ).where(of_journal),
    }
