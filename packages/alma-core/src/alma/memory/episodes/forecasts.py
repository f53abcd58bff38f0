"""Forecasts for episodes that have ended unjudged, from judged episodes of the same agent, and the episodes that a person should judge first.

A forecast is computed when an episode is read, from the tools of its steps. It is never stored, and neither learning nor retrieval reads it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from alma.errors import CorruptStoreError
from alma.memory import arguments as args
from alma.memory.episodes.records import several, stored_steps
from alma.memory.room import Room
from alma.types.episodes import END, EPISODE, EpisodeRecord, EpisodeStatus, Forecast
from alma.types.kinds import WORTH, Verdict, VerdictSource
from alma.types.memories import Outcome
from alma.types.reports import ReviewItem, ReviewReport
from alma_learning import Bag, Foreseen, JudgedBag, doubt, forecast, surprise

NEWEST_ENDINGS = 500
"""Number of endings of a project that are considered: those written or settled last."""

NEWEST_JUDGED = 100
"""Limit on the judged episodes of an agent behind a forecast."""

Body = Mapping[str, Any]


def with_forecasts(room: Room, found: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """Returns the episodes, with forecasts for those that have ended unjudged. Damage to other episodes leaves the forecasts out, but the
    episodes are still read."""
    agents = {episode.agent for episode in found if is_unjudged(episode)}
    judged: Mapping[str, Mapping[str, JudgedBag]] = {}
    if agents:
        with suppress(CorruptStoreError, ValueError):
            judged = judged_of(room, agents)
    return [_with_forecast(episode, judged.get(episode.agent, {})) for episode in found]


def _with_forecast(episode: EpisodeRecord, judged: Mapping[str, JudgedBag]) -> EpisodeRecord:
    if not judged or not is_unjudged(episode):
        return episode
    bag = Bag.of((step.tool, step.ok) for step in episode.steps)
    return episode.model_copy(update={"forecast": _as_forecast(forecast(bag, list(judged.values())))})


def _as_forecast(found: Foreseen | None) -> Forecast | None:
    return None if found is None else Forecast(**found._asdict())


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


def _worth_of(ending: Body) -> float | None:
    """Returns the share of a success that an ending was judged to be; `None` if it was not judged."""
    said = ending.get("outcome")
    return WORTH.get(Verdict(said)) if said in set(Verdict) else None


def _judged(room: Room, keys: Iterable[str], endings: Mapping[str, Body]) -> dict[str, JudgedBag]:
    worths = ((key, _worth_of(endings[key])) for key in keys)
    newest = dict(islice(((key, worth) for key, worth in worths if worth is not None), NEWEST_JUDGED))
    bags = bags_of(room, newest)
    return {key: JudgedBag(bags[key], worth) for key, worth in newest.items()}


def _tool(body: Body) -> tuple[str, bool | None]:
    ok = body.get("ok")
    return str(body.get("tool")), ok if isinstance(ok, bool) else None


_Due = tuple[str, Foreseen | None, float]
"""Id of an episode to judge, its forecast, and its priority."""


def review(room: Room, agent: str | None = None, limit: int = 20) -> ReviewReport:
    """Returns what a person should judge first: unjudged episodes, least foreseeable first, and those whose verdict differs from the
    forecast.

    Of one agent, or of all, at most `limit` of either. Verdicts are given by `settle(…, source="person")`; an episode that a person judged is
    not listed as surprising again. The newest 500 endings are considered; a forecast rests on the newest 100 judged episodes of the agent.
    Writes nothing.
    """
    name = None if agent is None else args.checked_name(agent, "agent")
    most = args.checked_count(limit, "limit")
    with room.project.moment():
        endings = newest_endings(room)
        owners = {key: owner for key, owner in owners_of(room, endings).items() if name in (None, owner)}
        unjudged = _unjudged(room, owners, endings)
        surprising = _surprising(room, owners, endings)
        return ReviewReport(
            unjudged=_items(room, unjudged[:most]),
            surprising=_items(room, surprising[:most]),
            unjudged_count=len(unjudged),
            surprising_count=len(surprising),
        )


def _unjudged(room: Room, owners: Mapping[str, str], endings: Mapping[str, Body]) -> list[_Due]:
    """Returns unjudged episodes, least foreseeable first; of equal ones the newest."""
    keys = [key for key in owners if _is_unjudged(endings[key])]
    judged = judged_of(room, {owners[key] for key in keys})
    bags = bags_of(room, keys)
    found = {key: forecast(bags[key], list(judged[owners[key]].values())) for key in keys}
    return sorted(((key, predicted, doubt(predicted)) for key, predicted in found.items()), key=_by_priority)


def _surprising(room: Room, owners: Mapping[str, str], endings: Mapping[str, Body]) -> list[_Due]:
    """Returns episodes whose verdict differs from what all others of the agent predict, furthest off first, without those that a person
    judged."""
    found: list[_Due] = []
    for judged in judged_of(room, set(owners.values())).values():
        for key, one in judged.items():
            predicted = forecast(one.bag, [other for other_key, other in judged.items() if other_key != key])
            if (distance := surprise(predicted, one.worth)) > 0:
                found.append((key, predicted, distance))
    open_to_doubt = _not_judged_by_a_person(room, [(key, endings[key].get("outcome_id")) for key, *_ in found])
    return sorted((due for due in found if due[0] in open_to_doubt), key=_by_priority)


def _not_judged_by_a_person(room: Room, outcomes: Sequence[tuple[str, str | None]]) -> set[str]:
    """Returns the keys of those whose outcome exists and was not judged by a person."""
    places = room.project.find([memory_id for _, memory_id in outcomes if memory_id])
    kept = room.project.memories([place.memory for place in places.values()])
    sources = {one.id: one.verdict_source for one in kept.values() if isinstance(one, Outcome)}
    return {key for key, memory_id in outcomes if sources.get(memory_id or "", VerdictSource.PERSON) is not VerdictSource.PERSON}


def _is_unjudged(ending: Body) -> bool:
    return (ending.get("status"), ending.get("outcome")) == (EpisodeStatus.ENDED, Verdict.UNVERIFIED)


def _by_priority(due: _Due) -> float:
    """Sorts the highest priority first. Equal ones keep their order: endings come newest first."""
    return -due[2]


def _items(room: Room, found: Sequence[_Due]) -> tuple[ReviewItem, ...]:
    """Returns episodes to judge as `get_episode` returns them: only an unjudged one has a forecast."""
    episodes = {episode.id: episode for episode in several(room, [key for key, *_ in found])}
    items = []
    for key, foreseen, priority in found:
        if episode := episodes.get(key):
            predicted = _as_forecast(foreseen)
            read = episode.model_copy(update={"forecast": predicted}) if is_unjudged(episode) else episode
            items.append(ReviewItem(episode=read, forecast=predicted, priority=priority))
    return tuple(items)
