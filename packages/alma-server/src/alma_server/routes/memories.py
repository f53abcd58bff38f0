"""Routes over memories: adding, listing, reading one and its past, forgetting one."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response

from alma.errors import MemoryNotFoundError, ScopeViolationError, ValidationError
from alma.types import DomainKnowledge, UserPreference
from alma.types.memories import AnyMemory, CustomMemory
from alma.types.provenance import MemoryProvenance
from alma.types.recalled import Reason, RetrievalExplanation
from alma.types.reports import HistoryEntry
from alma_server.asking import AskedDep
from alma_server.idempotency import OnceDep
from alma_server.paging import LARGEST_PAGE, make_cursor, read_cursor, show_next
from alma_server.routes.answers import Forgotten, Learned, Page, forgotten_by
from alma_server.routes.bodies import Add, AddConversation, AddKnowledge, AddOwn, AddPreference, Edit, Line, Moment, Name
from alma_server.routes.jobs import Jobs
from alma_server.routes.listing import Listing, get_with_held
from alma_server.routes.places import place
from alma_server.routes.scope import Reader, ReaderDep, fields_of, forget_named, forget_preferences
from alma_server.tags import check_match, content_tag, show_tag

if TYPE_CHECKING:
    from alma import ALMA
    from alma_server.asking import Asked

router = APIRouter(prefix="/projects/{project}", tags=["memories"])

Tags = Annotated[str | None, Header(max_length=2_000, description="Entity tags, as `ETag` has them.")]
"""Stated for the document of the API; `show_tag` and `check_match` read it."""

NOTED_BY_AGENT = "noted_by_agent"
"""Source of facts and preferences that an agent states without one."""


@router.post("/memories", operation_id="add", status_code=201)
async def add(body: Add, asked: AskedDep, once: OnceDep) -> AnyMemory:
    """Adds a memory of a kind: a preference, a fact, a warning, a strategy, a conversation, or one of the project's own kinds. Outcomes are
    learned instead. A suspicious one is kept in quarantine, where nothing finds it until a person releases it."""
    asked.require("write")
    given = _added(asked, body)
    memory = await once.write(
        lambda alma: alma.add_conversation(**given) if isinstance(body, AddConversation) else alma.add(body.kind, **given),
        remember=lambda made: made.id,
        recall=lambda alma, made: get_with_held(alma, [made])[0],
    )
    place(asked, "memories", memory.id)
    return memory


@router.get("/memories", operation_id="list_memories")
async def list_memories(
    asked: AskedDep,
    reader: ReaderDep,
    kind: Annotated[Name | None, Query()] = None,
    since: Annotated[Moment, Query()] = None,
    q: Annotated[Line | None, Query(description="Only memories that contain all of these words.")] = None,
    status: Literal["active", "quarantined"] = "active",
    order: Literal["newest", "oldest"] = "newest",
    cursor: Annotated[str | None, Query(max_length=2_000)] = None,
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = 50,
    count: Literal["exact", "none"] = "none",
) -> Page:
    """Returns memories by the time they were made, a page at a time. Going through all of them is quickest with the oldest first. Those in
    quarantine need the right `judge`, and are not searched by words."""
    asked.require("read")
    is_quarantine = status == "quarantined"
    if is_quarantine:
        asked.require("judge")
        if q is not None:
            raise ValidationError("memories in quarantine are not searched: leave out q, or the status")
    filters = {
        "agent": reader.agent,
        "user_id": reader.user,
        "kind": kind,
        "since": since,
        "q": q,
        "status": status,
        "order": order,
    }
    position = read_cursor(asked, cursor, **filters)
    listing = Listing(reader, kind, since, q, newest_first=order == "newest", is_quarantine=is_quarantine)

    def call(alma: "ALMA") -> tuple[list[AnyMemory], Any, int | None]:
        return *listing.page(alma, position, limit), listing.total(alma) if count == "exact" else None

    memories, after, total = await asked.read(call)
    following = None if after is None else make_cursor(asked, after, **filters)
    show_next(asked, following)
    return Page(memories=memories, next=following, total=total)


@router.get("/memories/{memory_id}", operation_id="get", responses={304: {"description": "It has not changed"}})
async def get(memory_id: str, asked: AskedDep, reader: ReaderDep, if_none_match: Tags = None) -> AnyMemory:
    """Returns a memory. Its `ETag` changes when anything of it does."""
    asked.require("read")
    memory = await asked.read(lambda alma: reader.memory(alma, memory_id))
    if show_tag(asked, memory.model_dump(mode="json")):
        return Response(status_code=304)  # type: ignore[return-value] # an answer without a body
    return memory


@router.patch("/memories/{memory_id}", operation_id="edit")
async def edit(memory_id: str, body: Edit, asked: AskedDep, reader: ReaderDep, if_match: Tags = None) -> AnyMemory:
    """Changes texts of a stated memory: a preference, a fact, a warning, a strategy, one of the project's own kinds. It keeps its id and its
    history, and undo takes the edit back. With `If-Match` only if it has not changed. A text that became suspicious puts it in quarantine."""
    asked.require("write")
    if not body.model_fields_set:
        raise ValidationError("an edit names at least one field")
    memory = await asked.write(lambda alma: _edit(alma, asked, reader, memory_id, body))
    asked.respond("ETag", content_tag(memory.model_dump(mode="json")))
    return memory


@router.delete("/memories/{memory_id}", operation_id="forget_memory")
async def forget_memory(
    memory_id: str, asked: AskedDep, reader: ReaderDep, purge: bool = False, if_match: Tags = None
) -> Forgotten:
    """Archives a memory, which undo brings back; with `purge` it is erased for good. With `If-Match` only if it has not changed."""
    asked.require("forget")
    done = await asked.write(lambda alma: _forget(alma, asked, reader, memory_id, purge))
    if purge:
        Jobs.of(asked.request.app).drop_exports(asked.project)
    return done


@router.get("/memories/{memory_id}/history", operation_id="history")
async def history(memory_id: str, asked: AskedDep, reader: ReaderDep) -> list[HistoryEntry]:
    """Returns the effect of every call on a memory, oldest first; none for a learned rule that no agent was shown."""
    asked.require("read")

    def call(alma: "ALMA") -> list[HistoryEntry]:
        memory = reader.memory(alma, memory_id)
        with suppress(MemoryNotFoundError):
            return alma.history(memory.id)
        return []

    return await asked.read(call)


@router.get("/memories/{memory_id}/provenance", operation_id="provenance")
async def provenance(memory_id: str, asked: AskedDep, reader: ReaderDep) -> MemoryProvenance:
    """Returns where a memory comes from: who recorded and who judged it, the session, the tool, the document."""
    asked.require("read")
    return await asked.read(lambda alma: alma.provenance(reader.memory(alma, memory_id).id))


@router.get("/memories/{memory_id}/evidence", operation_id="outcomes_behind")
async def outcomes_behind(
    memory_id: str, asked: AskedDep, reader: ReaderDep, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> Learned:
    """Returns the outcomes that a rule was learned from, newest first, as far as they may be read; none if it was stated."""
    asked.require("read")

    def call(alma: "ALMA") -> Learned:
        found = alma.outcomes_behind(reader.memory(alma, memory_id).id, limit)
        return Learned(outcomes=[each for each in found if reader.sees_user(each.user_id)])

    return await asked.read(call)


@router.get("/memories/{memory_id}/explain", operation_id="explain_retrieval")
async def explain_retrieval(
    memory_id: str,
    asked: AskedDep,
    task: Annotated[Line, Query()],
    agent: Annotated[Name | None, Query()] = None,
    user_id: Annotated[Name | None, Query()] = None,
    task_type: Annotated[Name | None, Query()] = None,
    top_k: Annotated[int, Query(ge=1, le=1_000)] = 5,
) -> RetrievalExplanation:
    """Explains why a memory is returned for a task, or the first filter that excludes it."""
    asked.require("read")
    who: dict[str, Any] = {"agent": asked.agent(agent), "user_id": asked.user(user_id)}
    explained = await asked.read(lambda alma: alma.explain_retrieval(task, memory_id, **who, top_k=top_k, task_type=task_type))
    if explained.reason in (Reason.UNKNOWN, Reason.OTHER_PROJECT, Reason.SCOPE):
        raise MemoryNotFoundError("there is no such memory that this token can read")
    return explained


def _added(asked: "Asked", body: Add) -> dict[str, Any]:
    """Returns the arguments of `ALMA.add`, but for the kind."""
    agent = asked.any_agent(body.agent) if isinstance(body, AddPreference) else asked.agent(body.agent)
    who = {"agent": agent, "user_id": asked.user(body.user_id)}
    if isinstance(body, AddOwn):
        taken = {"kind", "agent", "user_id", "metadata"} & body.fields.keys()
        if taken:
            raise ScopeViolationError(f"fields cannot set {', '.join(sorted(taken))}")
        return {**body.fields, **who, "metadata": body.metadata}
    given = fields_of(body, "kind")
    if isinstance(body, AddConversation):
        given["messages"] = [message.model_dump() for message in body.messages]
    if isinstance(body, AddKnowledge | AddPreference) and body.source is None:
        del given["source"]
        who |= {"source": NOTED_BY_AGENT} if asked.access.source == "agent" else {}
    return {**given, **who}


def _edit(alma: "ALMA", asked: "Asked", reader: Reader, memory_id: str, body: Edit) -> AnyMemory:
    memory = reader.memory(alma, memory_id)
    check_match(asked, memory.model_dump(mode="json"))
    if not reader.owns(memory):
        raise ScopeViolationError("this memory is shared with the token's agent, not its own")
    if not reader.is_for_all_users and memory.user_id != reader.user:
        raise ScopeViolationError("this memory is of no user; a token for one user cannot edit it")
    given = {name: getattr(body, name) for name in body.model_fields_set}
    if isinstance(memory, CustomMemory):
        taken = given.pop("fields", None) or {}
        if given or "memory" in taken:
            raise ValidationError("a memory of a registered kind is edited by its fields")
        return alma.edit(memory, **taken)
    if isinstance(memory, DomainKnowledge | UserPreference) and asked.access.source == "agent":
        given.setdefault("source", NOTED_BY_AGENT)
    return alma.edit(memory, **given)


def _forget(alma: "ALMA", asked: "Asked", reader: Reader, memory_id: str, purge: bool) -> Forgotten:
    memory = reader.memory(alma, memory_id)
    check_match(asked, memory.model_dump(mode="json"))
    if not reader.owns(memory):
        raise ScopeViolationError("this memory is shared with the token's agent, not its own")
    forget = forget_preferences if isinstance(memory, UserPreference) else forget_named
    reports, unknown = forget(alma, reader, [memory_id], dry_run=False, purge=purge)
    if unknown:
        raise ScopeViolationError("this memory is of no user; a token for one user cannot erase it")
    return forgotten_by(reports, unknown=[], dry_run=False)
