"""Checking an action before it is taken: does it match something that is known to fail?"""

from collections.abc import Iterator, Sequence

import numpy as np

from alma.embedding.scale import OWN
from alma.memory import arguments as args
from alma.memory.outcome_projection import View
from alma.memory.recall.near_memories import holding, near
from alma.memory.recall.ways import found_record, question_of
from alma.memory.room import Room
from alma.memory.rules import as_memory
from alma.memory.scopes import hint_of_agent, readable
from alma.text import matched_text, normalised, one_line, shortened
from alma.types import sentences
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern
from alma.types.strategies import ActionCheck, ActionWarning
from alma.types.tags import defused
from alma_learning import Question, Side, is_warned_of, words_of_code

ANTI_PATTERNS = frozenset({MemoryType.ANTI_PATTERN.value})

LEAST = 0.4
"""A stated pattern below this cosine to the action is looked at only where both name the same code."""

MOST_NAMING = 100
"""The number of stated patterns, those that share most words with the code in an action, that are looked at."""

UNLIKE = 0.15
"""Nearness of another kind of task below which what failed on it, in equal words, warns of nothing. On played worlds (`benchmarks.played`) .79 of
what mostly failed is warned of, and .013 of what is good; without other kinds .73 and .013, with all of them .82 and .013."""

MOST = 8
SUMMARY_CHARS = 200


def check(
    room: Room, agent: str, action: str, task: str | None = None, *, task_type: str | None = None, user_id: str | None = None
) -> ActionCheck:
    """Returns the anti-patterns, learned or stated, that an intended action matches. Takes milliseconds, writes nothing, forbids
    nothing.

    An action is a call, a command or a sentence: arguments that a pattern does not name do not matter. With a `task` or a
    `task_type`, a learned pattern warns only where it was learned from like tasks; a stated one always does.
    """
    reader = args.checked_name(agent, "agent")
    redacted = room.store.redaction.value
    text = redacted(args.checked_text(action, "action"))
    about = redacted(args.optional_text(task, "task")), redacted(args.optional_label(task_type, "task_type"))
    user = args.optional_name(user_id, "user_id")
    question = question_of(room, *about)
    room.store.texts.query(matched_text(text), room.project)  # an embedder that calls ALMA itself must find no view open
    stated = _stated(room, reader, user, text)
    with room.projections.of(readable(room, agent=reader, user_id=user), reader=reader, user=user) as view:
        learned = list(_learned(room, view, text, question, reader))
    warnings = tuple([*(one for one, is_unlike in learned if not is_unlike), *stated][:MOST])
    elsewhere = tuple(one for one, is_unlike in learned if is_unlike)
    hint = None if warnings or elsewhere else hint_of_agent(room, reader, text, user)
    return ActionCheck(agent=reader, action=text, warnings=warnings, elsewhere=elsewhere, hint=hint)


def _learned(room: Room, view: View, action: str, question: Question, reader: str) -> Iterator[tuple[ActionWarning, bool]]:
    """The way that the action belongs to, as attempts and as single steps tried it, where it mostly failed; and whether on unlike tasks alone."""
    for is_of_steps in (False, True):
        found = found_record(view, action, question, reader=reader, is_of_steps=is_of_steps)
        if found is None:
            continue
        record, way, rule = found
        row = way.row
        if rule is None or row.side is not Side.FAILS:
            continue
        pattern = as_memory(room, rule, reader=reader)
        assert isinstance(pattern, AntiPattern)
        same_words = normalised(action) in map(normalised, row.wordings)
        warning = ActionWarning(
            anti_pattern=pattern,
            similarity=1.0 if same_words else _cosine(room, action, row.way),
            summary=record.line(None),
            shared_from=record.shared_from,
            record=record,
        )
        yield warning, way.is_elsewhere and way.table.nearness < UNLIKE


def _cosine(room: Room, action: str, way: str) -> float:
    one, other = (room.store.texts.query(matched_text(text), room.project) for text in (action, way))
    return float(one @ other)


def _stated(room: Room, reader: str, user: str | None, action: str) -> list[ActionWarning]:
    """The stated patterns that the action matches, nearest first, each text once."""
    scale = room.store.texts.scale(room.project)
    least = (scale or OWN).back(LEAST)
    beginning = matched_text(action)
    near_ones = near(room, reader=reader, user_id=user, text=beginning, kinds=ANTI_PATTERNS, least=least)
    naming = holding(room, reader=reader, user_id=user, words=words_of_code(action), kinds=ANTI_PATTERNS, most=MOST_NAMING)
    partitions = readable(room, agent=reader, user_id=user).of_kinds(ANTI_PATTERNS)
    cosines = _cosines(room, beginning, partitions, [*{item.memory for item in near_ones} | {*naming}])
    cosines = {row: cosine for row, cosine in cosines.items() if cosine >= least or row in naming}
    found = [
        (cosines[row], memory)
        for row, memory in room.project.memories(list(cosines)).items()
        if isinstance(memory, AntiPattern)
        and is_warned_of(memory.pattern, action, None if scale is None else scale.of(cosines[row]))
    ]
    found.sort(key=lambda pair: (-pair[0], pair[1].agent != reader, pair[1].pattern, pair[1].why_bad, pair[1].id))
    first = {normalised(pattern.pattern) or pattern.pattern: (cosine, pattern) for cosine, pattern in reversed(found)}
    return [_warning(pattern, cosine, reader) for cosine, pattern in reversed(first.values())]


def _cosines(room: Room, action: str, partitions: Sequence[int], rows: Sequence[int]) -> dict[int, float]:
    """How near the pattern alone is, the first passage of each; what was found may have been found by its task."""
    if not rows:
        return {}
    vector = room.store.texts.query(action, room.project)
    scored = room.index.current(partitions).score(vector, memories=np.array(sorted(rows), dtype=np.int64))
    first: dict[int, tuple[int, float]] = {}
    for memory, passage, score in zip(scored.memories.tolist(), scored.passages.tolist(), scored.scores.tolist(), strict=True):
        first[memory] = min(first.get(memory, (passage, score)), (passage, score))
    return {memory: score for memory, (_, score) in first.items()}


def _warning(pattern: AntiPattern, cosine: float, reader: str) -> ActionWarning:
    shared = pattern.agent if pattern.agent != reader else None
    instead = f" Instead: {sentences.ended(_short(pattern.better_alternative))}" if pattern.better_alternative else ""
    origin = f" (stated by {_short(shared)})" if shared else ""
    summary = f"{_short(pattern.pattern)}: {_short(pattern.why_bad)}; stated, not learned{origin}.{instead}"
    return ActionWarning(anti_pattern=pattern, similarity=cosine, summary=defused(summary), shared_from=shared)


def _short(text: str) -> str:
    return shortened(one_line(text), SUMMARY_CHARS)
