"""Understands a retrieval: what is asked, by whom, what the reader may read, and which moments count."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from alma.errors import ValidationError
from alma.memory import arguments as args
from alma.memory.room import Room
from alma.memory.scopes import ReadableScope
from alma.retrieval.named_time import Interval, NamedEvents, named_events, named_time, names_only_a_time
from alma.scoring import RECALL_WEIGHTS, Profile
from alma.text import query_words, quoted, without_names
from alma.types.identity import from_micros, to_micros
from alma.types.memories import Memory
from alma.types.timeline import TemporalFilter

DENSE = "dense"
TEXT = "text"
ARMS = (DENSE, TEXT)

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveRequest:
    """The arguments of a retrieval as a caller gave them. `understand` checks them."""

    task: object
    agent: object
    top_k: object = 5
    user_id: object = None
    task_type: object = None
    include_shared: bool = True
    profile: object = None
    weights: Mapping[str, float] | None = None
    arms: Collection[str] = ARMS
    verified: bool = False
    since: object = None
    until: object = None
    as_of: object = None
    temporal_filter: object = None


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in microseconds since 1970, all included; `None` where there is none.

    `since` and `until` limit `seen_at`, which is when a memory happened or was last confirmed; `known_by` limits when it was made.
    """

    since: int | None = None
    until: int | None = None
    known_by: int | None = None

    def includes(self, *, seen_at: int, created_at: int) -> bool:
        """Checks that what happened and was recorded at these times counts."""
        return (
            (self.since is None or seen_at >= self.since)
            and (self.until is None or seen_at <= self.until)
            and (self.known_by is None or created_at <= self.known_by)
        )

    def why_not(self, memory: Memory) -> str | None:
        """Returns why a memory does not count, `None` if it does."""
        seen, made = to_micros(memory.seen_at), to_micros(memory.created_at)
        if self.known_by is not None and made > self.known_by:
            return f"it was recorded at {_format_time(made)}, after as_of={_format_time(self.known_by)}"
        if self.since is not None and seen < self.since:
            return f"it is of {_format_time(seen)}, before since={_format_time(self.since)}"
        if self.until is not None and seen > self.until:
            return f"it is of {_format_time(seen)}, after until={_format_time(self.until)}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A checked question, as all steps of a retrieval take it.

    `now` is the moment that memories are seen from. `verified` leaves out memories that a better one contradicts.
    """

    task: str
    task_type: str | None
    reader: str
    user: str | None
    top_k: int
    include_shared: bool
    verified: bool
    profile: Profile
    arms: Collection[str]
    now: int
    times: Times | None
    scope: ReadableScope
    events: NamedEvents | None
    """The events that the question sets in time, if it does."""
    vector: Vector
    """Empty where nothing is readable."""
    words: Sequence[str]
    time: Interval | None
    """The time that the question names, if it names one."""
    is_of_time_alone: bool
    """True for a question that asks what was at that time, and says nothing else."""
    within: NDArray[np.int64] | None = None
    """The memories that count by their times, ascending; `None` where all of the scope do."""
    addressed: Vector | None = None
    """The vector for conversations, where the question names speakers: see `alma.memory.recall.search`."""
    speakers: frozenset[str] = frozenset()
    """The speakers that the question names."""

    @property
    def names(self) -> frozenset[str]:
        """The names of agents, which say nothing of what is asked."""
        return self.scope.owners if self.reader in self.scope.owners else self.scope.owners | {self.reader}

    def embedded(self, room: Room, text: str) -> Vector:
        """Returns the vector of a text without the names of agents."""
        return room.store.texts.query(without_names(text, self.names), room.project)


def understand(room: Room, request: RetrieveRequest) -> Query:
    """Returns the query of a request. `ValidationError` or `ScopeViolationError` says what is wrong with it."""
    task = room.store.redaction.text(args.checked_text(request.task, "task"))
    reader = args.checked_name(request.agent, "agent")
    top_k = args.checked_count(request.top_k, "top_k")
    user = args.optional_name(request.user_id, "user_id")
    partitions = room.project.partitions()
    scope = room.scopes.readable(agent=reader, user_id=user, include_shared=request.include_shared, partitions=partitions)
    profile = _checked_profile(room, request, scope)
    task_type = room.store.redaction.value(args.optional_label(request.task_type, "task_type"))
    times, now = _checked_times(request, room.now())
    time = named_time(task, from_micros(now))
    query = Query(
        task=task,
        task_type=task_type,
        reader=reader,
        user=user,
        top_k=top_k,
        include_shared=request.include_shared,
        verified=request.verified,
        profile=profile,
        arms=_checked_arms(request.arms),
        now=now,
        times=times,
        scope=scope,
        events=named_events(task),
        vector=np.empty(0, dtype=np.float32),
        words=query_words(task),
        time=time,
        is_of_time_alone=time is not None and names_only_a_time(task),
    )
    # an embedder that calls ALMA itself must find no view open, so the text is embedded before anything is read
    return query if scope.is_empty else replace(query, vector=query.embedded(room, task))


def _checked_arms(arms: object) -> tuple[str, ...]:
    found = () if isinstance(arms, str) or not isinstance(arms, Collection) else tuple(args.checked_items(arms, "arms"))
    if not found or [arm for arm in found if not isinstance(arm, str) or arm not in ARMS]:
        raise ValidationError(f"arms must be a list of some of {', '.join(ARMS)}, not {quoted(arms)}")
    return found


def _checked_profile(room: Room, request: RetrieveRequest, scope: ReadableScope) -> Profile:
    usual, profile = room.store.profile, request.profile
    if request.weights is not None:
        return Profile.of(request.weights, usual.half_life_days)
    if profile is None:
        return room.profile_for(scope.kind_names, usual)
    if not isinstance(profile, str) or profile != "recall":
        raise ValidationError(f"there is no profile {quoted(profile)}; there is 'recall'")
    return replace(Profile.of(RECALL_WEIGHTS), counts_usefulness=False)


def _checked_times(request: RetrieveRequest, now: int) -> tuple[Times | None, int]:
    """Returns the limits, `None` if there are none, and the moment from which a question is asked: `as_of`, else now."""
    known_by = args.checked_time(request.as_of, "as_of")
    if known_by is not None:
        now = min(now, to_micros(known_by))
    first, last = args.checked_time(request.since, "since"), args.checked_time(request.until, "until")
    relative = request.temporal_filter
    if relative is not None:
        if not isinstance(relative, TemporalFilter):
            raise ValidationError(f"temporal_filter must be a TemporalFilter, not {quoted(relative)}")
        if first is not None or last is not None:
            raise ValidationError("give since and until, or temporal_filter, not both")
        try:
            first, last = relative.interval(from_micros(now))
        except OverflowError as error:
            raise ValidationError(f"temporal_filter {quoted(relative.relative)} reaches back before the first year") from error
    if first is not None and last is not None and first > last:
        raise ValidationError(f"since {first:%Y-%m-%d %H:%M} is after until {last:%Y-%m-%d %H:%M}")
    if first is last is known_by is None:
        return None, now
    return Times(_micros(first), _micros(last), _micros(known_by)), now


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _format_time(micros: int) -> str:
    return f"{from_micros(micros):%Y-%m-%d %H:%M:%S}"
