"""Outcomes of a project as learning reads them: one projection for each reader, kept between questions and caught up before each."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alma.errors import ConfigurationError, EmbeddingError
from alma.forking import renewed_in_children
from alma.journal import PURGE, REBUILD
from alma.memory.readable import ReadableScope
from alma.memory.texts import TextVectors
from alma.protocols import Project
from alma.text import matched_text, spelt, split_passages
from alma.types.kinds import MemoryType, VerdictSource
from alma.types.provenance import FLAGGED
from alma.types.rules import RULE, RuleRecord, RuleRecords
from alma.types.scope import MemoryScope, UserWall
from alma.types.stored import QUARANTINE, RecordedOutcome
from alma_learning import Embedding, Needed, Projection, Trial

_LOG = logging.getLogger("alma")

MOST_VIEWS = 64
"""Readers whose projections are kept; those that asked last."""

MOST_RECORDS = 2_000
"""Journal records after which reading all outcomes again is cheaper than following the journal."""

OUTCOMES = frozenset({MemoryType.OUTCOME.value})

MOST_EFFECTS = 256
"""Updates that a reader may have missed and still catch up."""

ReaderKey = tuple[str, str | None, bool, str]
Wanted = Callable[[RecordedOutcome], bool]


@dataclass(frozen=True, slots=True)
class _Effect:
    """What the journal records after `start`, up to `seq`, changed: memories by id, and whether anything else did."""

    start: int
    seq: int
    memories: frozenset[str]
    is_total: bool


@dataclass(slots=True)
class View:
    """The outcomes that one reader may read, folded. As of journal record `upto`."""

    tried: Projection
    upto: int
    records: RuleRecords = field(default_factory=RuleRecords)
    """Records of rules in the project."""
    texts: "_Texts | None" = None
    """Where the vectors of texts come from."""
    doubts: dict[str, str] = field(default_factory=dict)
    """Why outcomes are suspicious, by id."""

    def doubt_of(self, outcomes: Iterable[str]) -> str | None:
        """Returns why a way is suspicious whose outcomes these are; `None` if it is not."""
        return next((self.doubts[one] for one in outcomes if one in self.doubts), None) if self.doubts else None

    def note_doubts(self, found: Iterable[RecordedOutcome]) -> None:
        """Notes which outcomes are suspicious, and which no longer are."""
        for one in found:
            self.doubts.pop(one.id, None)
            if doubt := one.body.get("metadata", {}).get(FLAGGED):
                self.doubts[one.id] = str(doubt)


class OutcomeProjections:
    """Cached projections of one project. Thread-safe."""

    def __init__(self, project: Project, texts: TextVectors, agents: Mapping[str, MemoryScope], users: UserWall) -> None:
        self._project, self._stored_texts, self._agents, self._users = project, texts, agents, users
        self._views: OrderedDict[ReaderKey, View] = OrderedDict()
        self._effects: list[_Effect] = []
        self._followed: int | None = None
        """The newest journal record whose effects are known; `None` before the first question."""
        self._records: tuple[int, RuleRecords] | None = None
        """Those of rules, as of a journal record."""
        self._lock = threading.RLock()
        renewed_in_children(self)

    def renew_in_child(self) -> None:
        """Starts with an empty cache: another thread of the parent may have held the lock."""
        self._lock = threading.RLock()
        self.drop()

    def drop(self) -> None:
        """Drops all projections, and the texts in them."""
        with self._lock:
            self._views.clear()
            self._effects.clear()
            self._followed = self._records = None

    @contextmanager
    def of(self, scope: ReadableScope, *, reader: str, user: str | None, is_shared: bool = True) -> Iterator[View]:
        """Yields what a reader may read, as of now. One thread at a time holds it."""
        project = self._project
        with self._lock, project.moment():
            upto = project.learned_seq()
            if (
                self._followed is not None and self._followed > upto
            ):  # this thread reads a state of before: the cache is for others
                yield self._read(scope, reader, upto)
                return
            self._follow(upto)
            key = (reader, user, is_shared, self._users.value)
            view = self._views.pop(key, None)  # a failed update must not be used again
            view = self._caught_up(view, scope) if view else None
            if view is None:
                view = self._read(scope, reader, upto)
            yield view
            if view.texts is not None and view.texts.was_refused:
                return  # the next reader may find that the embedder answers again
            self._views[key] = view
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)

    @contextmanager
    def at_hand(self, *, reader: str, user: str | None) -> Iterator[View | None]:
        """Yields what a reader was last given, whatever changed since; `None` if it is not kept. One thread at a time holds it."""
        with self._lock:
            yield self._views.get((reader, user, True, self._users.value))

    @contextmanager
    def among(self, scope: ReadableScope, is_wanted: Wanted, *, reader: str) -> Iterator[View]:
        """Yields what a reader may read of those outcomes that are wanted, say of a past time. Nothing of it is kept."""
        with self._project.moment():
            yield self._read(scope, reader, self._project.learned_seq(), is_wanted)

    def _follow(self, upto: int) -> None:
        """Reads what the journal records since the last question changed."""
        since = self._followed
        self._followed = upto
        if since is None or since == upto:
            return
        records, self._records = self._records, None
        if upto - since > MOST_RECORDS:
            self._effects = [_Effect(since, upto, frozenset(), is_total=True)]
            return
        memories, tables, is_total = set[str](), set[str](), False
        for entry in self._project.entries(after=since):
            tables.update([change.table for change in entry.changes])
            memories.update([change.key for change in entry.changes if change.table == "memory"])
            is_total = is_total or entry.is_purged or entry.operation == REBUILD
        is_total = is_total or PURGE in tables
        if records is not None and records[0] == since and not is_total and "record" not in tables:
            self._records = upto, records[1]
        self._effects.append(_Effect(since, upto, frozenset(memories), is_total))
        del self._effects[:-MOST_EFFECTS]

    def _caught_up(self, view: View, scope: ReadableScope) -> View | None:
        """Applies what changed since the view was used; `None` if it has to be read from the beginning."""
        if view.upto == self._followed:
            return view
        if not len(view.tried):
            return None  # made without asking the embedder anything
        missed = [effect for effect in self._effects if effect.seq > view.upto]
        if not missed or missed[0].start > view.upto or any(effect.is_total for effect in missed):
            return None
        changed = frozenset[str]().union(*(effect.memories for effect in missed))
        found = [one for one in self._project.outcomes_named(changed) if self._is_counted(one, scope)]
        kept = {one.id for one in self._without_quarantined(found)}
        view.note_doubts(found)
        trials = _trials(found, scope, kept)
        view.tried.remove(changed - {trial.id for trial in trials})
        view.tried.extend(trials)
        view.upto = self._followed or 0
        view.records = self._rule_records(view.upto)
        return view

    def _read(self, scope: ReadableScope, reader: str, upto: int, is_wanted: Wanted | None = None) -> View:
        partitions = [row for row, one in scope.known.items() if one.kind == MemoryType.OUTCOME and self._may_count(row, scope)]
        found = list(self._project.outcomes(partitions)) if partitions else []
        if is_wanted is not None:
            found = [one for one in found if is_wanted(one)]
        kept = {one.id for one in self._without_quarantined(found)}
        texts = _Texts(self._project, self._stored_texts)
        embedding = texts.embedding() if found else Embedding.WORDS  # an embedder is not asked where nothing was tried
        tried = Projection(texts.vectors, embedding=embedding, needed=self._needed, reader=reader)
        view = View(tried, upto, self._rule_records(upto), texts)
        view.note_doubts(found)
        tried.extend(_trials(found, scope, kept))
        return view

    def _may_count(self, row: int, scope: ReadableScope) -> bool:
        return row in scope.by_row or scope.counts_without_words(row)

    def _is_counted(self, one: RecordedOutcome, scope: ReadableScope) -> bool:
        return self._may_count(one.partition.row, scope)

    def _without_quarantined(self, found: Sequence[RecordedOutcome]) -> Iterator[RecordedOutcome]:
        archived = [one.id for one in found if one.is_archived]
        kept = self._project.record(QUARANTINE, archived) if archived else {}
        doubtful = {key for key, (version, _) in kept.items() if version}
        return (one for one in found if one.id not in doubtful)

    def _rule_records(self, upto: int) -> RuleRecords:
        kept = self._records  # `among` holds no lock
        if kept is None or kept[0] != upto:
            found = [RuleRecord.read(key, version, body) for key, version, body in self._project.records(RULE)]
            kept = self._records = upto, RuleRecords(found)
        return kept[1]

    def _needed(self, agent: str) -> Needed:
        scope = self._agents.get(agent)
        return Needed(successes=scope.min_occurrences_for_heuristic) if scope else Needed()


class _Texts:
    """Vectors of the texts of a view. While the embedder cannot be asked, only equal words count, and `was_refused` is True."""

    def __init__(self, project: Project, texts: TextVectors) -> None:
        self._project, self._texts = project, texts
        self.was_refused = False

    def embedding(self) -> Embedding:
        """Returns what cosines of the embedder tell."""
        try:
            return Embedding.WORDS if self._texts.scale(self._project) is None else Embedding.MEANING
        except (EmbeddingError, ConfigurationError) as error:
            self._note(error)
            return Embedding.WORDS

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns the vectors of texts, one a row: stored ones, the others from the model; zeros while it cannot be asked."""
        compared = [matched_text(text) for text in texts]
        found = self._texts.at_hand(compared, self._project)
        missing = [text for text in dict.fromkeys(compared) if text not in found]
        if missing:
            found |= self._asked(missing)
        packed = b"".join(found[text] for text in compared)
        return np.frombuffer(packed, dtype="<f2").reshape(len(compared), -1).astype(np.float32)

    def _asked(self, texts: Sequence[str]) -> Mapping[str, bytes]:
        try:
            return self._texts.of(texts, self._project)
        except (EmbeddingError, ConfigurationError) as error:
            self._note(error)
            return dict.fromkeys(texts, bytes(2 * self._texts.fingerprint.dimension))

    def _note(self, error: Exception) -> None:
        if not self.was_refused:
            _LOG.warning("only equal tasks, types and words count in what was learned: %s", error)
        self.was_refused = True


def _trials(found: Iterable[RecordedOutcome], scope: ReadableScope, kept: Collection[str]) -> list[Trial]:
    return [trial_of(one, is_hidden=one.partition.row not in scope.by_row) for one in found if one.id in kept]


def trial_of(one: RecordedOutcome, *, is_hidden: bool = False) -> Trial:
    """Returns an outcome as the projection reads it."""
    body, metadata = one.body, one.body.get("metadata", {})
    task, task_id = body["task_description"], body.get("task_id")
    error = None if one.successes == 1.0 else body.get("error_message") or body.get("user_feedback")
    session = metadata.get("session_id") or metadata.get("run_id")
    return Trial(
        id=one.id,
        number=one.row,
        task=task_key(task, task_id),
        text=split_passages(task)[0],
        way=body.get("strategy_used", ""),
        worth=one.successes,
        at=min(one.seen_at, one.created_at),  # a time in the future would outweigh all later outcomes
        agent=one.partition.agent or "",
        user=one.partition.user_id,
        task_type=_label(body.get("task_type")),
        difficulty=_label(body.get("difficulty")),
        source=body.get("verdict_source", VerdictSource.CALLER.value),
        session=session if isinstance(session, str) else None,
        error=error,
        words=None if task_id is None else task_key(task),
        is_hidden=is_hidden,
        is_step=isinstance(metadata.get("step"), int),
    )


def task_key(task: str, task_id: str | None = None) -> str:
    """Returns the key of a task: its id where it has one, else its words without case and punctuation."""
    return spelt(task) if task_id is None else f"{task_id}\0id"


def _label(text: str | None) -> str | None:
    return None if text is None else spelt(text)
