"""The statements about evidence."""

from typing import Any

from sqlalchemy import CTE, and_, case, delete, exists, func, literal_column, or_, select
from sqlalchemy.sql import ClauseElement

from alma.storage.relational.evidence import SUBJECT
from alma.storage.relational.statements.pieces import (
    EVIDENCE,
    MEMORY,
    ONE,
    PARTITION,
    PASSAGE,
    ZERO,
    begins,
    given,
    given_in,
    inserting,
    number,
    rows_given,
    rows_of,
    total,
    updating,
    updating_rows,
    values_given,
)

_m, _p, _e = MEMORY.c, PASSAGE.c, EVIDENCE.c


def between(name: Any, ids: CTE) -> tuple[Any, Any]:
    """The condition of beginning as all ids do that come after the first one given and before the last."""
    return name >= ids.c.first, name < ids.c.last


def evidence_statements() -> dict[str, ClauseElement]:
    """The statements of `evidence.py` and `logical.py`: of evidence, and of outcomes that are alone in their classes."""
    of_agent = (_e.project == given("project"), _e.agent == given("agent"))
    of_outcomes = PARTITION.c.kind == literal_column("'outcome'")
    outcomes = MEMORY.join(PARTITION, PARTITION.c.row == _m.partition)
    outcomes_of_agent = (
        select(PARTITION.c.row)
        .where(PARTITION.c.project == given("project"), PARTITION.c.is_user == ZERO)
        .where(PARTITION.c.owner == given("agent"), of_outcomes)
        .scalar_subquery()
    )
    first_passage = {
        name: select(_p[name])
        .where(_p.memory == _m.row)
        .order_by(_p.position)
        .limit(ONE)
        .offset(ZERO)
        .correlate(MEMORY)
        .scalar_subquery()
        for name in ("text", "position")
    }
    firsts = (
        select(
            *(_m.row, _m.id, _m.agent, _m.body, _m.confidence, _m.successes, _m.trials, _m.seen_at, _m.created_at),
            *(_m.updated_at, _m.evidence, first_passage["text"].label("task"), first_passage["position"].label("position")),
        )
        .select_from(outcomes)
        .where(of_outcomes)
    )
    ids = rows_of(EVIDENCE, project="project", first="id", last="id")
    memory, partition = MEMORY.alias("resting"), PARTITION.alias("resting_in")
    oldest_outcome = (
        select(func.min(memory.c.row))
        .select_from(memory.join(partition, partition.c.row == memory.c.partition))
        .where(
            memory.c.project == ids.c.project, *between(memory.c.evidence, ids), partition.c.kind == literal_column("'outcome'")
        )
        .correlate(ids)
        .scalar_subquery()
    )
    is_uncounted = ~exists().where(_e.project == _m.project, _e.id == _m.evidence).correlate(MEMORY)
    agents, of_each = values_given("agents"), EVIDENCE.alias("of_each")
    newest_cells = (
        select(of_each.c.row)
        .where(of_each.c.project == given("project"), of_each.c.agent == agents.c.value, of_each.c.task.is_not(None))
        .order_by(of_each.c.observed_at.desc(), of_each.c.row.desc())
        .limit(number("most"))
        .offset(ZERO)
        .correlate(agents)
    )
    outcomes_of_each = (
        select(PARTITION.c.row)
        .where(PARTITION.c.project == given("project"), PARTITION.c.is_user == ZERO)
        .where(PARTITION.c.owner == agents.c.value, of_outcomes)
        .correlate(agents)
        .scalar_subquery()
    )
    looked_at = (
        select(memory.c.row, memory.c.project, memory.c.evidence)
        .where(memory.c.partition == outcomes_of_each, memory.c.evidence.is_not(None))
        .order_by(memory.c.row.desc())
        .limit(number("looked_at"))
        .offset(ZERO)
        .correlate(agents)
        .subquery("looked_at")
    )
    newest_firsts = (
        select(looked_at.c.row)
        .where(~exists().where(_e.project == looked_at.c.project, _e.id == looked_at.c.evidence).correlate(looked_at))
        .order_by(looked_at.c.row.desc())
        .limit(number("most"))
        .offset(ZERO)
        .correlate(agents)
    )
    return {
        "evidence_rows": select(EVIDENCE).where(_e.project == given("project")).order_by(_e.row),
        "evidence_by_id": select(EVIDENCE).where(_e.project == given("project"), _e.id == given("id")),
        "evidence_insert": inserting(EVIDENCE, "row"),
        "evidence_put": updating_rows(
            EVIDENCE, ("project", "id"), *(c.name for c in EVIDENCE.c if c.name not in ("row", "project", *SUBJECT))
        ),
        "evidence_update": updating(EVIDENCE, "row", *(c.name for c in EVIDENCE.c if c.name not in ("row", "project"))),
        "evidence_newest": select(EVIDENCE)
        .select_from(agents.join(EVIDENCE, _e.row.in_(newest_cells)))
        .order_by(_e.observed_at.desc(), _e.row.desc()),
        "evidence_of_users": select(EVIDENCE)
        .where(_e.project == given("project"), *begins(_e.agent), _e.task.is_not(None))
        .order_by(_e.observed_at.desc(), _e.row.desc())
        .limit(number("most"))
        .offset(ZERO),
        "evidence_of_tasks": select(EVIDENCE, case((_e.row.is_(None), oldest_outcome)).label("oldest_outcome"))
        .select_from(ids.outerjoin(EVIDENCE, and_(_e.project == ids.c.project, *between(_e.id, ids))))
        .order_by(_e.row),
        "evidence_first_outcomes": select(_m.evidence, func.min(_m.row).label("row"))
        .select_from(outcomes)
        .where(_m.project == given("project"), _m.evidence.in_(given_in("ids")), of_outcomes)
        .group_by(_m.evidence),
        "evidence_verdicts": select(_m.row, _m.successes).where(_m.row.in_(rows_given())),
        "evidence_total": select(total(_m.successes), func.count(_m.successes)).where(
            *(_m.project == given("project"), _m.evidence.is_not(None)),
            _m.partition == outcomes_of_agent,
            func.substr(_m.evidence, literal_column("17"), ONE) != literal_column("'s'"),
        ),
        "evidence_outcomes": select(_m.row)
        .select_from(outcomes)
        .where(_m.project == given("project"), _m.evidence == given("evidence"), of_outcomes)
        .order_by(_m.seen_at.desc(), _m.row.desc())
        .limit(number("most"))
        .offset(ZERO),
        "evidence_firsts": firsts.where(_m.row.in_(rows_given()), _m.evidence.is_not(None), is_uncounted),
        "evidence_newest_firsts": firsts.join(agents, _m.row.in_(newest_firsts)).order_by(_m.row.desc()),
        "evidence_counted": select(_m.evidence, func.count(), func.max(_e.trials + _e.unverified))
        .select_from(outcomes.outerjoin(EVIDENCE, and_(_e.project == _m.project, _e.id == _m.evidence)))
        .where(_m.project == given("project"), *begins(_m.evidence), of_outcomes)
        .group_by(_m.evidence)
        .order_by(_m.evidence),
        "evidence_behind": select(_m.row.label("memory"), EVIDENCE)
        .select_from(MEMORY.join(EVIDENCE, and_(_e.project == _m.project, _e.id == _m.evidence)))
        .where(_m.row.in_(rows_given())),
        "evidence_of_rules": select(EVIDENCE).where(*of_agent, or_(_e.heuristic.is_not(None), _e.anti_pattern.is_not(None))),
        "evidence_delete": delete(EVIDENCE).where(_e.row == given("of_row")),
    }
