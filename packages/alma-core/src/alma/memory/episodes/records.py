"""Converts episodes to small records and back.

There are five kinds: `episode` (the question and the memories shown, written once), `episode_step` (one per step), `episode_end` (the
ending, changed when it is settled), `episode_lease` (its holder and its time; exists while a program holds the open episode) and, if it has
a run id, `episode_run` (finds the episodes of a run; written with the beginning). The time of a step renews the lease.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, takewhile
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic import ValidationError as PydanticError

from alma.errors import ConflictError, CorruptStoreError, MemoryNotFoundError, ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.protocols import Lookups, Write
from alma.text import quoted, shortened
from alma.types.episodes import (
    END,
    EPISODE,
    LEASE,
    LEASE_DURATION,
    RUN,
    SILENT,
    STEP,
    EpisodeRecord,
    EpisodeStatus,
    Exposure,
    Step,
    with_use,
)
from alma.types.identity import from_micros, to_micros
from alma.types.kinds import Verdict, VerdictSource

STEPS_AT_ONCE = 32
"""Number of steps of each episode that are read at a time: few have more."""

Lease = tuple[int, Mapping[str, Any]]
"""Version and body of a lease; version 0 if there is none."""


def get(room: Room, episode_id: object) -> EpisodeRecord:
    """Returns the record of an episode, marked abandoned if its lease has expired. `MemoryNotFoundError` if there is none of that id."""
    (key,) = args.checked_ids([episode_id], "episode_id")
    unwritten = waiting(room)
    found = {**unwritten, **{episode.id: episode for episode in several(room, [key])}}
    if key not in found:
        raise _unknown(room, key)
    return found[key]


def waiting(room: Room) -> dict[str, EpisodeRecord]:
    """Returns the episodes of which nothing is stored yet, by id. Only this open store knows them."""
    begun = [reference() for reference in room.store.unwritten.valuerefs()]
    return {each.opened.id: each.opened for each in begun if each is not None and each.opened.project_id == room.name}


def stored(room: Room, key: str) -> EpisodeRecord:
    """Returns the record of an episode as it is written, without a look at its lease."""
    with room.project.moment():
        version, opening = room.project.record(EPISODE, [key])[key]
        if not version:
            raise _unknown(room, key)
        return _records_from(room, {key: opening})[key]


def _unknown(room: Room, key: str) -> MemoryNotFoundError:
    return MemoryNotFoundError(f"project {room.name!r} has no episode {quoted(key)}")


def several(room: Room, keys: Sequence[str]) -> list[EpisodeRecord]:
    """Returns the written episodes of these keys, in their order. Keys without an episode are left out."""
    with room.project.moment():
        openings = {key: body for key, (version, body) in room.project.record(EPISODE, keys).items() if version}
        return _marked(room, _records_from(room, openings))


def recent(room: Room, *, limit: object) -> list[EpisodeRecord]:
    """Returns the episodes that began last, newest first."""
    most = args.checked_count(limit, "limit")
    found = waiting(room)
    with room.project.moment():
        openings = {key: opening for key, _, opening in room.project.records(EPISODE, newest=most)}
        found |= {episode.id: episode for episode in _marked(room, _records_from(room, openings))}
    return sorted(found.values(), key=lambda episode: (episode.started_at, episode.id), reverse=True)[:most]


def of_run(room: Room, run_id: str) -> list[EpisodeRecord]:
    """Returns the episodes of a run, in the order in which they began, including those not written yet."""
    found = {key: episode for key, episode in waiting(room).items() if episode.run_id == run_id}
    with room.project.moment():
        keys = [key.partition("/")[2] for key, _, _ in room.project.records(RUN, under=_digest(run_id))]
        found |= {episode.id: episode for episode in several(room, keys)}
    return sorted(found.values(), key=lambda episode: (episode.started_at, episode.id))


def step_key(key: str, number: int) -> str:
    """Returns the key of a step."""
    return f"{key}/{number}"


def run_key(run_id: str, key: str) -> str:
    """Returns the key of the record that finds an episode by its run. A digest of fixed length replaces the run id, which may contain a
    slash."""
    return f"{_digest(run_id)}/{key}"


def _digest(run_id: str) -> str:
    return hashlib.blake2b(run_id.encode(), digest_size=16).hexdigest()


def new_lease(at: int) -> dict[str, Any]:
    """Returns the body of a lease that begins now, with a name for its holder."""
    return {"holder": uuid4().hex, "at": at}


def why_closed(stored: Lookups, key: str) -> str | None:
    """Says why an episode takes no step and no ending; `None` if it is open."""
    if stored.record(LEASE, [key])[key][0]:
        return None
    (begun, _), (ended, ending) = (stored.record(kind, [key])[key] for kind in (EPISODE, END))
    if not begun:
        return "its beginning was undone"
    if not ended:  # it was suspended, or imported
        return None
    return f"it ended as {ending['outcome']}" if ending.get("outcome") else "it was abandoned"


def check_open(stored: Lookups, key: str) -> None:
    """Raises `ConflictError` unless an episode takes steps and an ending."""
    why = why_closed(stored, key)
    if why is not None:
        raise ConflictError(f"episode {key!r} is no longer open: {why}")


def release(write: Write, key: str, known: Lease = (0, {})) -> None:
    """Drops the lease of an open episode, also if it is not the known one any more. `ConflictError` as by `check_open`."""
    version, body = known
    if version:
        with suppress(ConflictError):
            write.drop_record(LEASE, key, body, version=version)
            return
    check_open(write.stored, key)
    version, body = write.stored.record(LEASE, [key])[key]
    if version:  # another program resumed it
        write.drop_record(LEASE, key, body, version=version)


def last_sign(lease: Mapping[str, Any], found: EpisodeRecord) -> datetime | None:
    """Returns when an open episode was last heard of; `None` if no program holds it."""
    try:
        held = _read(LEASE, lease) if lease else None
    except PydanticError as error:
        raise CorruptStoreError(
            f"the lease of episode {quoted(found.id)} is not readable: {first_fault(error)}; see `alma verify`"
        ) from error
    if held is None or held.holder is None:
        return None
    since: datetime = held.at
    return max([since, *(step.at for step in found.steps[-1:])])


def is_expired(room: Room, sign: datetime | None) -> bool:
    """Checks that a program which was last heard of at that time has been silent for longer than its lease."""
    return sign is not None and room.store.clock() - sign > LEASE_DURATION


def _marked(room: Room, found: Mapping[str, EpisodeRecord]) -> list[EpisodeRecord]:
    """Returns the episodes; those whose lease has expired are marked abandoned, at the time when they were last heard of."""
    leases = room.project.record(LEASE, [key for key, episode in found.items() if episode.status is EpisodeStatus.OPEN])
    signs = {key: last_sign(lease, found[key]) for key, (_, lease) in leases.items()}
    silent = {"status": EpisodeStatus.ABANDONED, "reason": SILENT}
    return [
        episode.model_copy(update={**silent, "ended_at": signs[key]}) if is_expired(room, signs.get(key)) else episode
        for key, episode in found.items()
    ]


def opening_body(opened: EpisodeRecord) -> dict[str, Any]:
    """Returns the body of a beginning. Exposures are triples of memory, tag and score, in rank order."""
    shown = [[exposure.memory_id, exposure.tag, exposure.score] for exposure in opened.shown]
    return {**_body_of(_Opening, opened), "policy": "rank", "probability": 1.0, "shown": shown}


def step_body(step: Step) -> dict[str, Any]:
    """Returns the body of a step."""
    return _body_of(_Step, step)


def ending_body(ended: EpisodeRecord) -> dict[str, Any]:
    """Returns the body of an ending, with later settlements."""
    return _body_of(_Ending, ended)


def _body_of(kind: type[BaseModel], value: EpisodeRecord | Step) -> dict[str, Any]:
    """Returns the fields that a body of this kind has. Times are in microseconds; optional fields that are empty are left out."""
    found = {name: getattr(value, name, None) for name in kind.model_fields}
    return {
        name: to_micros(field) if isinstance(field, datetime) else field
        for name, field in found.items()
        if field is not None or kind.model_fields[name].is_required()
    }


_FIRST, _LAST = to_micros(datetime.min.replace(tzinfo=UTC)), to_micros(datetime.max.replace(tzinfo=UTC))
_Time = Annotated[int, Field(ge=_FIRST, le=_LAST), AfterValidator(from_micros)]
_Score = Annotated[float, Field(allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class _Opening(_Body):
    agent: str
    task: str
    task_type: str | None
    user_id: str | None
    started_at: _Time
    policy: str
    probability: _Share
    shown: tuple[tuple[str, str, _Score], ...]
    run_id: str | None = None
    thread_id: str | None = None


class _Step(_Body):
    action: str
    tool: str
    ok: bool | None = None
    error: str | None = None
    output: str | None = None
    duration_ms: Annotated[int, Field(ge=0, le=2**53)] | None = None
    feedback: str | None = None
    used: tuple[str, ...] | None = None
    memory_id: str | None = None
    at: _Time


class _Run(_Body):
    run_id: str


class _Lease(_Body):
    holder: str | None
    at: _Time


class _Ending(_Body):
    status: Literal[EpisodeStatus.ENDED, EpisodeStatus.ABANDONED]
    outcome: Verdict | None
    strategy: str | None
    error: str | None
    feedback: str | None
    reason: str | None
    used: tuple[str, ...] | None
    credited: tuple[str, ...]
    outcome_id: str | None
    ended_at: _Time
    settled_at: _Time | None
    verdict_source: VerdictSource | None = None

    @field_validator("outcome")
    @classmethod
    def _fits_the_status(cls, outcome: Verdict | None, info: ValidationInfo) -> Verdict | None:
        if (outcome is None) is (info.data.get("status") is EpisodeStatus.ENDED):
            raise ValueError("an episode that ended has an outcome, an abandoned one has none")
        return outcome


_BODIES: Mapping[str, type[_Body]] = {EPISODE: _Opening, STEP: _Step, RUN: _Run, LEASE: _Lease, END: _Ending}


def check_body(kind: str, key: str, body: Mapping[str, Any]) -> None:
    """Raises `ValidationError` unless this is a record of an episode as ALMA stores it. A lease is never accepted: a file cannot hold an
    episode."""
    if kind == LEASE:
        raise ValidationError(f"record {kind}/{key} says who holds an episode, which no file can")
    if kind not in _BODIES:
        return
    whole, number = key, "1"
    if kind == STEP:
        whole, _, number = key.rpartition("/")
    elif kind == RUN:
        whole = key.partition("/")[2]
    if args.checked_label(whole, "the id of an episode") != whole or not re.fullmatch("[1-9][0-9]{0,9}", number):
        raise ValidationError(f"record {kind}/{key} has a key that is none")
    try:
        found = _read(kind, body)
    except PydanticError as error:
        raise ValidationError(f"record {kind}/{key} is none of an episode: {first_fault(error)}") from error
    is_kept_so = kind != RUN or run_key(found.run_id, whole) == key
    if kind == EPISODE:
        is_kept_so = bool(found.task.strip()) and args.checked_name(found.agent, "agent") == found.agent
    if not is_kept_so:
        raise ValidationError(f"record {kind}/{key} is not as ALMA keeps it")


def _read(kind: str, body: Mapping[str, Any]) -> Any:
    return _BODIES[kind].model_validate_json(json.dumps(body))


def first_fault(error: PydanticError) -> str:
    """Describes the first fault in one line."""
    found = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    return shortened(f"{place}: {found['msg']}" if place else found["msg"], 300)


def _records_from(room: Room, openings: Mapping[str, Mapping[str, Any]]) -> dict[str, EpisodeRecord]:
    """Returns the episodes of these beginnings. `CorruptStoreError` if one cannot be read."""
    endings, steps = room.project.record(END, openings), stored_steps(room, openings)
    return {key: _record_from(room, key, opening, endings[key][1], steps[key]) for key, opening in openings.items()}


def _record_from(
    room: Room, key: str, opening: Mapping[str, Any], ending: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]
) -> EpisodeRecord:
    try:
        begun = dict(_read(EPISODE, opening))
        how = {"policy": begun.pop("policy"), "probability": begun.pop("probability")}
        shown = [
            Exposure(memory_id=memory_id, tag=tag, rank=rank, score=score, **how)
            for rank, (memory_id, tag, score) in enumerate(begun.pop("shown"), start=1)
        ]
        done = tuple(Step(number=number, **dict(_read(STEP, body))) for number, body in enumerate(steps, start=1))
        named = dict.fromkeys(chain.from_iterable(step.used or () for step in done))
        ended = dict(_read(END, ending)) if ending else {"used": tuple(named) or None}
        used = with_use(shown, ended.get("used"))
        return EpisodeRecord(id=key, project_id=room.name, shown=used, steps=done, **begun, **ended)
    except PydanticError as error:
        raise CorruptStoreError(f"episode {quoted(key)} is not readable: {first_fault(error)}; see `alma verify`") from error


def stored_steps(room: Room, keys: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Returns the steps of episodes by episode key, in order: they are numbered without a gap. As stored, unchecked."""
    steps: dict[str, list[Mapping[str, Any]]] = {key: [] for key in keys}
    unfinished = list(steps)
    while unfinished:
        wanted = {
            key: [step_key(key, len(found) + number) for number in range(1, STEPS_AT_ONCE + 1)]
            for key, found in steps.items()
            if key in unfinished
        }
        stored = room.project.record(STEP, chain.from_iterable(wanted.values()))
        for key, names in wanted.items():
            found = (stored[name] for name in names)
            steps[key] += [body for _, body in takewhile(lambda record: record[0] > 0, found)]
        unfinished = [key for key, names in wanted.items() if stored[names[-1]][0]]
    return steps
