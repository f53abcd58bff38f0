"""Checking an action before it is taken: does it match something that is known to fail?"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np

from alma.evidence import Tally
from alma.learning.action_matching import Pattern, is_warned_of, read_action, read_pattern, words_of_code
from alma.learning.paraphrases import LIMITS
from alma.learning.rules import counted
from alma.learning.scale import OWN
from alma.learning.task_names import without_task_names
from alma.memory import arguments as args
from alma.memory.argument_order import check_order
from alma.memory.recall.current_rules import rules_now
from alma.memory.recall.knowledge import asking
from alma.memory.recall.near_evidence import holding, near
from alma.memory.recall.other_wordings import matching_in_other_words
from alma.memory.recall.relevant_rules import ELSEWHERE, WARNED, RelevantRules, is_shared_rule, relevant_rules
from alma.memory.recall.tried_actions import refined, tried_action
from alma.memory.room import Room
from alma.memory.scopes import hint_of_agent, readable
from alma.protocols import StoredEvidence
from alma.text import matched_text, normalised, one_line, shortened
from alma.types import sentences
from alma.types.kinds import MemoryType
from alma.types.memories import AntiPattern
from alma.types.sentences import EXACT, exact
from alma.types.strategies import ActionCheck, ActionWarning
from alma.types.tags import defused

ANTI_PATTERNS = frozenset({MemoryType.ANTI_PATTERN.value})

LEAST = 0.4
"""A pattern below this cosine to the action is looked at only where both name the same code."""

MOST_NAMING = 100
"""How many of the anti-patterns that share most words with the code in an action are looked at."""

MOST = 8
SUMMARY_CHARS = 200


def check(
    room: Room, *, agent: object, action: object, task: object = None, task_type: object = None, user_id: object = None
) -> ActionCheck:
    """The anti-patterns that an action matches, the nearest first. Writes nothing, and forbids nothing.

    With a task, or its type, those that were learned warn only where they were learned from like tasks, the others are `elsewhere`; those that were
    stated always warn.
    """
    reader = args.checked_name(agent, "agent")
    check_order(room, agent)
    redacted = room.store.redaction.value
    text = redacted(args.checked_text(action, "action"))
    asked = redacted(args.optional_text(task, "task")), redacted(args.optional_label(task_type, "task_type"))
    user = args.optional_name(user_id, "user_id")
    matching = _with_what_was_tried(room, reader, user, text, _matching(room, reader, user, text), *asked)
    relevant = _relevant(room, reader, user, matching.keys(), *asked)
    warnings = _described(room, reader, matching, relevant, matching.keys() - relevant.hidden.keys())
    elsewhere = _described(room, reader, matching, relevant, _failing_elsewhere(room, reader, user, relevant), warnings)
    hint = None if warnings or elsewhere else hint_of_agent(room, reader, text, user)
    return ActionCheck(agent=reader, action=text, warnings=warnings, elsewhere=elsewhere, hint=hint)


def _with_what_was_tried(
    room: Room,
    reader: str,
    user: str | None,
    action: str,
    matching: Mapping[int, tuple[AntiPattern, float]],
    task: str | None,
    task_type: str | None,
) -> dict[int, tuple[AntiPattern, float]]:
    """The patterns that match, and those learned from the action in other words; of an action that works, none that was learned on another way."""
    asked = asking(room, reader=reader, task=task, task_type=task_type, user_id=user)
    tried = tried_action(room, asked, action, room.project.learned.behind(list(matching)))
    scope = readable(room, agent=reader, user_id=user)
    partitions = scope.of_kinds(ANTI_PATTERNS)
    places = room.project.find(list(tried.rules)).values() if tried.rules else ()
    rows = [
        one.memory for one in places if one.partition.row in partitions and not one.is_archived and one.memory not in matching
    ]
    found = room.project.memories(rows) if rows else {}
    cosines = _cosines(room, matched_text(action), list(partitions), rows) if rows else {}
    more = {row: (memory, cosines.get(row, 0.0)) for row, memory in found.items() if isinstance(memory, AntiPattern)}
    learned = {row: _named(one) for row, (one, _) in matching.items() if one.metadata.get("learned")}
    others = tried.others | refined(room, scope.learners, action, learned)
    return {**{row: one for row, one in matching.items() if row not in others}, **more}


def _failing_elsewhere(room: Room, reader: str, user: str | None, relevant: RelevantRules) -> list[int]:
    """The rows of what is hidden because it was learned on other tasks, and mostly fails on all tasks together."""
    behind = room.project.learned.behind([row for row, why in relevant.hidden.items() if why in ELSEWHERE])
    if not behind:
        return []
    with room.book(readable(room, agent=reader, user_id=user).learners) as book:
        sides = {row: book.side(is_of_steps=stored.evidence.is_of_steps) for row, stored in behind.items()}
        totals = {row: side.totals(behind[row].evidence.strategy_hash) for row, side in sides.items()}
    return [row for row, (successes, trials) in totals.items() if 2 * successes < trials]


def _described(
    room: Room,
    reader: str,
    matching: Mapping[int, tuple[AntiPattern, float]],
    relevant: RelevantRules,
    rows: Collection[int],
    said: Collection[ActionWarning] = (),
) -> tuple[ActionWarning, ...]:
    """Warnings of some of the patterns, the nearest first: with what they say of the task at hand, else of tasks like that which they began on.

    Of each pattern there is one, none of those that are `said` already; and none that its evidence bears out no more.
    """
    behind = room.project.learned.behind(list(rows))

    def place(row: int) -> tuple[float, bool, bool, tuple[str, str, str], int]:
        pattern, cosine = matching[row]
        content = pattern.pattern, pattern.why_bad, pattern.better_alternative or ""
        return -cosine, row not in behind, pattern.agent != reader, content, -row

    first: dict[str, int] = {}
    for row in sorted(rows, key=place):
        first.setdefault(_key(matching[row][0]), row)
    chosen = [row for key, row in first.items() if key not in {_key(one.anti_pattern) for one in said}][:MOST]
    at_home = rules_now(room, {row: matching[row][0] for row in chosen if row not in relevant.shown})
    current = {row: at_home.as_shown(row, matching[row][0]) for row in chosen if row not in at_home.hidden}
    patterns = {row: relevant.as_warning(row, one) for row, one in current.items() if isinstance(one, AntiPattern)}
    return tuple(_warning(one, matching[row][1], reader, _counts(one, behind.get(row))) for row, one in patterns.items())


def _key(pattern: AntiPattern) -> str:
    return normalised(pattern.pattern) or pattern.pattern


def _matching(room: Room, reader: str, user: str | None, text: str) -> dict[int, tuple[AntiPattern, float]]:
    """The anti-patterns that match and that the reader does not know better, by row, each with the cosine of the pattern alone.

    Where the cosines of the embedder do not separate meanings, words alone decide.
    """
    calibration = room.store.texts.calibration(room.project)
    scale, limits = (calibration.scale, LIMITS) if calibration else (OWN, None)
    least = scale.back(LEAST)
    action, beginning = read_action(text), matched_text(text)
    near_ones = near(room, reader=reader, user_id=user, text=beginning, kinds=ANTI_PATTERNS, least=least)
    naming = holding(room, reader=reader, user_id=user, words=words_of_code(action), kinds=ANTI_PATTERNS, most=MOST_NAMING)
    partitions = readable(room, agent=reader, user_id=user).of_kinds(ANTI_PATTERNS)
    cosines = _cosines(room, beginning, partitions, [*{item.memory for item in near_ones} | {*naming}])
    cosines = {row: cosine for row, cosine in cosines.items() if cosine >= least or row in naming}
    patterns = {row: memory for row, memory in room.project.memories(list(cosines)).items() if isinstance(memory, AntiPattern)}

    def is_warned(pattern: Pattern, cosine: float) -> bool:
        return is_warned_of(pattern, action, scale.of(cosine), limits)

    matching = {row for row, pattern in patterns.items() if is_warned(read_pattern(_named(pattern)), cosines[row])}
    left = sorted(patterns.keys() - matching, key=lambda row: (-cosines[row], row))
    owners = readable(room, agent=reader, user_id=user).learners
    matching.update(matching_in_other_words(room, owners, left, room.store.texts.query(beginning, room.project), is_warned))
    return {row: (pattern, cosines[row]) for row, pattern in patterns.items() if row in matching}


def _named(pattern: AntiPattern) -> str:
    """What a pattern names: of one that was learned, without the names of the task it began on."""
    task = pattern.metadata.get("task") if pattern.metadata.get("learned") else None
    return without_task_names(pattern.pattern, task) if isinstance(task, str) else pattern.pattern


def _relevant(
    room: Room, reader: str, user: str | None, rows: Collection[int], task: str | None, task_type: str | None
) -> RelevantRules:
    """Which of the learned patterns hold for a task. Without one, all of the reader's own do, and of others' those on what it did not try."""
    if task is None and task_type is None:
        found = room.project.candidates(list(rows))
        partitions = room.project.partitions()
        rows = [one.memory for one in found if is_shared_rule(partitions[one.partition], reader)]
    about = partial(asking, room, reader=reader, task=task, task_type=task_type, user_id=user)
    return relevant_rules(room, dict.fromkeys(rows, MemoryType.ANTI_PATTERN.value), about, least=WARNED, is_numbered=True)


def _cosines(room: Room, action: str, partitions: Sequence[int], rows: Sequence[int]) -> dict[int, float]:
    """How near the pattern alone is, the first passage of each; what was found may have been found by its task."""
    vector = room.store.texts.query(action, room.project)
    scored = room.index.current(partitions).score(vector, memories=np.array(sorted(rows), dtype=np.int64))
    first: dict[int, tuple[int, float]] = {}
    for memory, passage, score in zip(scored.memories.tolist(), scored.passages.tolist(), scored.scores.tolist(), strict=True):
        first[memory] = min(first.get(memory, (passage, score)), (passage, score))
    return {memory: score for memory, (_, score) in first.items()}


def _counts(pattern: AntiPattern, behind: StoredEvidence | None) -> Tally | None:
    """The counts of a learned pattern; where a memory rounds the half of a partial success, those of its metadata, or of the evidence it began on."""
    if behind is None:
        return None
    trials, began = pattern.occurrence_count + pattern.success_count, behind.evidence.lifetime
    if EXACT not in pattern.metadata and (counted(began.failures), counted(began.trials)) == (pattern.occurrence_count, trials):
        return began
    return Tally(float(exact(pattern.success_count, trials, pattern.metadata)), float(trials))


def _warning(pattern: AntiPattern, cosine: float, reader: str, learned: Tally | None) -> ActionWarning:
    shared = pattern.agent if pattern.agent != reader else None
    instead = f" Instead: {sentences.ended(_short(pattern.better_alternative))}" if pattern.better_alternative else ""
    origin = f" (learned by {_short(shared)})" if shared else ""
    record = (
        f"it failed {sentences.counted(learned.failures)} of {sentences.counted(learned.trials)} times"
        if learned
        else "stated, not learned"
    )
    summary = f"{_short(pattern.pattern)}: {_short(pattern.why_bad)}; {record}{origin}.{instead}"
    return ActionWarning(anti_pattern=pattern, similarity=cosine, summary=defused(summary), shared_from=shared)


def _short(text: str) -> str:
    return shortened(one_line(text), SUMMARY_CHARS)
