"""The questions of LoCoMo as those of LongMemEval: a haystack of sessions, and apart from it the places of the gold ones.

All questions on one conversation share its sessions. Sessions are shuffled by a seed, so that no place in the file tells anything.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.longmemeval.questions import Question, Session, Turn
from benchmarks.records import DataError, read_records

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D(\d+):(\d+)")


def read_questions(path: Path, *, limit: int | None = None, seed: int = 0) -> list[Question]:
    """The first `limit` questions of a file that have evidence at all. `DataError` if it is not a LoCoMo file."""
    found = [question for number, record in enumerate(read_records(path)) for question in _questions(record, number, seed)][
        :limit
    ]
    if not found:
        raise DataError(f"{path} has no question with evidence")
    return found


def _questions(record: Mapping[str, Any], number: int, seed: int) -> Iterator[Question]:
    if absent := [name for name in ("qa", "conversation") if name not in record]:
        raise DataError(f"conversation {number} has no {', '.join(absent)}; is this a LoCoMo file?")
    told = record["conversation"]
    names = [name for name in told if _SESSION.fullmatch(name) and told[name]]
    random.Random(f"{seed} {number}").shuffle(names)
    sessions = tuple(Session(_turns(told[name]), _time(told.get(f"{name}_date_time"))) for name in names)
    places = {int(name.removeprefix("session_")): place for place, name in enumerate(names)}
    asked_at = max((session.time for session in sessions if session.time), default=None)
    turns = _turn_places(told, names)
    secrets = tuple(str(turn["dia_id"]) for name in names for turn in told[name] if "dia_id" in turn)
    for entry in record["qa"]:
        marks = [found for text in entry.get("evidence") or () for found in _EVIDENCE.finditer(str(text))]
        evidence = {int(found[1]) for found in marks}
        said = {(int(found[1]), int(found[2])) for found in marks}
        if evidence:
            yield Question(
                text=entry["question"],
                kind=CATEGORIES.get(entry["category"], str(entry["category"])),
                is_abstention=entry["category"] == ADVERSARIAL,
                sessions=sessions,
                gold=frozenset(places[session] for session in evidence if session in places),
                missing=sum(session not in places for session in evidence),
                asked_at=asked_at,
                gold_turns=frozenset(turns[turn] for turn in said if turn in turns),
                missing_turns=sum(turn not in turns for turn in said),
                secrets=secrets,
            )


def _turn_places(told: Mapping[str, Any], names: Sequence[str]) -> dict[tuple[int, int], tuple[int, int]]:
    """Where each turn stands, by the numbers of its session and its own in the evidence: the place of the session, and its own there."""
    return {
        (int(found[1]), int(found[2])): (place, number)
        for place, name in enumerate(names)
        for number, turn in enumerate(turn for turn in told[name] if _said(turn))
        if (found := _EVIDENCE.fullmatch(str(turn.get("dia_id"))))
    }


def _turns(turns: list[Mapping[str, str]]) -> tuple[Turn, ...]:
    return tuple(Turn(turn["speaker"], _said(turn)) for turn in turns if _said(turn))


def _said(turn: Mapping[str, str]) -> str:
    """What a turn says, with the caption of a picture that it shows."""
    caption = turn.get("blip_caption")
    return "\n".join(part.strip() for part in (turn["text"], f"[shows {caption}]" if caption else "") if part.strip())


def _time(text: str | None) -> datetime | None:
    """LoCoMo writes "1:56 pm on 8 May, 2023", without a zone."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC) if text else None
