"""The questions, freed of everything that tells which session holds the evidence.

In the public files the ids of evidence sessions begin with "answer", and the sessions come in a fixed order. Both are gone here: sessions are
shuffled by a seed and known by their place afterwards. What was gold is kept apart, for the scoring alone.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.records import DataError, read_records

ABSTENTION = "_abs"
FIELDS = ("question_id", "question_type", "question", "answer_session_ids", "haystack_session_ids", "haystack_sessions")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. `time` is `None` where the data give none."""

    turns: tuple[Turn, ...]
    time: datetime | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its haystack, and apart from it the places of the gold sessions in the haystack.

    `missing` counts gold sessions that the haystack does not hold: they cannot be found.
    `asked_at` is when the question was asked, `None` where the data do not say. `gold_turns` are the turns with the evidence, each as the place
    of its session and its own place there, and `missing_turns` those that are not there; none where the data name none. `secrets` are ids in the
    data, for the guard that looks for them in what is stored.
    """

    text: str
    kind: str
    is_abstention: bool
    sessions: tuple[Session, ...]
    gold: frozenset[int]
    missing: int
    asked_at: datetime | None = None
    gold_turns: frozenset[tuple[int, int]] = frozenset()
    missing_turns: int = 0
    secrets: tuple[str, ...] = ()


def in_one_store(questions: Sequence[Question]) -> list[Question]:
    """Returns the questions with the sessions of all of them as their haystack, each session once; of equal ones the first."""
    place_of: dict[tuple[Turn, ...], int] = {}
    kept: list[Session] = []
    for question in questions:
        for session in question.sessions:
            if session.turns not in place_of:
                place_of[session.turns] = len(kept)
                kept.append(session)
    sessions = tuple(kept)

    def moved(question: Question) -> Question:
        to = [place_of[session.turns] for session in question.sessions]
        gold = frozenset(to[place] for place in question.gold)
        turns = frozenset((to[place], turn) for place, turn in question.gold_turns)
        return replace(question, sessions=sessions, gold=gold, gold_turns=turns)

    return [moved(question) for question in questions]


def read_questions(path: Path, *, limit: int | None = None, seed: int = 0) -> list[Question]:
    """The first `limit` questions of a file that have evidence at all. `DataError` if it is not a LongMemEval file."""
    records = read_records(path)[:limit]
    questions = [_question(record, number, seed) for number, record in enumerate(records)]
    scored = [question for question in questions if question.gold or question.missing]
    if not scored:
        raise DataError(f"{path} has no question with evidence sessions")
    return scored


def _question(record: Mapping[str, Any], number: int, seed: int) -> Question:
    if absent := [name for name in FIELDS if name not in record]:
        raise DataError(f"question {number} has no {', '.join(absent)}; is this a LongMemEval file with haystacks?")
    ids: Sequence[str] = record["haystack_session_ids"]
    sessions = record["haystack_sessions"]
    if len(ids) != len(sessions):
        raise DataError(f"question {number} has {len(ids)} session ids for {len(sessions)} sessions")
    times = record.get("haystack_dates") or [None] * len(ids)
    order = list(range(len(ids)))
    random.Random(f"{seed} {number}").shuffle(order)
    evidence = set(record["answer_session_ids"])
    gold = frozenset(new for new, old in enumerate(order) if ids[old] in evidence)
    return Question(
        text=record["question"],
        kind=record["question_type"],
        is_abstention=record["question_id"].endswith(ABSTENTION),
        sessions=tuple(_session(sessions[old], times[old]) for old in order),
        gold=gold,
        missing=len(evidence - set(ids)),
        asked_at=_time(record.get("question_date")),
        gold_turns=frozenset((new, place) for new in gold for place in _answering(sessions[order[new]])),
        secrets=(record["question_id"], *ids),
    )


def _session(turns: Sequence[Mapping[str, Any]], time: str | None) -> Session:
    return Session(tuple(Turn(turn["role"], turn["content"].strip()) for turn in _told(turns)), _time(time))


def _answering(turns: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """The places of the turns that are marked as evidence."""
    return (place for place, turn in enumerate(_told(turns)) if turn.get("has_answer"))


def _told(turns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [turn for turn in turns if turn["content"].strip()]


def _time(text: str | None) -> datetime | None:
    """LongMemEval writes 2023/05/20 (Sat) 02:21, without a zone."""
    if not text:
        return None
    date, _, clock = text.split(" ")
    return datetime.strptime(f"{date} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
