"""Lessons as they are kept: a memory that is shown and cited like any other, and a small record beside it that names what it was made of."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from alma.memory.learn.adding import checked_entry
from alma.memory.learn.storing import Entry, embed, put
from alma.memory.room import Room
from alma.types.episodes import END, EPISODE
from alma.types.identity import from_micros
from alma.types.kinds import WORTH, Verdict
from alma.types.memories import LESSON, AntiPattern, Heuristic
from alma.types.package_records import MADE, references_in
from alma.types.provenance import FLAGGED
from alma_knowledge.consolidation.sameness import Verdict as Sameness
from alma_knowledge.consolidation.sameness import compare
from alma_knowledge.lesson_ids import OWN_VERSION, is_lesson_id
from alma_knowledge.reflection.results import CANDIDATE, LIKELY, RETIRED, Evidence, Lesson, Rejected
from alma_knowledge.reflection.runs import Worths, is_episode_of
from alma_learning import interval, normalise
from alma_learning.estimate import HALF_LIFE
from alma_learning.proof import LEAST_TASKS, LEVEL
from alma_learning.trials import OWN_WORD

KIND = "reflection.lesson"
OPERATION = "reflect"
"""The operation of the journal record."""

CONFIDENCE = 0.5
SOURCE = "agent"
"""A lesson is the agent's own word, whoever judged the runs."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A lesson that is stored, with the version of its record, and whether it was retired before."""

    lesson: Lesson
    version: int
    is_retired: bool


def read_kept(room: Room, agent: str, worths: Sequence[Worths]) -> dict[str, Kept]:
    """Returns an agent's lessons by the key of their record, with their evidence. `worths` are those of its runs, a mapping a kind of task."""
    found = {key: (version, body) for key, version, body in room.project.records(KIND) if version and _is_own(body, agent)}
    evidence = read_evidence(room, agent, {str(body.get("memory_id")): references_in(body) for _, body in found.values()}, worths)
    kept = {}
    for key, (version, body) in found.items():
        own = evidence.get(str(body.get("memory_id")), ())
        texts: dict[str, Any] = {name: str(body.get(name, "")) for name in ("title", "when", "because", "method")}
        lesson = Lesson(
            id=str(body.get("memory_id")),
            do=body.get("do"),
            avoid=body.get("avoid"),
            cites=tuple(one for one in references_in(body) if one != body.get("memory_id")),
            status=RETIRED if body.get("is_retired") else judge(own),
            evidence=Evidence(sum(each.worth for each in own), len(own)),
            **texts,
        )
        kept[key] = Kept(lesson, version, bool(body.get("is_retired")))
    return kept


def _is_own(body: Mapping[str, Any], agent: str) -> bool:
    """Returns True for the record of a lesson of an agent. A file may hold others that name memories which are none."""
    is_one = isinstance(body.get("do"), str) is not isinstance(body.get("avoid"), str)
    return is_one and body.get("agent") == agent and is_lesson_id(str(body.get("memory_id")))


@dataclass(frozen=True, slots=True)
class Cited:
    """A judged episode in which a lesson was shown and cited. `base` is the rate of success of like tasks without the lesson."""

    at: int
    outcome: str
    task: str
    worth: float
    is_own_word: bool
    base: float = 0.5


def read_evidence(
    room: Room, agent: str, made_of: Mapping[str, Collection[str]], worths: Sequence[Worths]
) -> Mapping[str, Sequence[Cited]]:
    """Returns the judged episodes of an agent in which lessons were shown and cited, oldest first, by the id of the lesson.

    `made_of` has the outcomes that each lesson was made of: these are none of its evidence, nor are episodes for a user.
    """
    found = defaultdict[str, list[Cited]](list)
    endings = {key: body for key, _, body in room.project.records(END) if made_of.keys() & set(body.get("credited", ()))}
    for key, (_, opening) in room.project.record(EPISODE, endings).items():
        ending = endings[key]
        worth = WORTH.get(Verdict(ending["outcome"])) if ending.get("outcome") in set(Verdict) else None
        shown = {one[0] for one in opening.get("shown", ())} if is_episode_of(opening, agent) else set()
        for one in made_of.keys() & shown & set(ending["credited"]):
            if worth is not None and ending.get("outcome_id") not in made_of[one]:
                is_own = ending.get("verdict_source") in OWN_WORD
                found[one].append(
                    Cited(
                        int(ending["ended_at"]), str(ending.get("outcome_id")), normalise(str(opening.get("task"))), worth, is_own
                    )
                )
    return {key: _with_bases(sorted(each, key=lambda one: one.at), worths) for key, each in found.items()}


def _with_bases(cited: Sequence[Cited], worths: Sequence[Worths]) -> list[Cited]:
    """Returns episodes with the rate of the runs of their kind of task that did not cite the lesson, of all kinds where there are none."""
    citing = {one.outcome for one in cited}
    others = [[worth for key, worth in each.items() if key not in citing] for each in worths]
    usual = _mean([worth for each in others for worth in each], 0.5)
    bases = {key: _mean(left, usual) for each, left in zip(worths, others, strict=True) for key in citing & each.keys()}
    return [replace(one, base=bases.get(one.outcome, usual)) for one in cited]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def judge(cited: Sequence[Cited]) -> str:
    """Returns what evidence makes of a lesson, oldest first.

    Likely: of one vote for each task, its first by more than an agent's own word, at least three, and more of them are successes than the rate
    without it explains, at every look with at most 5 % of error: see `_log_e`. Retired: later runs count more (half as much after 8), their
    rate is at most that without it, and its whole 95 % interval (`alma_learning.estimate.bound`) below that or a half.
    """
    weights = [0.5 ** (age / HALF_LIFE) for age in range(len(cited) - 1, -1, -1)]
    won, trials = sum(w * one.worth for w, one in zip(weights, cited, strict=True)), sum(weights)
    base = sum(w * one.base for w, one in zip(weights, cited, strict=True)) / (trials or 1.0)
    if trials and won <= base * trials and interval(won, trials)[1] < max(base, 0.5):
        return RETIRED
    votes: dict[str, Cited] = {}
    for one in cited:
        if not one.is_own_word:
            votes.setdefault(one.task, one)
    successes, base = sum(one.worth for one in votes.values()), _mean([one.base for one in votes.values()], 0.5)
    is_better = successes > base * len(votes) and _log_e(successes, len(votes) - successes, base) >= -math.log(LEVEL)
    return LIKELY if is_better and len(votes) >= LEAST_TASKS else CANDIDATE


def _log_e(successes: float, failures: float, base: float) -> float:
    """Returns the logarithm of the e-value of "another rate than `base`": the likelihood averaged over Jeffreys' prior, over that of `base`.

    Its expectation is 1 at every look where the rate is `base` (Ville 1939; Robbins 1970, "Statistical methods related to the law of the
    iterated logarithm", Annals of Mathematical Statistics 41).
    """
    averaged = (
        math.lgamma(successes + 0.5) + math.lgamma(failures + 0.5) - math.lgamma(successes + failures + 1) - math.log(math.pi)
    )
    bounded = min(max(base, 0.05), 0.95)
    return averaged - successes * math.log(bounded) - failures * math.log(1 - bounded)


def name_lessons(room: Room, agent: str, lessons: Iterable[Lesson], kept: Mapping[str, Kept]) -> Iterator[tuple[str, Lesson]]:
    """Yields the lessons that are new, with the key of their record, which gives their id. One that a person took back is not new."""
    taken = {key: each.lesson for key, each in kept.items()}
    for each in lessons:
        if any(is_same(each, other) for other in taken.values()):
            continue
        parts = [agent, str(each.do is None), normalise(each.action), min(each.cites)]
        key, memory_id = _key(parts)
        while room.project.was_purged(memory_id):  # with an outcome that it was made of; others say the same
            parts.append("")
            key, memory_id = _key(parts)
        if not any(True for _ in room.project.entries(memory_ids=[f"record/{KIND}/{key}"])):
            taken[key] = replace(each, id=memory_id)
            yield key, taken[key]


def _key(parts: Sequence[str]) -> tuple[str, str]:
    """Returns the key of a lesson's record, and the id of its memory."""
    key = sha256("\0".join(parts).encode()).hexdigest()[:32]
    return key, str(UUID(f"{key[:12]}{OWN_VERSION}{key[13:16]}8{key[17:]}"))


def is_same(one: Lesson, other: Lesson) -> bool:
    """Returns True if two lessons say the same of the same runs."""
    if (one.do is None) != (other.do is None) or set(one.cites).isdisjoint(other.cites):
        return False
    return normalise(one.action) == normalise(other.action) or compare(one.action, other.action) is Sameness.SAME


def check_entries(
    room: Room, agent: str, named: Iterable[tuple[str, Lesson]]
) -> tuple[dict[str, tuple[Lesson, Entry]], list[Rejected]]:
    """Returns the lessons with the memories to store, and those that are suspicious or may not be stored."""
    entries, rejected = dict[str, tuple[Lesson, Entry]](), list[Rejected]()
    for key, lesson in named:
        try:
            entry = checked_entry(room, _memory(room, agent, lesson))
            reason = entry.memory.metadata.get(FLAGGED)
        except ValueError as error:
            reason = str(error)
        if reason:
            rejected.append(Rejected(lesson=lesson.title, reason=f"it is suspicious: it {reason}"))
        else:
            entries[key] = (lesson, entry)
    return entries, rejected


def _memory(room: Room, agent: str, lesson: Lesson) -> Heuristic | AntiPattern:
    at = from_micros(room.now())
    told: dict[str, Any] = {"title": lesson.title, "because": lesson.because, "method": lesson.method}
    told |= {"runs": [*lesson.with_it, *lesson.without_it]} if lesson.with_it and lesson.without_it else {}
    base: dict[str, Any] = {
        "id": lesson.id,
        "agent": agent,
        "project_id": room.name,
        "confidence": CONFIDENCE,
        "created_at": at,
        "updated_at": at,
        "metadata": {LESSON: told, "source": SOURCE},
    }
    if lesson.do is not None:
        return Heuristic(**base, condition=lesson.when, strategy=lesson.do, last_validated=at)
    return AntiPattern(**base, pattern=lesson.action, why_bad=lesson.because, last_seen=at)


def store(
    room: Room, agent: str, entries: Mapping[str, tuple[Lesson, Entry]], retired: Mapping[str, Kept]
) -> tuple[int | None, list[Lesson]]:
    """Stores lessons and retires others in one journal record, and returns its number and what was stored.

    A lesson that rests on an outcome which is gone meanwhile is left out, and so is one that another caller stored or retired.
    """
    if not entries and not retired:
        return None, []
    vectors, at, done = embed(room, [entry for _, entry in entries.values()]), room.now(), list[Lesson]()
    with room.project.write(actor=agent, operation=OPERATION, at=at) as write:
        there = write.stored.find({one for lesson, _ in entries.values() for one in lesson.cites})
        now = {key: version for key, (version, _) in write.stored.record(KIND, [*entries, *retired]).items()}
        for key, (lesson, entry) in entries.items():
            if not now[key] and all(one in there for one in lesson.cites):
                put(write, entry, vectors, at=at)
                body = room.store.redaction.value(_body(agent, lesson))
                write.put_record(KIND, key, body, version=0)
                done.append(lesson)
        places = write.stored.find([each.lesson.id for each in retired.values()])
        left = {key: each for key, each in retired.items() if now[key] == each.version}
        for key, each in left.items():
            write.put_record(KIND, key, {**_body(agent, each.lesson), "is_retired": True}, version=each.version)
            place = places.get(each.lesson.id)
            if place is not None and place.partition.agent == agent and not place.is_archived:
                write.change_memory(each.lesson.id, archived_at=at)
        return write.seq if done or left else None, done


def _body(agent: str, lesson: Lesson) -> dict[str, Any]:
    names = ("title", "when", "do", "avoid", "because", "method")
    texts = {name: value for name in names if (value := getattr(lesson, name)) is not None}
    return {"agent": agent, "memory_id": lesson.id, "references": [lesson.id, *lesson.cites], MADE: [lesson.id], **texts}
