"""Routes that take back: forgetting, quarantine, the journal and undo; and counts of what there is."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query

from alma.errors import ValidationError
from alma.types.identity import from_micros
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory
from alma.types.overview import JournalLine
from alma.types.reports import UndoReport
from alma_access import ANY
from alma_server.asking import Asked, AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import Consolidated, Counts, Forgotten, Journal, Kinds, Memories, Names, Released, forgotten_by
from alma_server.routes.bodies import Consolidate, Forget, ForgetUser, Name, Release, Undo
from alma_server.routes.jobs import Jobs
from alma_server.routes.listing import LARGEST_LIST
from alma_server.routes.scope import (
    Reader,
    check_confirmed,
    confirmation_of,
    fields_of,
    forget_named,
    forget_preferences,
    plain_ids,
    read_as,
    require_all_agents,
    require_all_users,
)

if TYPE_CHECKING:
    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["upkeep"])

USER_PREFIX = "user:"
"""Begins the names of users among those of agents, where memories are counted."""

MOST_UNSURE = 100

MOST_SCANNED = 1_000
"""Journal records that one request reads."""


@router.post("/forget", operation_id="forget")
async def forget(body: Forget, asked: AskedDep, once: OnceDep) -> Forgotten:
    """Archives or erases memories by id, or archives stale ones by limits. By default it only reports what it would do."""
    asked.require("forget")
    done = await once.write(
        lambda alma: _forget(alma, asked, body),
        remember=lambda done: {"seqs": done.seqs, "memory_ids": plain_ids(done.memory_ids)},
        recall=lambda _, refs: _forgotten_before(body, refs),
    )
    if body.purge:
        Jobs.of(asked.request.app).drop_exports(asked.project)
    return done


@router.post("/users/{user_id}/forget", operation_id="forget_user")
async def forget_user(user_id: str, body: ForgetUser, asked: AskedDep, once: OnceDep) -> Forgotten:
    """Erases all that was recorded for a user, for good. The receipt lists every surface. By default it only reports what it would do."""
    asked.require("admin")
    require_all_agents(asked)
    named = asked.user(user_id) or user_id
    done = await once.write(
        lambda alma: forgotten_by([alma.forget_user(named, dry_run=body.dry_run)], unknown=[], dry_run=body.dry_run),
        remember=lambda done: {"seqs": done.seqs, "memory_ids": plain_ids(done.memory_ids)},
        recall=lambda _, refs: _forgotten_before(body, refs),
    )
    if not body.dry_run:
        Jobs.of(asked.request.app).drop_exports(asked.project)
    return done


@router.get("/quarantine", operation_id="quarantined")
async def quarantined(asked: AskedDep, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> Memories:
    """Returns the suspicious memories that are kept and never shown, newest first."""
    asked.require("judge")
    reader = read_as(asked, None, None)

    def call(alma: "ALMA") -> Memories:
        return Memories(memories=_held(alma, reader)[:limit])

    return await asked.read(call)


@router.post("/quarantine:release", operation_id="release_quarantined")
async def release_quarantined(body: Release, asked: AskedDep, once: OnceDep) -> Released:
    """Lets memories out of quarantine, and returns the ids of those that were in it."""
    asked.require("judge")
    reader = read_as(asked, None, None)

    def call(alma: "ALMA") -> list[str]:
        held = {each.id for each in _held(alma, reader)}
        return alma.release_quarantined([each for each in body.memory_ids if each in held])

    return Released(memory_ids=await once.write(call, remember=plain_ids))


@router.get("/journal", operation_id="journal")
async def journal(
    asked: AskedDep,
    after: Annotated[int, Query(ge=0, lt=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    actor: Annotated[Name | None, Query()] = None,
) -> Journal:
    """Returns the journal records after a number, in order: who did what, when. Their contents are told by the histories of memories."""
    asked.require("read")
    require_all_users(asked, "read the journal")
    wanted = asked.any_agent(actor)
    return await asked.read(lambda alma: _journal(alma, after, limit, wanted))


@router.post("/undo", operation_id="undo")
async def undo(body: Undo, asked: AskedDep, once: OnceDep) -> UndoReport:
    """Reverses what an agent did after a journal record; all that was done since, for a token with the right `admin`. By default it only
    reports what it would do."""
    asked.require("forget")
    require_all_users(asked, "undo")
    given = {**fields_of(body), "actor": asked.any_agent(body.actor)}
    if given["actor"] is None:
        asked.require("admin")
    return await once.write(
        lambda alma: alma.undo(**given),
        remember=lambda report: {"seq": report.seq, "head": report.head},
        recall=lambda alma, refs: alma.undo_preview(body.to, actor=given["actor"]).model_copy(
            update={**refs, "dry_run": body.dry_run}
        ),
    )


@router.post("/consolidate", operation_id="consolidate")
async def consolidate(body: Consolidate, asked: AskedDep, once: OnceDep) -> Consolidated:
    """Merges stated memories of an agent that say the same, as the rules judge them, and lists near pairs that a person may judge. By default
    it only reports what it would do."""
    asked.require("forget")
    require_all_users(asked, "consolidate")
    agent = asked.agent(body.agent)

    def call(alma: "ALMA") -> Consolidated:
        found = alma.consolidate(agent, body.kind, body.threshold, dry_run=body.dry_run)
        return Consolidated(
            dry_run=found.dry_run,
            memories_processed=found.memories_processed,
            merged_count=found.merged_count,
            merged=[each["merged_from"] for each in found.merge_details],
            unsure=[each["ids"] for each in found.unsure][:MOST_UNSURE],
            seq=found.journal_seq,
        )

    return await once.write(call, remember=Consolidated.model_dump, recall=lambda _, refs: Consolidated(**refs))


@router.get("/stats", operation_id="get_stats")
async def get_stats(asked: AskedDep, agent: Annotated[Name | None, Query()] = None) -> Counts:
    """Returns the content of the project, or of one agent in it, in numbers, as far as the token may read it. The size of the whole store is
    for tokens of any agent and any user."""
    asked.require("read")
    named = asked.any_agent(agent)
    found = await asked.read(lambda alma: alma.get_stats(named, users=asked.access.users))
    is_whole = asked.access.agent == ANY and asked.access.is_for_all_users
    return Counts(**{**dict(found), "database_bytes": found.database_bytes if is_whole else None})


@router.get("/agents", operation_id="agents")
async def agents(asked: AskedDep) -> Names:
    """Returns the names of the agents that have memories or rules here, as far as the token may act as them."""
    asked.require("read")

    def call(alma: "ALMA") -> Names:
        known = {name for name in alma.get_stats(users=asked.access.users).by_agent if not name.startswith(USER_PREFIX)} | set(
            alma.agents
        )
        return Names(names=sorted(name for name in known if asked.access.reads(agent=name, user_id=None)))

    return await asked.read(call)


@router.get("/users", operation_id="users")
async def users(asked: AskedDep) -> Names:
    """Returns the names of the users for whom anything was recorded."""
    asked.require("admin")
    require_all_agents(asked)
    return await asked.read(
        lambda alma: Names(names=[name for name in alma.users() if asked.access.reads(agent=None, user_id=name)])
    )


@router.get("/kinds", operation_id="memory_types")
async def memory_types(asked: AskedDep) -> Kinds:
    """Returns the kinds of memory."""
    asked.require("read")
    return await asked.read(lambda alma: Kinds(built_in=list(MemoryType), registered=alma.memory_types()))


def _held(alma: "ALMA", reader: Reader) -> list[AnyMemory]:
    """Returns what is in quarantine for a reader, newest first."""
    return [each for each in alma.quarantined(LARGEST_LIST) if reader.owns(each) and reader.sees_user(each.user_id)]


def _forget(alma: "ALMA", asked: Asked, body: Forget) -> Forgotten:
    reader = read_as(asked, body.agent, body.user_id)
    if body.memory_ids is None:
        return _forget_by_limits(alma, asked, body)
    if body.purge and not body.dry_run:
        check_confirmed(body.memory_ids, body.confirmation)
    reports, unknown = forget_named(alma, reader, body.memory_ids, dry_run=body.dry_run, purge=body.purge)
    rest = [*unknown, *(each for report in reports for each in report.unknown)]
    of_users, unknown = forget_preferences(alma, reader, rest, dry_run=body.dry_run, purge=body.purge)
    named = [report.model_copy(update={"unknown": ()}) for report in reports]
    confirmation = confirmation_of(body.memory_ids) if body.purge and body.dry_run else None
    return forgotten_by([*named, *of_users], unknown=unknown, dry_run=body.dry_run, confirmation=confirmation)


def _forget_by_limits(alma: "ALMA", asked: Asked, body: Forget) -> Forgotten:
    require_all_users(asked, "forget by limits")
    if body.purge or body.user_id is not None:
        raise ValidationError("purge and user_id go with memory_ids: limits archive, and reach the memories of all users")
    agent = asked.any_agent(body.agent)
    report = alma.forget(agent, body.older_than_days, body.below_confidence, dry_run=body.dry_run)
    return forgotten_by([report], unknown=[], dry_run=body.dry_run)


def _forgotten_before(body: "Forget | ForgetUser", refs: "dict[str, list[str]]") -> Forgotten:
    return Forgotten(
        dry_run=body.dry_run,
        total=len(refs["memory_ids"]),
        by_kind={},
        memory_ids=refs["memory_ids"],
        unknown=[],
        seqs=[int(seq) for seq in refs["seqs"]],
        receipts=[],
    )


def _journal(alma: "ALMA", after: int, limit: int, actor: str | None) -> Journal:
    """Reads a bounded number of records, so that a rare actor makes more pages, not longer ones."""
    project = alma.storage.project(alma.project_id)
    head, last, records = project.head(), after, list[JournalLine]()
    for entry in islice(project.entries(after=after), MOST_SCANNED):
        last = entry.seq
        if actor in (None, entry.actor):
            records.append(
                JournalLine(
                    seq=entry.seq,
                    at=from_micros(entry.at),
                    actor=entry.actor,
                    operation=entry.operation,
                    is_purged=entry.is_purged,
                )
            )
        if len(records) == limit:
            break
    return Journal(records=records, head=head, after=last if last < head else None)
