"""Ranks what was found: the contenders of each kind, their scores, and one outcome for each attempt.

Outcomes that rest on an agent's own word or on a foreign file take few places beside others, and none by being new. The outcomes of one attempt
(a failed step, its repair, the end of the whole) are folded into one. Nothing that is stored or learned follows from either.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np

from alma.memory.recall.query import Query
from alma.memory.recall.search import NO_MEMORIES, Found, Integers
from alma.memory.room import Room
from alma.protocols import Candidate
from alma.retrieval.fusion import Contender, Ranked, rank_contenders, select_contenders
from alma.text import shortened
from alma.types.identity import UserWall
from alma.types.kinds import MemoryType, Verdict
from alma.types.memories import AnyMemory, Heuristic, Outcome
from alma.types.sentences import ATTEMPT, CITED, ends_with
from alma.vectors import AnyIndex

TRUSTED_FOR_ONE = 3
"""Number of judged outcomes beside each that is not: security.md, "caps"."""

MOST_LISTED = 3
"""Limit on the failures, and on the repairs, that are listed of an attempt."""

LISTED_CHARS = 120

Memories = Mapping[int, AnyMemory]
Folds = Mapping[int, int]
"""Outcomes to be left out, by row, each with the outcome that its attempt is folded into."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The memories to return, best first, and the candidates that they were chosen from.

    `candidates` are as they count in the scores. `hidden` are outcomes that have no place because they rest on an own word, `folded` those for
    which another one of their attempt stands. `memories` holds the memories of `order` and of `folded`.
    """

    order: Sequence[Ranked]
    candidates: Sequence[Candidate]
    memories: Memories
    folded: Folds
    hidden: frozenset[int]


def contenders_for(top_k: int) -> int:
    """Returns how many memories of each kind are scored: more than are asked for, since other factors than similarity have a say."""
    return 2 * top_k + 10


def select_from(index: AnyIndex, query: Query, found: Found, near: Integers = NO_MEMORIES) -> list[Contender]:
    """Returns the contenders of each kind: the most similar of the relevant memories, and all memories of `near`."""
    at = np.flatnonzero(found.is_relevant)
    memories, ties, similarities = found.memories[at], found.ties[at], found.similarities[at]
    kinds = query.scope.kind_numbers(found.partitions[at])

    def select(places: Integers | slice, limit: int) -> list[Contender]:
        columns = {"memories": memories[places], "groups": kinds[places], "ties": ties[places]}
        return select_contenders(similarities[places], limit=limit, **columns)

    def contents(chosen: Iterable[int]) -> list[tuple[int, int]]:
        """Returns the tie and the kind of each memory: the same for equal ones."""
        places = memories.searchsorted(list(chosen))
        return list(zip(ties[places].tolist(), kinds[places].tolist(), strict=True))

    chosen = select(slice(None), contenders_for(query.top_k))
    had = [one.memory for one in chosen]
    others = np.flatnonzero(np.isin(memories, np.setdiff1d(near, had))) if len(near) else near
    if len(others):
        equal, more = set(contents(had)), select(others, len(others))
        chosen += [one for one, content in zip(more, contents([one.memory for one in more]), strict=True) if content not in equal]
    if index.has_copies and query.within is None:  # of copies some may not count; those that do were all found
        own = contents([one.memory for one in chosen])
        alike = memories[np.isin(ties, [tie for tie, _ in own])]
        copies: Counter[tuple[int, int]] = Counter()
        for content, count in zip(contents(alike.tolist()), index.copies(alike).tolist(), strict=True):
            copies[content] += count
        chosen = [one._replace(copies=max(copies[content], one.copies)) for one, content in zip(chosen, own, strict=True)]
    return chosen


def rank(room: Room, query: Query, chosen: Sequence[Contender]) -> Ranking:
    """Returns the ranking of the contenders, at most `top_k` of each kind."""
    candidates = read_candidates(room, query, [one.memory for one in chosen])
    order = score(query, chosen, candidates, query.top_k)
    memories = room.project.memories([item.memory for item in order])
    hidden: frozenset[int] = frozenset()
    if any(map(_rests_on_own_word, memories.values())):
        candidates, hidden = _limit_own_words(room, query, chosen, candidates)
        order = score(query, chosen, candidates, query.top_k)
        memories = room.project.memories([item.memory for item in order])
    attempts = _group_attempts(order, memories)
    folded = _fold_attempts(attempts, memories)
    if attempts:
        wider = score(query, chosen, candidates, len(chosen))  # another outcome of an attempt may stand behind
        first = {item.memory for item in order}
        behind = [item.memory for item in wider if item.kind == MemoryType.OUTCOME and item.memory not in first]
        memories = {**memories, **room.project.memories(behind)}
        more = _fold_behind(wider, memories, folded, query.top_k)
        taken = first.union([row for row in behind if row not in more][: len(folded)])
        order, folded = [item for item in wider if item.memory in taken], more
    memories = {**memories, **_with_citations(memories, candidates), **_with_parts(memories, folded)}
    shown = [one for one in order if one.memory in memories and one.memory not in folded]
    return Ranking(shown, candidates, memories, folded, hidden)


def read_candidates(room: Room, query: Query, memories: Sequence[int]) -> Sequence[Candidate]:
    """Returns what ranking needs of the memories that still exist. Where users are isolated, the use of a memory that they share does not
    count: it would be that of others."""
    found = room.project.candidates(memories)
    if room.store.users is not UserWall.ISOLATED:
        return found
    of = query.scope.known
    with_users = {agent for agent in {of[one.partition].agent for one in found} if agent and room.has_users(agent, of)}
    return [
        one.without_use() if of[one.partition].user_id is None and of[one.partition].agent in with_users else one for one in found
    ]


def score(query: Query, chosen: Sequence[Contender], candidates: Sequence[Candidate], top_k: int) -> list[Ranked]:
    """Returns the contenders among the candidates with their scores, at most `top_k` of each kind, best first."""
    return rank_contenders(chosen, candidates, kinds=query.scope.kinds, profile=query.profile, now=query.now, top_k=top_k)


def _rests_on_own_word(memory: AnyMemory) -> bool:
    """Checks that a memory is an outcome that no tool, person, evaluator or program judged."""
    return isinstance(memory, Outcome) and not memory.verdict_source.is_trusted


def _limit_own_words(
    room: Room, query: Query, chosen: Sequence[Contender], candidates: Sequence[Candidate]
) -> tuple[Sequence[Candidate], frozenset[int]]:
    """Returns the candidates as they count beside outcomes that others judged, and the outcomes that have no place beside these.

    An outcome that rests on an own word counts as no newer than the judged ones are in the middle; than all, if there are none, and then all
    have a place.
    """
    kinds = query.scope.kinds
    outcomes = room.project.memories([one.memory for one in candidates if kinds[one.partition] == MemoryType.OUTCOME])
    own = {row for row, memory in outcomes.items() if _rests_on_own_word(memory)}
    seen = {one.memory: one.seen_at for one in candidates if one.memory in outcomes}
    newest = median_low([at for row, at in seen.items() if row not in own] or list(seen.values()))
    aged = [one._replace(seen_at=min(one.seen_at, newest)) if one.memory in own else one for one in candidates]
    judged = len(outcomes) - len(own)
    placed = [item.memory for item in score(query, chosen, aged, len(chosen)) if item.memory in own]
    hidden = frozenset(placed[min(judged // TRUSTED_FOR_ONE, query.top_k // (TRUSTED_FOR_ONE + 1)) :] if judged else ())
    return [one for one in aged if one.memory not in hidden], hidden


def _group_attempts(order: Sequence[Ranked], memories: Memories) -> dict[tuple[str, str], list[int]]:
    """Returns the outcomes of each attempt, best first."""
    attempts: dict[tuple[str, str], list[int]] = {}
    for item in order:
        if item.kind == MemoryType.OUTCOME and (attempt := _attempt_of(memories.get(item.memory))) is not None:
            attempts.setdefault(attempt, []).append(item.memory)
    return attempts


def _fold_attempts(attempts: Mapping[tuple[str, str], Sequence[int]], memories: Memories) -> dict[int, int]:
    """Returns the outcomes to be left out, each with the outcome that its attempt is folded into: the run's own if it was judged, else a step
    that failed."""
    result: dict[int, int] = {}
    for rows in attempts.values():
        best = max(rows, key=lambda row: _worth(memories[row]))
        result |= {row: best for row in rows if row != best and (_is_step(memories[best]) or _is_step(memories[row]))}
    return result


def _fold_behind(order: Sequence[Ranked], memories: Memories, known: Folds, top_k: int) -> dict[int, int]:
    """Returns as `_fold_attempts` does, of more outcomes than are shown: an attempt is folded into a later outcome only if it has no earlier one.

    `known` are the folds among the first `top_k`. An outcome that is not among them and has no place is not folded.
    """
    outcomes = [item.memory for item in order if item.kind == MemoryType.OUTCOME]
    result, left = dict(known), top_k - len(outcomes[:top_k]) + len(known)
    stands: dict[tuple[str, str], int] = {}
    for place, row in enumerate(outcomes):
        attempt, is_behind = _attempt_of(memories.get(row)), place >= top_k
        best = None if attempt is None else stands.get(attempt)
        if is_behind and best is not None and (_is_step(memories[row]) or _is_step(memories[best])):
            result[row] = best
        elif left or not is_behind:
            left -= is_behind
            if attempt is not None and row not in known:
                stands.setdefault(attempt, row)
    return result


def _attempt_of(memory: AnyMemory | None) -> tuple[str, str] | None:
    episode = memory.metadata.get("episode_id") if isinstance(memory, Outcome) else None
    return (memory.agent, episode) if memory is not None and isinstance(episode, str) else None


def _is_step(memory: AnyMemory) -> bool:
    return isinstance(memory.metadata.get("step"), int)


def _worth(memory: AnyMemory) -> int:
    """Returns how well an outcome represents its attempt: a judged run, then a step that failed, then one that went well, then a run without a
    verdict."""
    if not isinstance(memory, Outcome):
        return 0
    if not _is_step(memory):
        return 0 if memory.outcome is Verdict.UNVERIFIED else 3
    return 2 if memory.outcome is Verdict.FAILURE else 1


def _with_parts(memories: Memories, folds: Folds) -> dict[int, AnyMemory]:
    """Returns the outcomes that attempts are folded into, with the words of the others: what failed, and what then worked."""
    groups: dict[int, list[Outcome]] = {}
    for row, best in folds.items():
        if isinstance(memory := memories.get(row), Outcome):
            groups.setdefault(best, []).append(memory)
    return {best: _with_attempt(memories[best], parts) for best, parts in groups.items()}


def _with_attempt(memory: AnyMemory, parts: Sequence[Outcome]) -> AnyMemory:
    def number(part: Outcome) -> int:
        return step if isinstance(step := part.metadata.get("step"), int) else 0

    ordered = sorted(parts, key=number)
    own = (memory.strategy_used, memory.error_message) if isinstance(memory, Outcome) else (None, None)
    steps = [part for part in ordered if _is_step(part)]
    bad = [step for step in steps if step.outcome is Verdict.FAILURE]
    # The run may have failed by one of these, and say so itself.
    failed = [_describe(step) for step in bad if (step.strategy_used, step.error_message) != own]
    repairs = [step for step in steps if step.outcome is Verdict.SUCCESS and (step.strategy_used != own[0] or step.user_feedback)]
    said: dict[str, Any] = {
        "failed": failed[:MOST_LISTED],
        "failed_steps": {step.id: step.error_message for step in bad},
        "worked": list(dict.fromkeys(map(_describe, repairs)))[:MOST_LISTED],
    }
    flags = [part.metadata["flagged"] for part in ordered if part.metadata.get("flagged")]
    flagged = {"flagged": flags[0]} if flags else {}
    return memory.model_copy(update={"metadata": {**memory.metadata, **flagged, ATTEMPT: said}})


def _describe(step: Outcome) -> str:
    what, why = shortened(step.strategy_used, LISTED_CHARS), step.error_message or step.user_feedback
    return f"{what} ({shortened(why, LISTED_CHARS)})" if why and not ends_with(step.strategy_used, why) else what


def _with_citations(memories: Memories, candidates: Iterable[Candidate]) -> dict[int, AnyMemory]:
    """Returns the heuristics without a trial of their own, with how the attempts went in which they were cited. Whatever was stored of that is
    left out."""
    found: dict[int, AnyMemory] = {}
    untried = {row: one for row, one in memories.items() if isinstance(one, Heuristic) and not one.occurrence_count}
    cited = {one.memory: one for one in candidates if one.memory in untried and one.used and one.credited_trials > 0}
    for row, memory in untried.items():
        if row in cited or CITED in memory.metadata:
            metadata = {key: value for key, value in memory.metadata.items() if key != CITED}
            if (one := cited.get(row)) is not None:
                metadata[CITED] = {"times": one.used, "share": one.credited_successes / one.credited_trials}
            found[row] = memory.model_copy(update={"metadata": metadata})
    return found
