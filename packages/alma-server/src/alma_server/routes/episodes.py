"""Routes that record an attempt at a task, step by step. Any process may take the next step, so none holds an episode between requests."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from alma import Episode, MemorySlice
from alma.errors import ConflictError
from alma.integration import open_records
from alma.types.episodes import EpisodeRecord, Step
from alma_server.asking import Asked, AskedDep
from alma_server.idempotency import OnceDep
from alma_server.routes.answers import Begun, Observed, found_in
from alma_server.routes.bodies import Act, Begin, End, Observe
from alma_server.routes.places import place
from alma_server.routes.scope import Reader, ReaderDep, arguments_of, fields_of, plain_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alma import ALMA

router = APIRouter(prefix="/projects/{project}", tags=["episodes"])

CITED = "server.cited"
"""Kind of the small records of what texts cited since the last step, by episode."""


@router.post("/episodes", operation_id="episode", status_code=201)
async def begin(body: Begin, asked: AskedDep, once: OnceDep) -> Begun:
    """Begins an attempt at a task, and returns the notes to show. What the notes hold is recorded as shown."""
    asked.require("read")
    asked.require("write")
    given = arguments_of(asked, body, "max_tokens")
    begun = await once.write(
        lambda alma: _begin(alma, body, given),
        remember=lambda made: "" if body.episode_id else made.episode.id,
        recall=lambda alma, made: _show_again(alma, body, given, alma.get_episode(body.episode_id or made)),
    )
    place(asked, "episodes", begun.episode.id)
    return begun


def _begin(alma: "ALMA", body: Begin, given: dict[str, Any]) -> Begun:
    hint, shown, prompt = _show(alma, body, given)
    episode = alma.episode(**given, memories=shown, deferred=True)
    episode.suspend()
    return Begun(episode=episode.record, memories=found_in(shown), prompt=prompt, hint=hint)


def _show(alma: "ALMA", body: Begin, given: dict[str, Any]) -> tuple[str | None, MemorySlice, str]:
    """Returns the memories for the task that fit into the notes, and the notes."""
    found = alma.retrieve(task=body.task, agent=given["agent"], user_id=given["user_id"], top_k=body.top_k)
    return (found.hint, *found.fitted(body.max_tokens))


def _show_again(alma: "ALMA", body: Begin, given: dict[str, Any], episode: EpisodeRecord) -> Begun:
    """Returns what was begun before. Notes are made again, and left out where they would cite by other tags than those recorded."""
    hint, shown, prompt = _show(alma, body, given)
    tags = {one.tag: one.memory_id for one in episode.shown}
    if any(tags.get(item.tag) != item.memory.id for item in shown.recalled):
        hint, shown, prompt = "the memory has changed since this episode was begun", MemorySlice(), ""
    return Begun(episode=episode, memories=found_in(shown), prompt=prompt, hint=hint)


@router.get("/episodes/{episode_id}", operation_id="get_episode")
async def get_episode(episode_id: str, asked: AskedDep, reader: ReaderDep) -> EpisodeRecord:
    """Returns an episode: the memories shown, the steps, the ending."""
    asked.require("read")
    return await asked.read(lambda alma: reader.episode(alma, episode_id))


@router.post("/episodes/{episode_id}/steps", operation_id="episode_step", status_code=201)
async def step(episode_id: str, body: Act, asked: AskedDep, reader: ReaderDep, once: OnceDep) -> Step:
    """Stores one action. A new failure, and the first success after it, become memories. The token says who judged."""
    asked.require("write")

    def call(alma: "ALMA") -> Step:
        with _resumed(alma, reader, episode_id) as episode:
            return episode.step(**fields_of(body), source=asked.access.source)

    return await once.write(
        call,
        remember=lambda done: done.number,
        recall=lambda alma, number: reader.episode(alma, episode_id).steps[number - 1],
    )


@router.post("/episodes/{episode_id}/observe", operation_id="episode_observe")
async def observe(episode_id: str, body: Observe, asked: AskedDep, reader: ReaderDep, once: OnceDep) -> Observed:
    """Finds citations such as [H1] in a text of the agent. The memories cited count as used when the episode ends."""
    asked.require("write")

    def call(alma: "ALMA") -> Observed:
        with _resumed(alma, reader, episode_id) as episode:
            cited = episode.observe(body.text)
            _keep_cited(alma, episode, cited)
        return Observed(memory_ids=cited)

    return await once.write(
        call, remember=lambda found: plain_ids(found.memory_ids), recall=lambda _, memory_ids: Observed(memory_ids=memory_ids)
    )


@router.post("/episodes/{episode_id}/end", operation_id="episode_end")
async def end(episode_id: str, body: End, asked: AskedDep, reader: ReaderDep, once: OnceDep) -> EpisodeRecord:
    """Ends an attempt with a verdict, by default as not judged. Ending it twice alike does nothing. The token says who judged."""
    asked.require("write")
    return await once.write(
        lambda alma: _end(alma, asked, reader, episode_id, body),
        remember=lambda _: True,
        recall=lambda alma, _: reader.episode(alma, episode_id),
    )


def _end(alma: "ALMA", asked: Asked, reader: Reader, episode_id: str, body: End) -> EpisodeRecord:
    found = reader.episode(alma, episode_id)
    if found.ended_at is not None:
        return _ended_alike(found, body)
    with _resumed(alma, reader, episode_id) as episode:
        if body.used_memory_ids is not None:
            episode.used(_readable(alma, reader, body.used_memory_ids))
        if body.outcome is None:
            return episode.abandon(body.feedback)
        said: dict[str, Any] = fields_of(body, "outcome", "used_memory_ids")
        return episode.end(body.outcome, **said, source=asked.access.source)


def _readable(alma: "ALMA", reader: Reader, memory_ids: list[str]) -> list[str]:
    """Returns the ids that a reader may name: the library takes an id of a user's memory as a sign that it was shown."""
    return memory_ids if reader.is_for_all_users else [each for each in memory_ids if reader.can_read(alma, each)]


def _ended_alike(found: EpisodeRecord, body: End) -> EpisodeRecord:
    """Returns an episode that ended as a request says. `ConflictError` if it ended differently."""
    said = [(body.strategy, found.strategy), (body.error, found.error)]
    if found.outcome != body.outcome or any(wanted not in (None, stored) for wanted, stored in said):
        raise ConflictError(f"this episode was ended before ({found.outcome or found.status}); settle corrects a verdict")
    return found


@contextmanager
def _resumed(alma: "ALMA", reader: Reader, episode_id: str) -> "Iterator[Episode]":
    """Takes an episode up for one request, with what was cited since its last step."""
    reader.episode(alma, episode_id)
    episode = alma.resume_episode(episode_id)
    try:
        records = open_records(alma, CITED)
        if (cited := records.get(episode_id)) is not None:
            episode.used(cited.body["memory_ids"])
        yield episode
    finally:
        episode.suspend()


def _keep_cited(alma: "ALMA", episode: Episode, cited: list[str]) -> None:
    records = open_records(alma, CITED)
    stored = records.get(episode.id)
    before = [] if stored is None else stored.body["memory_ids"]
    if set(cited) - set(before):
        named = {"agent": episode.record.agent, "user_id": episode.record.user_id}
        body = {**{name: value for name, value in named.items() if value}, "memory_ids": list(dict.fromkeys([*before, *cited]))}
        records.put(episode.id, body, version=0 if stored is None else stored.version, actor=episode.record.agent)
