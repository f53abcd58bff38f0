"""Rules as their evidence changes: made, counted on, demoted, brought back. Part of the write that changed the evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from alma.learning import rules
from alma.learning.ledger import ClassBook, Entry
from alma.learning.rules import Setting
from alma.learning.standing import Needed, Standing, as_anti_pattern, as_heuristic, changed, steady
from alma.memory.room import Room
from alma.protocols import Write
from alma.text import matched_text
from alma.types.evidence import Evidence, Told, text_key
from alma.types.identity import from_micros, new_id
from alma.types.memories import AntiPattern, AnyMemory, Heuristic, Memory
from alma.types.passages import Passage

Counts = Mapping[str, Any]

ARCHIVED_BY, EVIDENCE = "archived_by", "evidence"
"""What the metadata of a demoted rule says: that nobody forgot it."""


def judge(room: Room, write: Write, book: ClassBook, setting: Setting) -> dict[str, Counts]:
    """Judges the strategies of a class that may be a rule, for what one does says something of all.

    Returns the new counts of the rules, by id, of which nothing else has changed.
    """
    recounted: dict[str, Counts] = {}
    if not book.armed:
        return recounted
    alternatives = rules.alternatives(entry.evidence for entry in book.armed.values())
    for entry in list(book.armed.values()):
        rest = book.rest(entry)
        judged = _Judged(room, write, book, setting, entry, alternatives, recounted)
        if entry.steady is None or entry.is_changed or not entry.steady.lower < rest < entry.steady.upper:
            judged.settle(rest)
        else:
            judged.retell()
    return recounted


@dataclass(slots=True)
class _Judged:
    """One strategy before the judge."""

    room: Room
    write: Write
    book: ClassBook
    setting: Setting
    entry: Entry
    alternatives: Sequence[Evidence]
    recounted: dict[str, Counts]

    def settle(self, rest: float) -> None:
        """Makes of both rules what the evidence says now."""
        seen = self.entry.evidence
        is_counted = self.entry.is_changed
        needed = self._needed(seen.agent)
        works = as_heuristic(seen.lifetime, seen.operative, rest, needed)
        fails = as_anti_pattern(seen.lifetime, seen.operative, rest, needed)
        self.entry.steady = steady(seen.operative, rest, (works, fails))
        if kept := changed(seen.heuristic_status, works):
            self._settle_heuristic(kept, is_counted=is_counted)
        if kept := changed(seen.anti_pattern_status, fails):
            self._settle_anti_pattern(kept, is_counted=is_counted)

    def retell(self) -> None:
        """Has an anti-pattern name another alternative, if a better one came up."""
        if self.entry.evidence.anti_pattern_status not in (Standing.CANDIDATE, Standing.PROVEN):
            return
        told = self._told()
        if told != self._told_before():
            self._retell(told)

    def _needed(self, agent: str) -> Needed:
        scope = self.room.store.agents.get(agent)
        return Needed(successes=scope.min_occurrences_for_heuristic) if scope else Needed()

    def _settle_heuristic(self, standing: Standing, *, is_counted: bool) -> None:
        seen = self.entry.evidence
        if standing != seen.heuristic_status:
            rule = rules.heuristic(seen, self.setting, standing, memory_id=seen.heuristic or self._new_id())
            made = self._changed(rule, standing, rules.heuristic_counts(seen), was=seen.heuristic_status)
            self.entry.evidence = replace(seen, heuristic=made, heuristic_status=standing)
        elif is_counted and seen.heuristic:
            self.recounted[seen.heuristic] = rules.heuristic_counts(seen)

    def _settle_anti_pattern(self, standing: Standing, *, is_counted: bool) -> None:
        seen = self.entry.evidence
        told = self._told()
        if standing != seen.anti_pattern_status:
            before = self._told_before()
            rule = rules.anti_pattern(seen, self.setting, standing, told, memory_id=seen.anti_pattern or self._new_id())
            made = self._changed(rule, standing, rules.anti_pattern_counts(seen), was=seen.anti_pattern_status)
            self.entry.evidence = replace(seen, anti_pattern=made, anti_pattern_status=standing)
            if before is None:
                self.entry.told = told
            elif standing is not Standing.DEMOTED and told != before:
                self._retell(told)
        elif standing is not Standing.DEMOTED and told != self._told_before():
            self._retell(told)
        elif is_counted and seen.anti_pattern:
            self.recounted[seen.anti_pattern] = rules.anti_pattern_counts(seen)

    def _told(self) -> Told:
        seen, before = self.entry.evidence, self._told_before()
        named = self.book.strategies.get(text_key(before[1])) if before and before[1] else None
        return rules.why_bad(seen), rules.better_alternative(seen, self.alternatives, named.evidence if named else None)

    def _told_before(self) -> Told | None:
        """What the stored anti-pattern says, read once."""
        if self.entry.told is None:
            kept = self._stored(self.entry.evidence.anti_pattern)
            self.entry.told = (kept.why_bad, kept.better_alternative) if isinstance(kept, AntiPattern) else None
        return self.entry.told

    def _retell(self, told: Told) -> None:
        """Has the stored anti-pattern say why and what instead anew, where there still is one."""
        kept = self._stored(self.entry.evidence.anti_pattern)
        self.entry.told = told
        if isinstance(kept, AntiPattern):
            rule = rules.retold(kept, self.entry.evidence, told, self.setting)
            self.write.replace(rule, self._passages(rule), self._vectors(), evidence=self.entry.evidence.id)

    def _changed(
        self, rule: Heuristic | AntiPattern, standing: Standing, counts: Mapping[str, Any], *, was: str | None
    ) -> str | None:
        """Makes the rule, or changes the stored one to its new standing, and gives its id; `None` for one that was purged, which stays away.

        Only what was archived here comes back from there: a rule that somebody forgot stays forgotten.
        """
        place = None if was is None else self.write.stored.find([rule.id]).get(rule.id)
        if place is not None:
            columns: dict[str, Any] = {**counts, "body": {"metadata": rule.metadata}}
            if standing is Standing.DEMOTED and not place.is_archived:
                columns |= {"archived_at": self.setting.now, "body": {"metadata": {**rule.metadata, ARCHIVED_BY: EVIDENCE}}}
            elif was == Standing.DEMOTED and self._was_archived_by_evidence(rule.id):
                columns["archived_at"] = None
            self.write.change_memory(rule.id, **columns)
            return rule.id
        if was is not None or standing is Standing.DEMOTED:
            return None
        self.write.add(rule, self._passages(rule), self._vectors(), evidence=self.entry.evidence.id)
        return rule.id

    def _was_archived_by_evidence(self, memory_id: str) -> bool:
        kept = self._stored(memory_id)
        return kept is not None and kept.metadata.get(ARCHIVED_BY) == EVIDENCE

    def _stored(self, memory_id: str | None) -> AnyMemory | None:
        place = self.write.stored.find([memory_id]).get(memory_id) if memory_id else None
        return None if place is None else self.write.stored.memories([place.memory]).get(place.memory)

    def _passages(self, rule: Memory) -> tuple[Passage, ...]:
        if isinstance(rule, Heuristic):
            return rules.passages(self.setting.task, rule.strategy, [self.setting.task_type])
        assert isinstance(rule, AntiPattern)
        return rules.passages(rule.pattern, self.setting.task, [rule.why_bad, rule.better_alternative, self.setting.task_type])

    def _vectors(self) -> Mapping[str, bytes]:
        """The vectors of the strategy and of the task: both were kept when they were first seen."""
        strategy, task = matched_text(self.entry.evidence.strategy), self.setting.task
        in_hand = {strategy: self.entry.vector, task: self.book.whole.vector if self.book.whole else None}
        known = {text: vector for text, vector in in_hand.items() if vector is not None}
        missing = [text for text in in_hand if text not in known]
        return {**known, **self.write.stored.vectors(missing)} if missing else known

    def _new_id(self) -> str:
        return new_id(from_micros(self.setting.now))
