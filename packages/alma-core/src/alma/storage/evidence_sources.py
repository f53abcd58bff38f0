"""The statements about evidence, written over the tables. `sources.py` compiles them with the others."""

from sqlalchemy import and_, delete, exists, func, literal_column, or_, select
from sqlalchemy.sql import ClauseElement

from alma.storage.pieces import EVIDENCE, MEMORY, PARTITION, PASSAGE, begins, given, inserting, rows_given, updating

_m, _p, _e = MEMORY.c, PASSAGE.c, EVIDENCE.c


def evidence_sources() -> dict[str, ClauseElement]:
    """What `evidence.py` and `logical.py` read and write of evidence, and of outcomes that are alone in their classes."""
    own = EVIDENCE.alias("own")
    of_agent = (_e.project == given("project"), _e.agent == given("agent"))
    of_class = (*of_agent, _e.task_class == given("task_class"))
    of_outcomes = PARTITION.c.kind == literal_column("'outcome'")
    outcomes = MEMORY.join(PARTITION, PARTITION.c.row == _m.partition)
    outcomes_of_agent = (
        select(PARTITION.c.row)
        .where(PARTITION.c.project == given("project"), PARTITION.c.is_user == literal_column("0"))
        .where(PARTITION.c.owner == given("agent"), of_outcomes)
        .scalar_subquery()
    )
    first_passage = (
        select(_p.text)
        .where(_p.memory == _m.row)
        .order_by(_p.position)
        .limit(literal_column("1"))
        .offset(literal_column("0"))
        .correlate(MEMORY)
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
    is_uncounted = ~exists().where(_e.project == _m.project, _e.id == _m.evidence).correlate(MEMORY)
    return {
        "EVIDENCE_ROWS": select(EVIDENCE).where(_e.project == given("project")).order_by(_e.row),
        "EVIDENCE_BY_ID": select(EVIDENCE).where(_e.project == given("project"), _e.id == given("id")),
        "EVIDENCE_INSERT": inserting(EVIDENCE, "row"),
        "EVIDENCE_UPDATE": updating(EVIDENCE, "row", *(c.name for c in EVIDENCE.c if c.name not in ("row", "project"))),
        "EVIDENCE_AT": select(EVIDENCE).where(*of_class, _e.strategy_hash == given("strategy_hash")),
        "EVIDENCE_OF_CLASS": select(EVIDENCE)
        .where(*of_class)
        .order_by(_e.trials.desc(), _e.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_CLASSES": select(EVIDENCE)
        .where(*of_agent, _e.task.is_not(None))
        .order_by(_e.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_LARGEST_CLASSES": select(EVIDENCE)
        .where(*of_agent, _e.task.is_not(None))
        .order_by(_e.trials.desc(), _e.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_TOTAL": select(func.total(_m.successes), func.total(_m.successes.is_not(None))).where(
            *(_m.project == given("project"), _m.evidence.is_not(None)),
            _m.partition == outcomes_of_agent,
            func.substr(_m.evidence, literal_column("17"), literal_column("1")) != literal_column("'s'"),
        ),
        "EVIDENCE_OUTCOMES": select(_m.row)
        .select_from(outcomes)
        .where(_m.project == given("project"), _m.evidence == given("evidence"), of_outcomes)
        .order_by(_m.seen_at.desc(), _m.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_CLASS_EXISTS": select(
            or_(
                exists().where(_m.project == given("project"), *begins(_m.evidence)),
                exists().where(_e.project == given("project"), *begins(_e.id)),
            )
        ),
        "EVIDENCE_FIRST_OF_CLASS": firsts.where(_m.project == given("project"), *begins(_m.evidence))
        .order_by(_m.row)
        .limit(literal_column("1"))
        .offset(literal_column("0")),
        "EVIDENCE_FIRSTS": firsts.where(_m.row.in_(rows_given()), _m.evidence.is_not(None), is_uncounted),
        "EVIDENCE_NEWEST_FIRSTS": firsts.where(
            _m.row.in_(
                select(_m.row)
                .where(_m.project == given("project"), _m.evidence.is_not(None), _m.partition == outcomes_of_agent)
                .order_by(_m.row.desc())
                .limit(given("looked_at"))
                .offset(literal_column("0"))
            ),
            *(_m.evidence.is_not(None), is_uncounted),
        )
        .order_by(_m.row.desc())
        .limit(given("most"))
        .offset(literal_column("0")),
        "EVIDENCE_COUNTED": select(_m.evidence, func.count(), func.max(_e.trials + _e.unverified))
        .select_from(outcomes.outerjoin(EVIDENCE, and_(_e.project == _m.project, _e.id == _m.evidence)))
        .where(_m.project == given("project"), *begins(_m.evidence), of_outcomes)
        .group_by(_m.evidence)
        .order_by(_m.evidence),
        "EVIDENCE_BEHIND": select(_m.row.label("memory"), EVIDENCE)
        .select_from(MEMORY.join(EVIDENCE, and_(_e.project == _m.project, _e.id == _m.evidence)))
        .where(_m.row.in_(rows_given())),
        "EVIDENCE_OVERRULED": select(_m.row)
        .select_from(
            MEMORY.join(EVIDENCE, and_(_e.project == _m.project, _e.id == _m.evidence)).join(
                own, and_(*(own.c[name] == EVIDENCE.c[name] for name in ("project", "task_class", "strategy_hash")))
            )
        )
        .where(
            *(_m.row.in_(rows_given()), _e.agent != given("agent")),
            *(own.c.agent == given("agent"), own.c.trials >= given("trials")),
        ),
        "EVIDENCE_OF_RULES": select(EVIDENCE).where(*of_agent, or_(_e.heuristic.is_not(None), _e.anti_pattern.is_not(None))),
        "EVIDENCE_DELETE": delete(EVIDENCE).where(_e.row == given("of_row")),
    }
