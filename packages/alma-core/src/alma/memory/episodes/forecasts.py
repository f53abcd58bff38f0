"""Forecasts for episodes that have ended unjudged, from judged episodes of the same agent.

A forecast is computed when an episode is read. It is never stored, and neither learning nor retrieval reads it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from alma.errors import CorruptStoreError
from alma.memory.damage import naming_damage
from alma.memory.episodes.records import END, EPISODE, stored_steps
from alma.memory.forecasting import Bag, JudgedBag, forecast
from alma.memory.room import Room
from alma.types.episodes import EpisodeRecord, EpisodeStatus, Step
from alma.types.kinds import Verdict

NEWEST_ENDINGS = 500
"""Number of endings of a project that are considered: those written or settled last."""

NEWEST_JUDGED = 100
"""Limit on the judged episodes of an agent behind a forecast."""

WORTH = {Verdict.SUCCESS: 1.0, Verdict.PARTIAL: 0.5, Verdict.FAILURE: 0.0}

Body = Mapping[str, Any]


def with_forecast(room: Room, found: EpisodeRecord) -> EpisodeRecord:
    """Returns the episode, with a forecast if it has ended unjudged."""
    (episode,) = with_forecasts(room, [found])
    return episode


def with_forecasts(room: Room, found: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """As `with_forecast`, for several. Damage to other episodes leaves the forecasts out, but the episodes are still read."""
    agents = {episode.agent for episode in found if is_unjudged(episode)}
    judged: Mapping[str, Mapping[str, JudgedBag]] = {}
    if agents:
        with suppress(CorruptStoreError), naming_damage(lambda: room.store.storage):
            judged = judged_of(room, agents)
    return [_with_forecast(episode, judged.get(episode.agent, {})) for episode in found]


def _with_forecast(episode: EpisodeRecord, judged: Mapping[str, JudgedBag]) -> EpisodeRecord:
    if not judged or not is_unjudged(episode):
        return episode
    return episode.model_copy(update={"forecast": forecast(_bag(episode.steps), list(judged.values()))})


def is_unjudged(episode: EpisodeRecord) -> bool:
    """Returns True when it has ended without a verdict. An abandoned episode does not count: it was cut short, so its steps say less than
    those of a whole attempt."""
    return episode.status is EpisodeStatus.ENDED and episode.outcome is Verdict.UNVERIFIED


def judged_of(room: Room, agents: Collection[str]) -> dict[str, Mapping[str, JudgedBag]]:
    """Returns the newest judged episodes of agents, by agent and id, as of now. Cached until the journal grows."""
    with room.project.moment():
        head = room.project.head()
        found = {name: known[1] for name in agents if (known := room.judged.get(name)) and known[0] == head}
        missing = [name for name in agents if name not in found]
        if missing:
            endings = newest_endings(room)
            owners = owners_of(room, endings)
            read = {name: _judged(room, [key for key in endings if owners[key] == name], endings) for name in missing}
            found |= read
            current = {name: known for name, known in room.judged.items() if known[0] == head}
            room.judged = current | {name: (head, bags) for name, bags in read.items()}
        return found


def newest_endings(room: Room) -> dict[str, Body]:
    """Returns the endings that were written last, newest first, by the ids of their episodes."""
    return {key: body for key, _, body in room.project.records(END, newest=NEWEST_ENDINGS)}


def owners_of(room: Room, keys: Iterable[str]) -> dict[str, Any]:
    """Returns the agents of these episodes."""
    return {key: opening.get("agent") for key, (_, opening) in room.project.record(EPISODE, keys).items()}


def bags_of(room: Room, keys: Iterable[str]) -> dict[str, Bag]:
    """Returns the tools of episodes, by their ids."""
    return {key: Bag.of(map(_tool, bodies)) for key, bodies in stored_steps(room, keys).items()}


def worth_of(ending: Body) -> float | None:
    """Returns the share of a success that an ending was judged to be; `None` if it was not judged."""
    said = ending.get("outcome")
    return WORTH.get(Verdict(said)) if said in set(Verdict) else None


def _judged(room: Room, keys: Iterable[str], endings: Mapping[str, Body]) -> dict[str, JudgedBag]:
    worths = ((key, worth_of(endings[key])) for key in keys)
    newest = dict(islice(((key, worth) for key, worth in worths if worth is not None), NEWEST_JUDGED))
    bags = bags_of(room, newest)
    return {key: JudgedBag(bags[key], worth) for key, worth in newest.items()}


def _bag(steps: Iterable[Step]) -> Bag:
    return Bag.of((step.tool, step.ok) for step in steps)


def _tool(body: Body) -> tuple[str, bool | None]:
    ok = body.get("ok")
    return str(body.get("tool")), ok if isinstance(ok, bool) else None
