"""Tools for looking after a memory: its size and state, forgetting, history, undoing."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from alma import __version__
from alma.errors import MemoryNotFoundError, ValidationError
from alma.types import UserPreference
from alma.types.reports import ForgetReport
from alma_access import ANY, Access
from alma_mcp.answers import Change, Consolidated, Counts, Forgotten, Health, History, Reflected, Undone
from alma_mcp.calls import Calls
from alma_mcp.tools.arguments import Agent, MemoryId, Unneeded, UserId

if TYPE_CHECKING:
    from alma import ALMA

USER_PREFIX = "user:"
"""Begins the names of users among those of agents, where memories are counted."""

OLDER_THAN_DAYS, BELOW_CONFIDENCE = 90, 0.3
"""Usual limits of forgetting by policy."""

LEAST_COSINE, MOST_UNSURE = 0.85, 20
"""Usual cosine from which memories are compared to be merged, and the unsure pairs that are shown."""

_NOTHING_NAMED = (
    "Nothing was archived, because neither memories nor limits were named. To archive what is listed, call again with "
    f"older_than_days={OLDER_THAN_DAYS} and below_confidence={BELOW_CONFIDENCE}, or with the memory_ids."
)

DryRun = Annotated[bool, Field(description="Only report what would happen.")]


def stats(calls: Calls, agent: Agent = None) -> Counts:
    """Use to see how much is stored, by kind and by agent."""
    who = calls.access
    found = calls.alma.get_stats(who.as_any_agent(agent), users=who.users)
    return Counts(
        project_id=found.project_id,
        total=found.total,
        learned_rules=found.learned_rules,
        by_kind=found.by_kind,
        by_agent=found.by_agent,
        journal_records=found.journal_records,
        embedder=found.embedder,
    )


def health(calls: Calls) -> Health:
    """Use to see whether the memory works and whom you act as."""
    acts_as = str(calls.access)
    if not calls.opening.is_open:
        failure = calls.opening.failure
        calls.opening.start()
        status = "failed" if failure else "opening"
        return Health(status=status, version=__version__, project_id="", embedder="", acts_as=acts_as, error=failure)
    found = calls.alma.get_stats()
    return Health(status="ok", version=__version__, project_id=found.project_id, embedder=found.embedder, acts_as=acts_as)


def forget(
    calls: Calls,
    agent: Agent = None,
    memory_ids: Annotated[list[str] | None, Field(description="Exactly these, instead of a policy.")] = None,
    older_than_days: Annotated[float | None, Field(description="Outcomes older than this, such as 90.")] = None,
    below_confidence: Annotated[float | None, Field(description="Rules and facts below this, such as 0.3.")] = None,
    user_id: UserId = None,
    dry_run: DryRun = False,
) -> Forgotten:
    """Use to archive memories that are wrong, by id, or stale ones, by policy. Nothing finds them then; alma_undo brings them back.

    Without ids and limits it only reports what the usual limits would archive.
    """
    who = calls.access
    owner, user = who.as_any_agent(agent), who.as_user(user_id)
    if memory_ids is None:
        who.require_all_users("forget by policy")
        if user is not None:
            raise ValidationError("user_id goes with memory_ids: a policy reaches the memories of all users")
        if older_than_days is None and below_confidence is None:
            usual = calls.alma.forget(owner, OLDER_THAN_DAYS, BELOW_CONFIDENCE, dry_run=True)
            return _forgotten(usual).model_copy(update={"hint": _NOTHING_NAMED})
        return _forgotten(calls.alma.forget(owner, older_than_days, below_confidence, dry_run=dry_run))
    if owner is None:
        raise ValidationError("agent is missing: memories are forgotten by id for the agent that they belong to")
    own = [each for each in memory_ids if _belongs_to(calls.alma, each, owner, user, is_preference=False)]
    wishes = [each for each in memory_ids if _belongs_to(calls.alma, each, owner, user, is_preference=True)]
    reports = [calls.alma.forget(owner, memory_ids=own, dry_run=dry_run)] if own else []
    reports += [calls.alma.forget(memory_ids=wishes, dry_run=dry_run)] if wishes else []
    unknown = [each for each in memory_ids if each not in {*own, *wishes}]
    return _forgotten(*reports, unknown=unknown, dry_run=dry_run)


def history(calls: Calls, memory_id: MemoryId, agent: Agent = None, user_id: UserId = None) -> History:
    """Use to see what changed a memory, and when: each call with its number, for alma_undo."""
    who = calls.access
    calls.alma.get(memory_id, agent=who.as_agent(agent), user_id=who.as_user(user_id))
    return History(
        entries=[
            Change(
                seq=entry.seq,
                at=entry.at.isoformat(),
                actor=entry.actor,
                operation=entry.operation,
                what=entry.what,
                changed=sorted(entry.changed),
            )
            for entry in calls.alma.history(memory_id)
        ]
    )


def undo(
    calls: Calls,
    to: Annotated[int, Field(description="The journal record to go back to.")],
    agent: Agent = None,
    dry_run: DryRun = True,
) -> Undone:
    """Use to take back your own changes since a journal record. Look first: dry_run is the default."""
    who = calls.access
    actor = who.as_agent(agent)
    who.require_all_users("undo")
    report = calls.alma.undo(to, actor=actor, dry_run=dry_run)
    return Undone(
        records=report.records,
        dry_run=report.dry_run,
        brought_back=list(report.brought_back),
        removed=list(report.removed),
        changed=list(report.changed),
        seq=-1 if report.seq is None else report.seq,
    )


def consolidate(
    calls: Calls,
    agent: Agent = None,
    kind: Annotated[str | None, Field(description="Such as domain_knowledge; all by default.")] = None,
    similarity_threshold: Annotated[float, Field(description="Least cosine.")] = LEAST_COSINE,
    dry_run: DryRun = True,
    memory_type: Unneeded = None,
) -> Consolidated:
    """Use to merge your notes that say the same. Look first: dry_run is the default; alma_undo takes it back."""
    who = calls.access
    owner = who.as_agent(agent)
    who.require_all_users("consolidate")
    found = calls.alma.consolidate(owner, kind or memory_type, similarity_threshold, dry_run=dry_run)
    return Consolidated(
        merged_count=found.merged_count,
        groups_found=found.groups_found,
        memories_processed=found.memories_processed,
        merged=[each["merged_from"] for each in found.merge_details],
        unsure=[each["ids"] for each in found.unsure][:MOST_UNSURE],
        dry_run=dry_run,
        undo_to=-1 if found.journal_seq is None else found.journal_seq - 1,
    )


def reflect(
    calls: Calls,
    agent: Agent = None,
    task_type: Annotated[str | None, Field(description="Only tasks of this type.")] = None,
    dry_run: DryRun = True,
) -> Reflected:
    """Use to see what your successful runs did that failed ones did not, and to note it as lessons. Look first: dry_run is the default."""
    who = calls.access
    owner = who.as_agent(agent)
    who.require_all_users("reflect")
    found = calls.alma.reflect(owner, task_type, dry_run=dry_run)
    return Reflected(
        runs=found.runs,
        lessons=[str(each) for each in found.lessons],
        known=[str(each) for each in found.known],
        retired=list(found.retired),
        dry_run=dry_run,
        undo_to=-1 if found.journal_seq is None else found.journal_seq - 1,
    )


def readable(alma: "ALMA", memory_id: str, access: Access) -> dict[str, object]:
    """Returns a memory that a client may read, as plain values. `MemoryNotFoundError` otherwise."""
    memory = alma.get(memory_id)
    user = memory.user_id if access.is_for_all_users else access.as_user(None)
    if access.agent != ANY:
        memory = alma.get(memory_id, agent=access.agent, user_id=user)
    elif memory.user_id not in (None, user):
        raise MemoryNotFoundError(f"there is no memory {memory_id!r} that this client can see")
    return memory.model_dump(mode="json")


def _belongs_to(alma: "ALMA", memory_id: str, agent: str, user: str | None, *, is_preference: bool) -> bool:
    """True for a memory of this agent that its user may read, and for a preference of this user."""
    try:
        memory = alma.get(memory_id, agent=agent, user_id=user)
    except MemoryNotFoundError:
        return False
    if isinstance(memory, UserPreference):
        return is_preference and memory.user_id == user
    return not is_preference and memory.agent == agent


def _forgotten(*reports: ForgetReport, unknown: Sequence[str] = (), dry_run: bool = False) -> Forgotten:
    by_kind: Counter[str] = Counter()
    for report in reports:
        by_kind.update(report.by_kind)
    seqs = [report.seq for report in reports if report.seq is not None]
    return Forgotten(
        total=sum(report.total for report in reports),
        by_kind=dict(by_kind),
        memory_ids=[each for report in reports for each in report.memory_ids],
        unknown=[*unknown, *(each for report in reports for each in report.unknown)],
        dry_run=dry_run or any(report.dry_run for report in reports),
        undo_to=min(seqs) - 1 if seqs else -1,
    )
