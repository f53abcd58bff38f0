"""Outcomes of a project as learning reads them: one projection for each reader, kept between questions and caught up before each."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from alma.errors import ConfigurationError, EmbeddingError
from alma.forking import renewed_in_children
from alma.journal import PURGE, REBUILD
from alma.memory.scopes import ReadableScope
from alma.memory.texts import TextVectors
from alma.protocols import Project
from alma.text import matched_text, spelt, split_passages
from alma.types.identity import MemoryScope, UserWall
from alma.types.kinds import MemoryType, VerdictSource
from alma.types.provenance import FLAGGED
from alma.types.stored import QUARANTINE, RecordedOutcome
from alma.types.strategies import RULE, WAY_NAME, RuleRecord, RuleRecords
from alma_learning import Embedding, Needed, Projection, Trial

_LOG = logging.getLogger("alma")

MOST_VIEWS, MOST_SMALL_VIEWS, MOST_HELD = 64, 2_048, 200_000
"""Readers whose projections are kept, those that asked last: more than `MOST_VIEWS` as long as they hold no more than `MOST_HELD` outcomes. What
asks for the rules of all agents and users reads a projection of each (29 November 2026, 1,105 of them: 10 s, and 1.3 s the next time)."""

MOST_RECORDS = 2_000
"""Journal records after which reading all outcomes again is cheaper than following the journal."""

MOST_OUTCOMES, STEP = 16_384, 2_048
"""Outcomes that count for a reader: of more the newest, from a bound that moves by `STEP`, so that an older view and a new one say the same. At
100,000 outcomes the first answer of a process takes a third as long (29 November 2026: 4.8 s, now 1.5 s)."""

ReaderKey = tuple[str, str | None, bool, str]
Wanted = Callable[[RecordedOutcome], bool]


@dataclass(slots=True)
class View:
    """The outcomes that one reader may read, folded. As of journal record `upto`."""

    tried: Projection
    upto: int
    records: RuleRecords = field(default_factory=RuleRecords)
    """Records of rules in the project."""
    texts: "_Texts | None" = None
    """Where the vectors of texts come from."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names that were given to wordings, by their normalised words."""
    doubts: dict[str, str] = field(default_factory=dict)
    """Why outcomes are suspicious, by id."""
    since: int = 0
    """Row of the first outcome that counts; 0 where all do."""

    def doubt_of(self, outcomes: Iterable[str]) -> str | None:
        """Returns why a way is suspicious whose outcomes these are; `None` if it is not."""
        return next((self.doubts[one] for one in outcomes if one in self.doubts), None) if self.doubts else None

    def note_doubt(self, one: RecordedOutcome) -> None:
        """Notes whether an outcome is suspicious."""
        self.doubts.pop(one.id, None)
        if doubt := one.body.get("metadata", {}).get(FLAGGED):
            self.doubts[one.id] = str(doubt)


class OutcomeProjections:
    """Cached projections of one project. Thread-safe."""

    def __init__(self, project: Project, texts: TextVectors, agents: Mapping[str, MemoryScope], users: UserWall) -> None:
        self._project, self._stored_texts, self._agents, self._users = project, texts, agents, users
        self._views: OrderedDict[ReaderKey, View] = OrderedDict()
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

    @contextmanager
    def of(self, scope: ReadableScope, *, reader: str, user: str | None, is_shared: bool = True) -> Iterator[View]:
        """Yields what a reader may read, as of now. One thread at a time holds it."""
        key = (reader, user, is_shared, self._users.value)
        with self._lock, self._project.moment():
            upto, kept = self._project.learned_seq(), self._views.get(key)
            if kept is not None and kept.upto > upto:  # this thread reads a former state: the cache is for others
                yield self._read(scope, reader, upto)
                return
            self._views.pop(key, None)  # a failed update must not be used again
            view = kept if kept is not None and self._catch_up(kept, scope, reader, upto) else self._read(scope, reader, upto)
            yield view
            if view.texts is not None and view.texts.was_refused:
                return  # the next reader may find that the embedder answers again
            self._views[key] = view
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        if len(self._views) <= MOST_VIEWS:
            return
        held = sum(len(view.tried) for view in self._views.values())
        while len(self._views) > MOST_SMALL_VIEWS or (len(self._views) > MOST_VIEWS and held > MOST_HELD):
            _, oldest = self._views.popitem(last=False)
            held -= len(oldest.tried)

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

    def _catch_up(self, view: View, scope: ReadableScope, reader: str, upto: int) -> bool:
        """Applies what the journal records since the view was used; returns False if it has to be read from the beginning."""
        if view.upto == upto:
            return True
        if not len(view.tried) or upto - view.upto > MOST_RECORDS:  # an empty view was made without asking the embedder anything
            return False
        changed, tables = set[str](), set[str]()
        for entry in self._project.entries(after=view.upto):
            tables.update([change.table for change in entry.changes])
            changed.update([change.key for change in entry.changes if change.table == "memory"])
            if entry.is_purged or entry.operation == REBUILD or PURGE in tables:
                return False
        named = self._project.outcomes_named(changed)
        found = (one for one in named if one.row >= view.since and self._may_count(one.partition.row, scope))
        trials = list(self._trials(view, found, scope))
        gone = changed - {trial.id for trial in trials}
        if view.since and any(one in view.tried for one in gone):  # older outcomes count in their place
            return False
        view.tried.remove(gone)
        view.tried.extend(trials)
        if len(view.tried) >= MOST_OUTCOMES + STEP:
            return False
        if "record" in tables and self._names(reader) != view.names:
            return False
        if "record" in tables:
            view.records = self._rule_records()
        view.upto = upto
        return True

    def _read(self, scope: ReadableScope, reader: str, upto: int, is_wanted: Wanted | None = None) -> View:
        partitions = [row for row, one in scope.known.items() if one.kind == MemoryType.OUTCOME and self._may_count(row, scope)]
        found: Iterator[RecordedOutcome] = iter(())
        since = _first_row(self._project.rows_in(partitions)) if partitions and is_wanted is None else 0
        if partitions and is_wanted is None:
            found = self._project.outcomes(partitions, since=since)
        elif partitions:
            found = filter(is_wanted, self._project.outcomes(partitions))
        first = list(islice(found, 1))
        texts = _Texts(self._project, self._stored_texts)
        embedding = texts.embedding() if first else Embedding.WORDS  # an embedder is not asked where nothing was tried
        names = self._names(reader)
        tried = Projection(texts.vectors, embedding=embedding, needed=self._counts_needed, reader=reader, names=names)
        view = View(tried, upto, self._rule_records(), texts, names, since=since)
        tried.extend(self._trials(view, chain(first, found), scope))
        return view

    def _trials(self, view: View, found: Iterable[RecordedOutcome], scope: ReadableScope) -> Iterator[Trial]:
        """Yields the outcomes that count: all but those in quarantine. The view notes which are suspicious."""
        doubtful: set[str] | None = None
        for one in found:
            view.note_doubt(one)
            if one.is_archived and doubtful is None:
                doubtful = {key for key, version, _ in self._project.records(QUARANTINE) if version}
            if not one.is_archived or one.id not in (doubtful or ()):
                yield trial_of(one, is_hidden=one.partition.row not in scope.by_row)

    def _may_count(self, row: int, scope: ReadableScope) -> bool:
        return row in scope.by_row or scope.counts_without_words(row)

    def _rule_records(self) -> RuleRecords:
        return RuleRecords(RuleRecord.read(key, version, body) for key, version, body in self._project.records(RULE))

    def _names(self, reader: str) -> Mapping[str, str]:
        """Returns the names that wordings were given for a reader, by their normalised words."""
        bodies = (body for _, version, body in self._project.records(WAY_NAME) if version and body.get("agent") == reader)
        return {str(body.get("wording")): str(body.get("name")) for body in bodies}

    def _counts_needed(self, agent: str) -> Needed:
        scope = self._agents.get(agent)
        return Needed(successes=scope.min_occurrences_for_heuristic) if scope else Needed()


class _Texts:
    """Vectors of the texts of a view. While the embedder cannot be asked, only equal words count, and `was_refused` is True."""

    def __init__(self, project: Project, texts: TextVectors) -> None:
        self._project, self._texts = project, texts
        self.was_refused = False

    def embedding(self) -> Embedding:
        """Returns what the embedder's cosines measure."""
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
            found |= self._ask(missing)
        packed = b"".join(found[text] for text in compared)
        return np.frombuffer(packed, dtype="<f2").reshape(len(compared), -1).astype(np.float32)

    def _ask(self, texts: Sequence[str]) -> Mapping[str, bytes]:
        try:
            return self._texts.of(texts, self._project)
        except (EmbeddingError, ConfigurationError) as error:
            self._note(error)
            return dict.fromkeys(texts, bytes(2 * self._texts.fingerprint.dimension))

    def _note(self, error: Exception) -> None:
        if not self.was_refused:
            _LOG.warning("only equal tasks, types and words count in what was learned: %s", error)
        self.was_refused = True


def _first_row(rows: Sequence[int]) -> int:
    """Returns the row of the first outcome that counts."""
    left_out = max(len(rows) - MOST_OUTCOMES, 0)
    return rows[left_out - left_out % STEP] if left_out >= STEP else 0


_CALLER = VerdictSource.CALLER.value


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
        source=body.get("verdict_source", _CALLER),
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
