"""Undo: random histories go back to any record and forth again; one agent's work can be taken back, unless another built on it."""

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.embedding import HashEmbedder
from alma.errors import ConflictError, ValidationError
from alma.journal import PURGE, net, replay
from alma.protocols import Project
from alma.types import Passage
from facade import ManualClock, NewPlace, OpenStore, Place, exported_lines

AGENTS = ("helena", "victor")
EMBEDDER = HashEmbedder(16)
WORDS = ("login", "deploy", "retry", "cache", "timeout", "schema", "queue", "index")


class History:
    """A project with a history that a test drives by numbers, and the content hash after each record."""

    def __init__(self, place: Place) -> None:
        self.place, self.clock = place, ManualClock()
        self.alma = alma = self.place.open(embedding_dim=16, clock=self.clock)
        self.hashes = {0: alma.content_hash()}
        self.steps: Sequence[Callable[[str, int, int], object]] = (
            lambda agent, a, b: alma.learn(agent, self.text(a), ("success", "failure")[b % 2], self.text(b)),
            lambda agent, a, b: alma.learn_many(
                [{"agent": AGENTS[n % 2], "task": self.text(a + n), "outcome": "partial"} for n in range(b % 4)]
            ),
            lambda agent, a, b: alma.add_heuristic(agent, self.text(a), self.text(b)),
            lambda agent, a, b: alma.add_anti_pattern(agent, self.text(a), self.text(b)),
            lambda agent, a, b: alma.add_domain_knowledge(agent, "zoo", self.text(a) * (1 + b % 40)),
            lambda agent, a, b: alma.add_user_preference("u", "style", self.text(a), agent=agent),
            lambda agent, a, b: alma.record_usage(self.some(a, 3), self.some(b, 1), agent=agent),
            lambda agent, a, b: [alma.record_feedback(i, signal="thumbs_up", agent=agent) for i in self.own(agent, a)],
            self.change,
            self.replace,
            self.keep,
            self.attempt,
            lambda agent, a, b: alma.forget(agent, memory_ids=self.some(a, 1 + b % 3)),
            lambda agent, a, b: alma.forget(agent, older_than_days=b % 50, below_confidence=a % 10 / 10),
            lambda agent, a, b: alma.undo(max(0, self.head - a % 12)),
            lambda agent, a, b: alma.undo(max(0, self.head - a % 12), actor=agent),
        )

    @property
    def head(self) -> int:
        return self.alma.get_stats().journal_records

    @property
    def project(self) -> Project:
        """The project as the store has it, for changes that no call of the façade makes alone."""
        return self.alma.storage.project(self.alma.project_id)

    def text(self, number: int) -> str:
        return f"{WORDS[number % 8]} {WORDS[number // 8 % 8]} {number % 5}"

    def ids(self) -> list[str]:
        return [line["id"] for line in exported_lines(self.alma, "memory")]

    def some(self, number: int, count: int) -> list[str]:
        ids = self.ids()
        return [ids[(number + n) % len(ids)] for n in range(count)] if ids else []

    def own(self, agent: str, number: int) -> list[str]:
        own = [memory.id for memory in self.alma.retrieve("login deploy retry", agent)]
        return own[number % 5 :][:1]

    def change(self, agent: str, a: int, b: int) -> None:
        """A rule that changes in place, as learning changes it."""
        for memory_id in self.some(a, 1):
            with self.project.write(actor=agent, operation="learn", at=b) as write:
                write.change_memory(memory_id, confidence=b % 11 / 10, body={"metadata": {"n": b}}, trials=float(b))

    def replace(self, agent: str, a: int, b: int) -> None:
        """A memory that is told anew, in more pieces or fewer."""
        project = self.project
        kept = [memory_id for memory_id, place in project.find(self.some(a, 1)).items() if not place.is_archived]
        for memory_id, memory in project.named(kept).items():
            texts = [f"{self.text(b)} piece {n}" for n in range(1 + b % 3)]
            embedded = texts[:2]
            vectors = {text: row.astype("<f2").tobytes() for text, row in zip(embedded, EMBEDDER.embed(embedded), strict=True)}
            with project.write(actor=agent, operation="learn", at=b) as write:
                told = memory.model_copy(update={"metadata": {"told": b}, "confidence": b / 63})
                write.replace(told, [Passage(text=text, position=n) for n, text in enumerate(texts)], vectors)
            assert self.alma.get(memory_id) == told

    def keep(self, agent: str, a: int, b: int) -> None:
        """A small record that some module keeps."""
        key = WORDS[a % 3]
        project = self.project
        version, _ = project.record("session", [key])[key]
        with project.write(actor=agent, operation="save", at=b) as write:
            write.put_record("session", key, {"n": b, "half": b / 2}, version=version)

    def attempt(self, agent: str, a: int, b: int) -> None:
        """An episode, of several records."""
        with self.alma.episode(agent=agent, task=self.text(a)) as episode:
            episode.step(WORDS[b % 8], ok=b % 2 == 0, error=None if b % 2 == 0 else self.text(b))
            episode.used(episode.memories.ids[:1])
            episode.succeed(strategy=self.text(b))

    def step(self, kind: int, agent: str, a: int, b: int) -> None:
        self.clock.advance(days=1)
        before = self.head
        try:
            self.steps[kind % len(self.steps)](agent, a, b)
        except ConflictError:
            assert self.head == before
        now = self.alma.content_hash()
        assert self.head > before or now == self.hashes[before]
        self.hashes.update(dict.fromkeys(range(before + 1, self.head + 1)))  # several records of one step: only the last is known
        self.hashes[self.head] = now

    def check_replay(self) -> None:
        """The journal, replayed, is what the tables hold."""
        state: dict = {}
        for entry in self.project.entries():
            replay([change for change in entry.changes if change.table != PURGE], state)
        assert state == {(stored.table, stored.key): stored.row for stored in self.project.rows()}
        assert self.alma.verify().problems == ()

    def check_indexes(self) -> None:
        """What this process's indexes have taken in, step by step, is what another reads from the tables at once."""
        with self.place.open(embedding_dim=16, clock=self.clock) as fresh:
            for word in WORDS:
                for agent in AGENTS:
                    told = [
                        [(item.memory.id, item.score) for item in alma.retrieve(word, agent, user_id="u", top_k=50).recalled]
                        for alma in (self.alma, fresh)
                    ]
                    assert told[0] == told[1]


STEP = st.tuples(st.integers(0, 15), st.sampled_from(AGENTS), st.integers(0, 63), st.integers(0, 63))


@pytest.mark.slow
@settings(
    max_examples=6, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate), suppress_health_check=list(HealthCheck)
)
@given(st.lists(STEP, min_size=200, max_size=200), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_random_histories_go_back_to_any_record_and_forth_again(
    new_place: NewPlace, steps: list[tuple[int, str, int, int]], marks: list[float]
) -> None:
    history = History(new_place())
    with history.alma as alma:
        for step in steps:
            history.step(*step)
        history.check_replay()
        history.check_indexes()
        later, latest = history.head, alma.content_hash()
        known = [seq for seq, found in history.hashes.items() if found is not None]
        for mark in marks:
            to = known[int(mark * (len(known) - 1))]
            there = alma.undo(to)
            assert alma.content_hash() == history.hashes[to]
            assert (there.seq is None) == (history.hashes[to] == latest)
            history.check_indexes()
            alma.undo(later)
            assert alma.content_hash() == latest
        history.check_replay()
        history.check_indexes()


def test_an_undo_takes_back_all_that_was_done_since_and_reports_it(alma: ALMA) -> None:
    kept = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    changed = alma.add_heuristic("helena", "On retry", "Wait a little")
    mark, before = alma.get_stats().journal_records, alma.content_hash()
    gone = alma.learn("victor", "Test the login form", "success")
    alma.record_feedback(changed.id, signal="thumbs_up", agent="helena")
    alma.forget(memory_ids=[kept.id])

    report = alma.undo(mark)

    assert (report.records, report.brought_back, report.removed, report.changed) == (3, (kept.id,), (gone.id,), (changed.id,))
    assert report.seq == mark + 4
    assert alma.content_hash() == before
    assert alma.retrieve("On deploy", "helena").heuristics[0].id == kept.id
    assert alma.retrieve("Test the login form", "victor").total_items == 0


def test_a_preview_tells_the_same_and_writes_nothing(alma: ALMA) -> None:
    alma.learn("victor", "Test the login form", "success")
    before = alma.get_stats()

    preview = alma.undo_preview(0)
    assert alma.get_stats() == before
    assert alma.undo(0) == preview.model_copy(update={"seq": 2, "dry_run": False})


def test_an_undo_with_nothing_to_do_writes_nothing(alma: ALMA) -> None:
    alma.learn("victor", "Test the login form", "success")

    report = alma.undo(1)
    assert (report.seq, report.records) == (None, 0)
    assert alma.get_stats().journal_records == 1


@pytest.mark.parametrize("to", [-1, 2, True, "1", 1.0, None])
def test_a_record_that_is_none_is_refused(alma: ALMA, to: object) -> None:
    alma.learn("victor", "Test the login form", "success")
    with pytest.raises(ValidationError, match="to "):
        alma.undo(to)  # type: ignore[arg-type]


def test_only_one_agents_work_is_taken_back(alma: ALMA) -> None:
    alma.learn("victor", "Cache the pages", "success")
    before = alma.content_hash()
    mine = alma.learn("helena", "Test the login form", "failure")
    report = alma.undo(0, actor="helena")

    assert (report.removed, report.actor) == ((mine.id,), "helena")
    assert alma.content_hash() == before


def shared(open_store: OpenStore) -> ALMA:
    return open_store(agents={"helena": {"share_with": ["victor"]}})


def test_what_another_agent_touched_since_is_a_conflict_that_names_the_row(open_store: OpenStore) -> None:
    alma = shared(open_store)
    rule = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    alma.record_feedback(rule.id, signal="thumbs_up", agent="helena")
    alma.record_feedback(rule.id, signal="thumbs_up", agent="victor")
    before = alma.content_hash()

    with pytest.raises(ConflictError, match=rf"usage '{rule.id}' was changed by 'victor' in record 3 since; nothing was undone"):
        alma.undo(1, actor="helena")
    assert alma.content_hash() == before


def test_a_memory_on_which_another_agent_built_is_not_taken_away(open_store: OpenStore) -> None:
    alma = shared(open_store)
    rule = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    alma.record_feedback(rule.id, signal="thumbs_up", agent="victor")

    with pytest.raises(ConflictError, match=rf"usage '{rule.id}' was changed by 'victor'"):
        alma.undo(0, actor="helena")
    assert alma.undo(0).removed == (rule.id,)


def test_what_another_agent_did_before_is_no_conflict_and_stays(open_store: OpenStore) -> None:
    alma = shared(open_store)
    rule = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    alma.record_feedback(rule.id, signal="thumbs_up", agent="victor")
    before = alma.content_hash()
    alma.record_feedback(rule.id, signal="thumbs_down", agent="helena")

    alma.undo(1, actor="helena")
    assert alma.content_hash() == before


def test_an_undo_embeds_what_comes_back_if_its_vectors_were_dropped(alma: ALMA) -> None:
    gone = alma.learn("victor", "Test the login form", "success")
    alma.undo(0)
    alma.compact()

    alma.undo(1)
    assert [memory.id for memory in alma.retrieve("Test the login form", "victor")] == [gone.id]
    assert alma.verify().ok


class BusyClock(ManualClock):
    """Lets another agent learn before it gives the time, as often as it may: an undo has its plan when it asks."""

    def __init__(self, other: ALMA) -> None:
        super().__init__()
        self.other, self.may_learn, self.learned = other, 0, 0

    def __call__(self) -> datetime:
        if self.learned < self.may_learn:
            self.learned += 1
            self.other.learn("helena", f"Cache page {self.learned}", "success")
        return super().__call__()


def test_a_write_that_lands_between_plan_and_undo_is_undone_as_well(open_store: OpenStore) -> None:
    busy = BusyClock(open_store())
    alma = open_store(clock=busy)
    alma.learn("victor", "Test the login form", "success")

    busy.may_learn = 1
    assert len(alma.undo(0).removed) == 2
    assert alma.get_stats().total == 0


def test_an_undo_comes_to_an_end_though_others_write_each_time_it_has_a_plan(open_store: OpenStore) -> None:
    busy = BusyClock(open_store())
    alma = open_store(clock=busy)
    alma.learn("victor", "Test the login form", "success")

    busy.may_learn = 50
    report = alma.undo(0)
    assert (len(report.removed), report.head) == (busy.learned + 1, busy.learned + 1)
    assert 1 < busy.learned < 10
    assert alma.get_stats().total == 0
    assert alma.verify().ok


def test_an_undo_of_what_was_shown_is_refused_once_more_was_done(open_store: OpenStore) -> None:
    alma, other = open_store(), open_store()
    alma.learn("victor", "Test the login form", "success")
    preview = alma.undo_preview(0)
    other.learn("helena", "Cache the pages", "success")
    for actor in (None, "victor"):
        with pytest.raises(ConflictError, match="the newest journal record is 2, not 1; nothing was undone"):
            alma.undo(0, actor=actor, expected_head=preview.head)
    for wrong in ("1", 9, -1, True):
        with pytest.raises(ValidationError, match="expected_head"):
            alma.undo(0, expected_head=wrong)  # type: ignore[arg-type]

    assert alma.get_stats().journal_records == 2
    assert alma.undo(0, expected_head=alma.undo_preview(0).head).records == 2


def test_changes_of_one_row_come_to_one_or_to_none() -> None:
    from alma.types.stored import Change

    made, raised = Change("t", "k", None, {"a": 1, "b": 1}), Change("t", "k", {"a": 1}, {"a": 2})
    dropped = Change("t", "k", {"a": 2, "b": 1}, None)

    assert net([made, raised]) == [Change("t", "k", None, {"a": 2, "b": 1})]
    assert net([raised, dropped]) == [Change("t", "k", {"a": 1, "b": 1}, None)]
    assert net([made, raised, dropped]) == []
    assert net([raised, Change("t", "k", {"a": 2}, {"a": 1})]) == []
    assert net([Change("t", "k", {"a": 1, "b": 1}, None), Change("t", "k", None, {"a": 1, "b": 5})]) == [
        Change("t", "k", {"b": 1}, {"b": 5})
    ]
