"""Selects the episodes that a person should judge first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from alma.memory import arguments as args
from alma.memory.episodes import records
from alma.memory.episodes.forecasts import Body, bags_of, is_unjudged, judged_of, newest_endings, owners_of
from alma.memory.forecasting import doubt, forecast, surprise
from alma.memory.room import Room
from alma.types.episodes import EpisodeRecord, EpisodeStatus, Forecast
from alma.types.kinds import Verdict, VerdictSource
from alma.types.memories import Outcome
from alma.types.reports import ReviewItem, ReviewReport


@dataclass(frozen=True, slots=True)
class _Due:
    """An episode to judge, by its id."""

    key: str
    forecast: Forecast | None
    priority: float


def review(room: Room, *, agent: object, limit: object) -> ReviewReport:
    """Returns the episodes of an agent, or of all, that most need a person's verdict, at most `limit` in each list, by priority."""
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
    return _sorted(_Due(key, predicted, doubt(predicted)) for key, predicted in found.items())


def _surprising(room: Room, owners: Mapping[str, str], endings: Mapping[str, Body]) -> list[_Due]:
    """Returns episodes whose verdict differs from what all others of the agent predict, furthest off first, without those that a person
    judged."""
    found = []
    for judged in judged_of(room, set(owners.values())).values():
        for key, one in judged.items():
            predicted = forecast(one.bag, [other for other_key, other in judged.items() if other_key != key])
            found.append(_Due(key, predicted, surprise(predicted, one.worth)))
    off = [due for due in found if due.priority > 0]
    open_to_doubt = _not_judged_by_a_person(room, [(due.key, endings[due.key].get("outcome_id")) for due in off])
    return _sorted(due for due in off if due.key in open_to_doubt)


def _not_judged_by_a_person(room: Room, outcomes: Sequence[tuple[str, str | None]]) -> set[str]:
    """Returns the keys of those whose outcome exists and was not judged by a person."""
    places = room.project.find([memory_id for _, memory_id in outcomes if memory_id])
    kept = room.project.memories([place.memory for place in places.values()])
    sources = {one.id: one.verdict_source for one in kept.values() if isinstance(one, Outcome)}
    return {key for key, memory_id in outcomes if sources.get(memory_id or "", VerdictSource.PERSON) is not VerdictSource.PERSON}


def _is_unjudged(ending: Body) -> bool:
    return (ending.get("status"), ending.get("outcome")) == (EpisodeStatus.ENDED, Verdict.UNVERIFIED)


def _sorted(found: Iterable[_Due]) -> list[_Due]:
    """Sorts by priority, highest first. Equal ones keep their order: endings come newest first."""
    return sorted(found, key=lambda due: -due.priority)


def _items(room: Room, found: Sequence[_Due]) -> tuple[ReviewItem, ...]:
    episodes = {episode.id: episode for episode in records.several(room, [due.key for due in found])}
    return tuple(
        ReviewItem(episode=_as_read(episodes[due.key], due.forecast), forecast=due.forecast, priority=due.priority)
        for due in found
        if due.key in episodes
    )


def _as_read(episode: EpisodeRecord, predicted: Forecast | None) -> EpisodeRecord:
    """Returns the episode as `get_episode` returns it: only an unjudged one has a forecast."""
    return episode.model_copy(update={"forecast": predicted}) if is_unjudged(episode) else episode
