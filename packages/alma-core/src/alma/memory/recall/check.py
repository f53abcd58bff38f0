"""Checking an action before it is taken: does it match something that is known to fail?"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from alma.embedding.scale import OWN
from alma.memory import arguments as args
from alma.memory.outcome_projection import View
from alma.memory.recall.ways import found_record, question_of
from alma.memory.room import Room
from alma.memory.rules import as_memory
from alma.retrieval import fusion
from alma.text import matched_text, normalised, one_line, shortened, without_names
from alma.types import sentences
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern
from alma.types.strategies import ActionCheck, ActionWarning
from alma.types.tags import defused
from alma.vectors import AnyIndex
from alma_learning import Question, Side, is_warned_of, words_of_code

ANTI_PATTERNS = frozenset({MemoryType.ANTI_PATTERN.value})

LEAST = 0.4
"""A stated pattern below this cosine to the action is looked at only where both name the same code."""

NEAREST = 100
"""The number of passages of each owner, those nearest to the action, that are looked at."""

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
    stated = _match_stated(room, reader, user, text)
    with room.projections.of(room.scopes.readable(agent=reader, user_id=user), reader=reader, user=user) as view:
        learned = list(_match_learned(room, view, text, question, reader))
    warnings = tuple([*(one for one, is_unlike in learned if not is_unlike), *stated][:MOST])
    elsewhere = tuple(one for one, is_unlike in learned if is_unlike)
    hint = None if warnings or elsewhere else room.scopes.hint(reader, text, user)
    return ActionCheck(agent=reader, action=text, warnings=warnings, elsewhere=elsewhere, hint=hint)


def _match_learned(room: Room, view: View, action: str, question: Question, reader: str) -> Iterator[tuple[ActionWarning, bool]]:
    """Yields a warning of the way that the action belongs to, as attempts and as single steps tried it, where it mostly failed; and whether it was
    tried on unlike tasks only."""
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
            similarity=1.0 if same_words else _compare_way(room, action, row.way),
            summary=record.line(None),
            shared_from=record.shared_from,
            record=record,
        )
        yield warning, way.is_elsewhere and way.table.nearness < UNLIKE


def _compare_way(room: Room, action: str, way: str) -> float:
    one, other = (room.store.texts.query(matched_text(text), room.project) for text in (action, way))
    return float(one @ other)


def _match_stated(room: Room, reader: str, user: str | None, action: str) -> list[ActionWarning]:
    """Returns the stated patterns that the action matches, nearest first, each text once."""
    scope = room.scopes.readable(agent=reader, user_id=user)
    partitions = scope.of_kinds(ANTI_PATTERNS)
    if not partitions:
        return []
    index, scale, beginning = room.index.current(partitions), room.store.texts.scale(room.project), matched_text(action)
    least = (scale or OWN).back(LEAST)
    vector = room.store.texts.query(without_names(beginning, scope.owners | {reader}), room.project)
    near = index.search(vector, partitions=partitions, limit=NEAREST)
    naming = _find_naming(room, index, partitions, words_of_code(action))
    wanted = np.unique([*near.memories[near.scores >= least].tolist(), *naming])
    cosines = _compare(room, index, beginning, wanted)
    cosines = {row: cosine for row, cosine in cosines.items() if cosine >= least or row in naming}
    found = [
        (cosines[row], memory)
        for row, memory in room.project.memories(list(cosines)).items()
        if isinstance(memory, AntiPattern)
        and is_warned_of(memory.pattern, action, None if scale is None else scale.of(cosines[row]))
    ]
    found.sort(key=lambda pair: (-pair[0], pair[1].agent != reader, pair[1].pattern, pair[1].why_bad, pair[1].id))
    first = {normalised(pattern.pattern) or pattern.pattern: (cosine, pattern) for cosine, pattern in reversed(found)}
    return [_make_warning(pattern, cosine, reader) for cosine, pattern in reversed(first.values())]


def _find_naming(room: Room, index: AnyIndex, partitions: Sequence[int], words: Sequence[str]) -> list[int]:
    """Returns the memories of the partitions that hold most of the words, by their weight."""
    if not words:
        return []
    found = fusion.score_words(room.project.text_lists(words, partitions=partitions, common=room.store.sizes.common))
    memories, ties = index.ties(found.memories)
    scores = found.scores[found.memories.searchsorted(memories)]
    best: list[int] = memories[np.lexsort((ties, -scores))[:MOST_NAMING]].tolist()
    return best


def _compare(room: Room, index: AnyIndex, action: str, rows: NDArray[np.int64]) -> dict[int, float]:
    """Returns how near the action is to the pattern itself, which is the first passage of each memory; another passage may have been found."""
    if not len(rows):
        return {}
    scored = index.score(room.store.texts.query(action, room.project), memories=rows)
    order = np.lexsort((scored.passages, scored.memories))[::-1]  # the first passage of each is the last of its pairs
    return dict(zip(scored.memories[order].tolist(), scored.scores[order].tolist(), strict=True))


def _make_warning(pattern: AntiPattern, cosine: float, reader: str) -> ActionWarning:
    shared = pattern.agent if pattern.agent != reader else None
    instead = f" Instead: {sentences.ended(_short(pattern.better_alternative))}" if pattern.better_alternative else ""
    origin = f" (stated by {_short(shared)})" if shared else ""
    summary = f"{_short(pattern.pattern)}: {_short(pattern.why_bad)}; stated, not learned{origin}.{instead}"
    return ActionWarning(anti_pattern=pattern, similarity=cosine, summary=defused(summary), shared_from=shared)


def _short(text: str) -> str:
    return shortened(one_line(text), SUMMARY_CHARS)
