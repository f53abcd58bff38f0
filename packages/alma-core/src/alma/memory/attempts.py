"""Episodes as small records, and back.

Four kinds: `episode` (what was asked and shown, written once), `episode_step` (one a step), `episode_end` (how it ended, changed when it is
settled) and `episode_lease` (who holds it; there only while it is open).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from alma.errors import MemoryNotFoundError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.types.episodes import EpisodeRecord, Exposure, Step
from alma.types.identity import from_micros, to_micros

EPISODE = "episode"
STEP = "episode_step"
END = "episode_end"
LEASE = "episode_lease"


def get(room: Room, episode_id: object) -> EpisodeRecord:
    """What is kept of an episode. `MemoryNotFoundError` if there is none of that id."""
    (key,) = args.checked_ids([episode_id], "episode_id")
    version, opening = room.project.record(EPISODE, key)
    if not version:
        raise MemoryNotFoundError(f"project {room.name!r} has no episode {key!r}")
    _, ending = room.project.record(END, key)
    return _record_from(room, key, opening, ending)


def recent(room: Room, *, limit: object) -> list[EpisodeRecord]:
    """The episodes that began last, newest first."""
    newest = room.project.records(EPISODE, newest=args.checked_count(limit, "limit"))
    return [_record_from(room, key, opening, room.project.record(END, key)[1]) for key, _, opening in newest]


def with_use(shown: Sequence[Exposure], used: Sequence[str] | None) -> tuple[Exposure, ...]:
    """The exposures, marked by what was used; unmarked if nobody said what was."""
    if used is None:
        return tuple(shown)
    return tuple(exposure.model_copy(update={"used": exposure.memory_id in used}) for exposure in shown)


def step_key(key: str, number: int) -> str:
    """The key of a step."""
    return f"{key}/{number}"


def lease_body(holder: str | None, at: int) -> dict[str, Any]:
    """Who holds an episode since when; without a holder it is suspended."""
    return {"holder": holder, "at": at}


def opening_body(opened: EpisodeRecord) -> dict[str, Any]:
    """What is known when an episode begins. Exposures are triples of memory, tag and score, in rank order."""
    return {
        "agent": opened.agent,
        "task": opened.task,
        "task_type": opened.task_type,
        "user_id": opened.user_id,
        "started_at": to_micros(opened.started_at),
        "policy": "rank",
        "probability": 1.0,
        "shown": [[exposure.memory_id, exposure.tag, exposure.score] for exposure in opened.shown],
    }


def step_body(step: Step) -> dict[str, Any]:
    """What was done."""
    fields = step.model_dump(exclude={"number", "at"}, exclude_none=True)
    return {**fields, "at": to_micros(step.at)}


_SAID = ("status", "outcome", "strategy", "error", "feedback", "reason", "used", "outcome_id")
_ENDED = ("ended_at", "settled_at")


def ending_body(ended: EpisodeRecord) -> dict[str, Any]:
    """How it ended, and what was settled since."""
    times = {name: None if (at := getattr(ended, name)) is None else to_micros(at) for name in _ENDED}
    return {**ended.model_dump(include=set(_SAID), mode="json"), **times}


def _record_from(room: Room, key: str, opening: Mapping[str, Any], ending: Mapping[str, Any]) -> EpisodeRecord:
    shown = tuple(
        Exposure(
            memory_id=memory_id,
            tag=tag,
            rank=rank,
            score=score,
            policy=opening["policy"],
            probability=opening["probability"],
        )
        for rank, (memory_id, tag, score) in enumerate(opening["shown"], start=1)
    )
    return EpisodeRecord.model_validate(
        {
            "id": key,
            "project_id": room.name,
            **{name: opening[name] for name in ("agent", "task", "task_type", "user_id")},
            **{name: ending[name] for name in _SAID if name in ending},
            **{name: from_micros(ending[name]) for name in _ENDED if ending.get(name) is not None},
            "started_at": from_micros(opening["started_at"]),
            "shown": with_use(shown, ending.get("used")),
            "steps": _steps(room, key),
        }
    )


def _steps(room: Room, key: str) -> tuple[Step, ...]:
    """The steps, which are numbered without a gap."""
    steps: list[Step] = []
    while True:
        number = len(steps) + 1
        version, body = room.project.record(STEP, step_key(key, number))
        if not version:
            return tuple(steps)
        steps.append(Step(number=number, **{**body, "at": from_micros(body["at"])}))
