"""Rules as their evidence changes: made, counted on, demoted, brought back. Part of the write that changed the evidence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Any

import numpy as np

from alma.errors import CorruptStoreError
from alma.learning import rules
from alma.learning.better_alternative import alternative_to
from alma.learning.consulting import Consulted, consulted, may_be_rules
from alma.learning.experience import Question
from alma.learning.ledger import Entry, Side
from alma.learning.level_words import said_of
from alma.learning.levels import Level, Row, anti_pattern_level, heuristic_level
from alma.learning.pooling import NEAR, SAME_WAY
from alma.learning.proving import proven_rows
from alma.learning.rules import ARCHIVED_BY, EVIDENCE, Setting
from alma.learning.single_strategy import row_of_advice
from alma.learning.standing import Needed, Standing, changed
from alma.memory.room import Room
from alma.memory.scopes import needed_by
from alma.protocols import Write
from alma.text import matched_text, spelt
from alma.types.doubts import FLAGGED
from alma.types.evidence import NO_STRATEGY, AntiPatternText, Evidence, type_of
from alma.types.identity import from_micros, new_id
from alma.types.memories import AntiPattern, AnyMemory, Heuristic, Memory
from alma.types.partition import agent_in
from alma.types.passages import Passage
from alma.types.sentences import EXACT

Counts = Mapping[str, Any]

SAID_OF_RULES = frozenset(
    {"status", "learned", "task", "task_type", "of_users", "tasks", "sure", "said", "caution", EXACT, FLAGGED, ARCHIVED_BY}
)
"""The names in the metadata of a rule that follow its evidence."""

TASKS_OF_OWN_WORD = 3
"""An agent's own word makes a heuristic from this number of distinct tasks; repeated on fewer it makes none."""

MOST_RULES = 8
"""The number of rules near a question that are judged again because of one outcome: the nearest."""


NEWEST_TASKS = 512
"""Rules are judged by what was tried on this number of the newest tasks. What is shown of them is computed from all, when it is asked for."""

MOST_QUESTIONS = 64
"""The number of tasks that one write judges rules for, where many are unlike each other: the last."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A cell that a write changed, the type of its task as the caller named it, and the vectors that the write has at hand, by text."""

    entry: Entry
    task_type: str | None
    vectors: Mapping[str, bytes]


def judge(room: Room, write: Write, side: Side, touched: Sequence[Touched], *, at: int) -> dict[str, Counts]:
    """Judges the rules near tasks whose evidence changed, and makes those that their strategies have become.

    Tasks that are near each other are one question. Returns the new counts of the rules, by id, of which nothing else has changed.
    """
    owner = touched[0].entry.evidence.owner
    needed = needed_by(room, agent_in(owner))
    recounted: dict[str, Counts] = {}
    tasks = np.array([side.task_of(one.entry) for one in touched])
    is_left, asked = np.ones(len(touched), bool), 0
    for place in reversed(range(len(touched))):
        if not is_left[place]:
            continue
        last, home = touched[place], int(tasks[place])
        question = side.question_of(last.entry)
        if not may_be_rules(side, question, needed, newest=NEWEST_TASKS, home=home):
            continue
        asked += 1
        known = _tried_near(side, last.entry, question)
        near = []
        if place:
            near = np.flatnonzero(is_left[:place] & (known.task_weights[tasks[:place]] >= NEAR)).tolist()
            is_left[near] = False
        if asked == MOST_QUESTIONS:
            is_left[:] = False
        here = [*(touched[one] for one in near), last]
        is_judged_here = not any(_has_other_home(side, one.entry, last.entry) for one in here)
        standing = known.rules_near()
        if is_judged_here and not standing and not _with_enough(known, needed):
            continue  # advice would say nothing that a rule can rest on
        changed_here = {one.entry.evidence.strategy_hash: one for one in here}
        proofs = proven_rows(known, among=changed_here)
        own = [entry for entry in standing if entry.evidence.owner == owner][:MOST_RULES]
        _read_rules(write, [entry.evidence for entry in own])
        for entry, row, is_touched in _to_judge(known, own, changed_here, needed, owner):
            kind = changed_here.get(entry.evidence.strategy_hash, last).task_type
            has_other_home = _has_other_home(side, entry, last.entry)
            if is_touched and has_other_home:
                _at_home(room, write, side, entry, kind, at, recounted, needed)
                continue
            seen = row_of_advice(known, row, **proofs.get(row, {}))
            judged = _Judged(room, write, known, kind, entry, row, seen, at, recounted, is_touched, last.vectors)
            if not has_other_home:
                judged.settle(needed)
            elif judged.may_rise(needed):  # but what is known of another task refutes nothing where it began
                _at_home(room, write, side, entry, kind, at, recounted, needed, is_touched=False)
    return recounted


def _read_rules(write: Write, resting: Sequence[Evidence]) -> None:
    """Reads the rules that rest on evidence in one go, where what some of them say is compared: else each is read by itself, and counted by another
    statement."""
    if any(seen.anti_pattern for seen in resting):
        with suppress(CorruptStoreError):  # a damaged one may be none that is read
            write.stored.named(rule for seen in resting for rule in (seen.heuristic, seen.anti_pattern) if rule is not None)


def _tried_near(side: Side, entry: Entry, question: Question) -> Consulted:
    """What was tried on tasks like that of a cell; `question` is the question of that. Whether it needs advice shows later."""
    strategy, home = entry.evidence.strategy_hash, side.task_of(entry)
    return consulted(side, question, newest=NEWEST_TASKS, home=home, wanted=[strategy], is_advised=False)


def restate_rules(room: Room, write: Write, side: Side, owner: str, *, kind_of: Callable[[str], str | None], at: int) -> None:
    """Judges all rules of an owner where they began, and writes each anew as of `at`, whatever it said before. None is made.

    `kind_of` returns the type of the task of evidence, by its id, as a caller named it.
    """
    needed = needed_by(room, agent_in(owner))
    own = (entry for cell in side.rules if (entry := side.held[cell]).evidence.owner == owner)
    for entry in sorted(own, key=lambda entry: entry.evidence.id):
        strategy = entry.evidence.strategy_hash
        known = _tried_near(side, entry, side.question_of(entry))
        row = known.row_of(strategy)
        if row is not None:
            seen = row_of_advice(known, row, **proven_rows(known, among=[strategy]).get(row, {}))
            _Judged(room, write, known, kind_of(entry.evidence.id), entry, row, seen, at, {}, is_touched=True).restate(needed)


def _has_other_home(side: Side, entry: Entry, asked: Entry) -> bool:
    """Returns True if a rule began on another task than the one that is asked about, and not of the same type."""
    home, here = side.task_of(entry), side.task_of(asked)
    return home != here and (side.tasks.types[home] is None or side.tasks.types[home] != side.tasks.types[here])


def _at_home(
    room: Room,
    write: Write,
    side: Side,
    entry: Entry,
    kind: str | None,
    at: int,
    recounted: dict[str, Counts],
    needed: Needed,
    *,
    is_touched: bool = True,
) -> None:
    """Judges a rule by what was tried on tasks like the one that it began on."""
    strategy = entry.evidence.strategy_hash
    known = _tried_near(side, entry, side.question_of(entry))
    row = known.row_of(strategy)
    if row is not None:
        proofs = proven_rows(known, among=[strategy]) if is_touched else {}
        seen = row_of_advice(known, row, **proofs.get(row, {}))
        _Judged(room, write, known, kind, entry, row, seen, at, recounted, is_touched).settle(needed)


def _to_judge(
    known: Consulted, standing: Sequence[Entry], touched: Mapping[str, Touched], needed: Needed, owner: str
) -> Iterator[tuple[Entry, int, bool]]:
    """The cells that a rule stands on, and those that one may rest on from now on, each with its row of the advice and whether that was changed.

    Where other strategies come to do worse or better, one may rest on a cell that was not touched. Cells of other owners have rules of their own.
    """
    changed_rows = [row for key in touched if key != NO_STRATEGY and (row := known.row_of(key)) is not None]
    had: set[int] = set()
    for entry in standing:
        row = known.row_of(entry.evidence.strategy_hash)
        if row is not None and row not in had:
            had.add(row)
            yield entry, row, any(known.same[row, other] >= SAME_WAY for other in changed_rows)
    for key, one in touched.items():
        row = None if key == NO_STRATEGY else known.row_of(key)
        if row is not None and all(known.same[row, other] < SAME_WAY for other in had):
            had.add(row)
            yield one.entry, row, True
    if len(had) == len(known.strategies):
        return
    for row in _with_enough(known, needed):
        if known.strategies[row] >= 0 and known.texts[row] and all(known.same[row, other] < SAME_WAY for other in had):
            had.add(row)
            own = [found for found in known.entries(row) if found[0].evidence.owner == owner]
            if own:
                yield max(own, key=lambda found: (found[1], found[0].evidence.observed_at))[0], row, False


def _with_enough(known: Consulted, needed: Needed) -> list[int]:
    """The rows with enough successes, or failures, for a rule; those with the most trials first."""
    successes, trials = known.whole_counts
    rows = np.flatnonzero((successes >= needed.successes) | (trials - successes >= needed.failures))
    return sorted(rows.tolist(), key=lambda row: -float(trials[row]))


@dataclass(slots=True)
class _Judged:
    """One strategy before the judge. `entry` is the cell that its rules rest on, `row` what the advice says of it.

    Unless it `is_touched`, nothing is written but a change of its standing; what is shown of it is computed when it is asked for.
    """

    room: Room
    write: Write
    known: Consulted
    task_type: str | None
    entry: Entry
    index: int
    row: Row
    at: int
    recounted: dict[str, Counts]
    is_touched: bool
    at_hand: Mapping[str, bytes] = field(default_factory=dict)
    """Vectors by text that need not be read."""
    resting: Sequence[Entry] = field(init=False)
    """The cells of near tasks with a strategy that is the same."""

    def __post_init__(self) -> None:
        self.resting = [entry for entry, _ in self.known.entries(self.index)]

    def settle(self, needed: Needed) -> None:
        """Makes of both rules what the evidence says now."""
        works, fails = self._levels(needed)
        works_now, fails_now = self._standings(works, fails)
        if works_now and self._is_due(works_now, self.entry.evidence.heuristic_status):
            self._settle_heuristic(works_now, works)
        if fails_now and self._is_due(fails_now, self.entry.evidence.anti_pattern_status):
            self._settle_anti_pattern(fails_now, fails)

    def may_rise(self, needed: Needed) -> bool:
        """Returns True if a rule would be made, brought back or believed more or less, not if one would only be demoted."""
        works_now, fails_now = self._standings(*self._levels(needed))
        seen = self.entry.evidence
        pairs = ((works_now, seen.heuristic_status), (fails_now, seen.anti_pattern_status))
        return any(now and now is not Standing.DEMOTED and self._is_due(now, before) for now, before in pairs)

    def _levels(self, needed: Needed) -> tuple[Level | None, Level | None]:
        works = heuristic_level(self.row, needed) if self._is_corroborated() else None
        return works, anti_pattern_level(self.row, needed)

    def _standings(self, works: Level | None, fails: Level | None) -> tuple[Standing | None, Standing | None]:
        seen = self.entry.evidence
        return (
            changed(seen.heuristic_status, works.standing if works else None),
            changed(seen.anti_pattern_status, fails.standing if fails else None),
        )

    def restate(self, needed: Needed) -> None:
        """Writes the rules of the cell anew as the evidence says now, with the ids and the beginnings that they have."""
        seen, pooled = self.entry.evidence, self._pooled()
        works, fails = self._levels(needed)
        if seen.heuristic and (kept := self._stored(seen.heuristic)):
            standing, said = works.standing if works else Standing.DEMOTED, self._said(works, works=True)
            rule = rules.heuristic(pooled, self._setting(), standing, said, memory_id=kept.id)
            self._put_in_place(kept, rule, standing)
            self._believe("heuristic_status", standing)
        if seen.anti_pattern and (kept := self._stored(seen.anti_pattern)):
            standing, said = fails.standing if fails else Standing.DEMOTED, self._said(fails, works=False)
            warning = rules.anti_pattern(pooled, self._setting(), standing, said, self._text(pooled), memory_id=kept.id)
            self._put_in_place(kept, warning, standing)
            self._believe("anti_pattern_status", standing)

    def _believe(self, status: str, standing: Standing) -> None:
        if getattr(self.entry.evidence, status) != standing:
            self._rest(**{status: standing})

    def _put_in_place(self, kept: AnyMemory, rule: Heuristic | AntiPattern, standing: Standing) -> None:
        """Puts a rule in the place of the stored one. What a caller archived stays so."""
        is_forgotten = self.write.stored.find([kept.id])[kept.id].is_archived and kept.metadata.get(ARCHIVED_BY) != EVIDENCE
        is_demoted = standing is Standing.DEMOTED and not is_forgotten
        said = {**rule.metadata, **({ARCHIVED_BY: EVIDENCE} if is_demoted else {})}
        others = {name: value for name, value in kept.metadata.items() if name not in SAID_OF_RULES}
        made = rule.model_copy(update={"created_at": kept.created_at, "metadata": {**others, **said}})
        self._replace(made, archived_at=... if is_forgotten else self.at if is_demoted else None)

    def _is_due(self, now: Standing, before: str | None) -> bool:
        """Returns True if a standing has to be settled. Only what was touched is proven anew, so what else is likely now may still be proven."""
        is_kept = before == Standing.PROVEN and now is Standing.LIKELY
        return self.is_touched or (now != before and not is_kept)

    def _is_corroborated(self) -> bool:
        """Returns True if the strategy rests on more than one repeated claim: on a success that others judged, or on own words of several tasks."""
        succeeded = {entry.evidence.task_class for entry in self.resting if entry.evidence.lifetime.successes > 0}
        return any(entry.is_trusted_success for entry in self.resting) or len(succeeded) >= TASKS_OF_OWN_WORD

    def _pooled(self) -> Evidence:
        """The evidence of the cell with the counts of all that it stands for.

        The errors are its own: a rule that is stored quotes no other outcome, so that a purge of that leaves nothing of it.
        """
        return replace(
            self.entry.evidence,
            lifetime=self.row.lifetime,
            operative=self.row.recent,
            observed_at=max((one.evidence.observed_at for one in self.resting), default=self.entry.evidence.observed_at),
        )

    def _setting(self) -> Setting:
        return Setting(self.room.name, self.at, self.entry.evidence.task or "", self._kind())

    def _said(self, level: Level | None, *, works: bool) -> Mapping[str, object]:
        return {} if level is None else said_of(self.row, level, works=works)

    def _kind(self) -> str | None:
        """The type of the task that the rule is of, as the caller named it where it is known."""
        kind = type_of(self.entry.evidence.task_class)
        return self.task_type if self.task_type is not None and kind == spelt(self.task_type) else kind

    def _settle_heuristic(self, standing: Standing, level: Level | None) -> None:
        seen, pooled = self.entry.evidence, self._pooled()
        if standing != seen.heuristic_status:
            said, memory_id = self._said(level, works=True), seen.heuristic or self._new_id()
            rule = rules.heuristic(pooled, self._setting(), standing, said, memory_id=memory_id)
            made = self._changed(rule, standing, rules.heuristic_counts(pooled), was=seen.heuristic_status)
            self._rest(heuristic=made, heuristic_status=standing)
        elif seen.heuristic:
            self.recounted[seen.heuristic] = rules.heuristic_counts(pooled)

    def _settle_anti_pattern(self, standing: Standing, level: Level | None) -> None:
        seen, pooled = self.entry.evidence, self._pooled()
        text, before = self._text(pooled), self._stored_text()
        is_reworded = before is not None and standing is not Standing.DEMOTED and text != before
        if standing != seen.anti_pattern_status:
            said, memory_id = self._said(level, works=False), seen.anti_pattern or self._new_id()
            rule = rules.anti_pattern(pooled, self._setting(), standing, said, text, memory_id=memory_id)
            counts = rules.anti_pattern_counts(pooled)
            made = self._changed(rule, standing, counts, was=seen.anti_pattern_status, is_reworded=is_reworded)
            self._rest(anti_pattern=made, anti_pattern_status=standing)
        elif is_reworded:
            self._reword(pooled, text)
        elif seen.anti_pattern:
            self.recounted[seen.anti_pattern] = rules.anti_pattern_counts(pooled)

    def _rest(self, **named: Any) -> None:
        """Has the cell name a rule that rests on it."""
        self.entry.evidence = replace(self.entry.evidence, **named)
        self.entry.is_due = True
        self.known.side.change(self.entry, {})

    def _text(self, pooled: Evidence) -> AntiPatternText:
        is_of_users = not self.entry.evidence.observations
        return rules.why_bad(pooled, is_of_users=is_of_users), alternative_to(self.known, self.index)

    def _stored_text(self) -> AntiPatternText | None:
        """Returns what the stored anti-pattern says."""
        kept = self._stored(self.entry.evidence.anti_pattern)
        return (kept.why_bad, kept.better_alternative) if isinstance(kept, AntiPattern) else None

    def _reword(self, pooled: Evidence, text: AntiPatternText) -> None:
        """Has the stored anti-pattern say why and what instead anew, where there still is one."""
        kept = self._stored(self.entry.evidence.anti_pattern)
        if isinstance(kept, AntiPattern):
            self._replace(rules.reworded(kept, pooled, text, self._setting()))

    def _replace(self, rule: Heuristic | AntiPattern, *, archived_at: int | EllipsisType | None = ...) -> None:
        evidence = self.entry.evidence.id
        self.write.replace(rule, self._passages(rule), self._vectors(), evidence=evidence, archived_at=archived_at)

    def _changed(
        self,
        rule: Heuristic | AntiPattern,
        standing: Standing,
        counts: Mapping[str, Any],
        *,
        was: str | None,
        is_reworded: bool = False,
    ) -> str | None:
        """Makes the rule, or changes the stored one to its new standing, and returns its id; `None` for one that was purged, which stays away.

        With `is_reworded`, what it says has changed, too. Only what was archived here comes back from there: a rule that a caller forgot stays
        forgotten.
        """
        kept = None if was is None else self._stored(rule.id)
        if kept is not None:
            columns: dict[str, Any] = {**counts, "body": {"metadata": rule.metadata}}
            if standing is Standing.DEMOTED and not self.write.stored.find([rule.id])[rule.id].is_archived:
                columns |= {"archived_at": self.at, "body": {"metadata": {**rule.metadata, ARCHIVED_BY: EVIDENCE}}}
            elif was == Standing.DEMOTED and kept.metadata.get(ARCHIVED_BY) == EVIDENCE:
                columns["archived_at"] = None
            if is_reworded:
                made = rule.model_copy(update={"created_at": kept.created_at})
                self._replace(made, archived_at=columns.get("archived_at", ...))
            else:
                self.write.change_memory(rule.id, **columns)
            return rule.id
        if was is not None or standing is Standing.DEMOTED:
            return None
        self.write.add(rule, self._passages(rule), self._vectors(), evidence=self.entry.evidence.id)
        return rule.id

    def _stored(self, memory_id: str | None) -> AnyMemory | None:
        return self.write.stored.named([memory_id]).get(memory_id) if memory_id else None

    def _passages(self, rule: Memory) -> tuple[Passage, ...]:
        setting = self._setting()
        if isinstance(rule, Heuristic):
            return rules.passages(setting.task, rule.strategy, [setting.task_type])
        assert isinstance(rule, AntiPattern)
        return rules.passages(rule.pattern, setting.task, [rule.why_bad, rule.better_alternative, setting.task_type])

    def _vectors(self) -> Mapping[str, bytes]:
        """The vectors of the strategy and of the task: both were kept when they were first seen."""
        texts = [text for text in (matched_text(self.entry.evidence.strategy), self._setting().task) if text]
        at_hand = {text: self.at_hand[text] for text in texts if text in self.at_hand}
        return {**self.write.stored.vectors([text for text in texts if text not in at_hand]), **at_hand}

    def _new_id(self) -> str:
        return new_id(from_micros(self.at))
