"""The evidence that goes with memories that are purged: the counts that rest on nothing else, and the rules that rest on those."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from alma.errors import CorruptStoreError
from alma.journal import Change, entity
from alma.storage.relational.evidence import evidence_from
from alma.storage.relational.hidden_ids import hidden_id, revealed_id
from alma.storage.relational.hidden_names import hidden_key
from alma.storage.relational.logical import TABLES, View
from alma.storage.relational.readback import Redactions, changes_of, record_from
from alma.storage.relational.rows import UNREADABLE
from alma.text import shortened
from alma.types.evidence import Evidence, strategy_in, text_key
from alma.types.kinds import MemoryType
from alma.types.soundness import SHOWN_CHARS

EVIDENCE = "evidence"


@dataclass(slots=True)
class Log:
    """The journal while something is purged: each record is read once. `kept` is what former purges left of the records that they erased."""

    view: View
    kept: Redactions
    read: dict[int, list[Change]] = field(default_factory=dict)

    def seqs(self, key: str) -> list[int]:
        """The records that changed what hangs on a key."""
        given = {"project": self.view.project, "key": hidden_key(self.view.seal, key)}
        return [seq for (seq,) in self.view.session.all("touched_seqs", given)]

    def changes(self, seq: int) -> list[Change]:
        """Returns the changes of a record, as far as it was not purged."""
        if seq not in self.read:
            given = {"project": self.view.project, "seq": seq}
            (values,) = self.view.session.all("journal_at", given)
            self.read[seq] = changes_of(record_from(values, self.view, ""), self.kept)
        return self.read[seq]

    def rows(self, key: str, table: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The rows of a table, by key, as far as they stand in the records that changed what hangs on the first key."""
        for seq in self.seqs(key):
            for change in self.changes(seq):
                if change.table == table:
                    yield from ((change.key, row) for row in (change.before, change.after) if row)


@dataclass(frozen=True, slots=True)
class Unlearned:
    """The evidence that goes and the rules that go with it, by id, and what stays because others rest on it, by table and key.

    `unruled` has the live ones among the rules, each with the evidence that it rests on, as that is before.
    """

    evidence: Collection[str]
    rules: Collection[str]
    left: Sequence[str]
    unruled: Mapping[str, Evidence]


def unlearned(log: Log, doomed: Collection[str]) -> Unlearned:
    """Returns the evidence that goes when these memories do. Evidence stays while one of its outcomes does, also one that an undo may bring back."""
    linked = dict.fromkeys(evidence_id for memory_id in doomed for evidence_id in _linked(log, memory_id))
    looked = {evidence_id: _Evidence(log, evidence_id, doomed) for evidence_id in linked}
    gone = {evidence_id for evidence_id, one in looked.items() if not one.has_others()}
    rules = {rule for evidence_id in gone for rule in looked[evidence_id].rules()}
    rules |= _naming(log.view, _no_longer_tried(log, doomed))
    staying = [one for evidence_id, one in looked.items() if evidence_id not in gone and one.is_known]
    left = [name for one in staying for name in (f"{EVIDENCE} {one.id}", *(f"memory {rule}" for rule in one.present_rules()))]
    rules -= set(doomed)
    return Unlearned(gone, rules, left, dict(_under(log.view, rules)))


def _under(view: View, rules: Collection[str]) -> Iterator[tuple[str, Evidence]]:
    """The live ones of these rules, each with the evidence that it rests on, if that is readable."""
    for rule in sorted(rules):
        memory = TABLES["memory"].raw(view, rule)
        if memory is None or memory["archived_at"] is not None or memory["evidence"] is None:
            continue
        raw = view.one("evidence_by_id", id=memory["evidence"])
        if raw is None:
            continue
        with suppress(CorruptStoreError, *UNREADABLE):  # damaged evidence supports no rule, and must not keep what has to go
            yield rule, evidence_from(TABLES[EVIDENCE].decoded(view, raw))


def _no_longer_tried(log: Log, doomed: Collection[str]) -> set[str]:
    """The strategies that only outcomes name which go."""
    named: dict[str, str] = {}
    for memory_id in doomed:
        for key, row in log.rows(memory_id, "memory"):
            if key == memory_id and (strategy := (row.get("body") or {}).get("strategy_used")):
                named[text_key(strategy)] = strategy
    left = set(map(strategy_in, _resting(log.view, doomed))) if named else set()
    return {strategy for key, strategy in named.items() if key not in left}


def _resting(view: View, doomed: Collection[str]) -> Iterator[str]:
    """The evidence that the outcomes rest on which stay."""
    found = view.session.all("resting_of_kind", {"project": view.project, "kind": MemoryType.OUTCOME})
    return (revealed_id(view.seal, evidence) for memory_id, evidence in found if memory_id not in doomed)


def _naming(view: View, strategies: Collection[str]) -> set[str]:
    """The learned anti-patterns that name one of the strategies as what to do instead."""
    wanted = {shortened(strategy, SHOWN_CHARS) for strategy in strategies}
    if not wanted:
        return set()
    of_kind = {"project": view.project, "kind": MemoryType.ANTI_PATTERN}
    rows = (TABLES["memory"].raw(view, memory_id) for memory_id, _ in list(view.session.all("resting_of_kind", of_kind)))
    bodies = ((raw["id"], TABLES["memory"].decoded(view, raw)["body"]) for raw in rows if raw is not None)
    return {memory_id for memory_id, body in bodies if body.get("better_alternative") in wanted}


def _linked(log: Log, memory_id: str) -> Iterator[str]:
    """The evidence that a memory rests on, or once did."""
    raw = TABLES["memory"].raw(log.view, memory_id)
    if raw is not None and raw["evidence"]:
        yield revealed_id(log.view.seal, raw["evidence"])
    yield from (row["evidence"] for key, row in log.rows(memory_id, "memory") if key == memory_id and row.get("evidence"))


class _Evidence:
    """One piece of evidence, there or only in the journal, while the memories of some ids are purged."""

    def __init__(self, log: Log, evidence_id: str, doomed: Collection[str]) -> None:
        self.id = evidence_id
        self._log = log
        self._doomed = doomed
        self._raw = TABLES[EVIDENCE].raw(log.view, evidence_id)
        self._row = self._found()

    @property
    def is_known(self) -> bool:
        """Returns True when there is such a row, or was one that an undo may bring back."""
        return bool(self._row)

    def _found(self) -> Mapping[str, Any]:
        if self._raw is not None:
            return TABLES[EVIDENCE].decoded(self._log.view, self._raw)
        found = self._log.rows(entity(EVIDENCE, self.id), EVIDENCE)
        return next((row for key, row in found if key == self.id and "task_class" in row), {})

    def has_others(self) -> bool:
        """Returns True if another outcome rests on it, or may again after an undo."""
        found = (*self._outcomes_now(), *self._outcomes_then())
        return any(memory not in self._doomed for memory in found)

    def rules(self) -> set[str]:
        """The rules that rest on it, or once did."""
        found = self._log.rows(entity(EVIDENCE, self.id), EVIDENCE)
        named = {row[rule] for key, row in found if key == self.id for rule in ("heuristic", "anti_pattern") if row.get(rule)}
        return named | self.present_rules()

    def present_rules(self) -> set[str]:
        """The rules that rest on it now."""
        return {memory for memory, kind in self._memories_now() if kind != MemoryType.OUTCOME}

    def _outcomes_now(self) -> list[str]:
        return [memory for memory, kind in self._memories_now() if kind == MemoryType.OUTCOME]

    def _memories_now(self) -> list[tuple[str, str]]:
        view = self._log.view
        rows = [
            TABLES["memory"].raw(view, row["id"]) or {} for row in view.all("resting_on", evidence=hidden_id(view.seal, self.id))
        ]
        return [(raw["id"], view.partition_key(raw["partition"])[2]) for raw in rows]

    def _outcomes_then(self) -> Iterator[str]:
        for key, row in self._log.rows(entity(EVIDENCE, self.id), "memory"):
            if row.get("evidence") == self.id and row.get("kind") == MemoryType.OUTCOME:
                yield key
