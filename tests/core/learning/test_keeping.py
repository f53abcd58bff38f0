"""Counts stay exact: taken back and brought back, learned at once by many, stopped midway, moved to another store."""

import sqlite3
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from alma import ALMA, AlmaError
from facade import ManualClock, OpenStore, StoredIn
from learned import counts, heuristics, shown, told
from other_process import OtherProcess
from processes import finished, start, workers
from stores import Driver, open_alma

WAYS = ("blue-green deployment", "rolling update", "by hand", "ask the vendor")
VERDICTS = ("success", "failure", "partial", "unverified")
JUDGED = VERDICTS[:3]
NUMBERS = count()
lessons = st.tuples(st.sampled_from(WAYS), st.sampled_from(VERDICTS))

Counts = dict[str, tuple[int, int]]


def learn(alma: ALMA, way: str, outcome: str, **more: Any) -> str:
    return alma.learn("dev", "Deploy", outcome, way, task_type="deploying", error_message="it broke", **more).id


def with_one(known: Counts, way: str, outcome: str) -> Counts:
    successes, trials = known.get(way, (0, 0))
    return {**known, way: (successes + (outcome == "success"), trials + (outcome in JUDGED))}


def head(alma: ALMA) -> int:
    return alma.get_stats().journal_records


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn) -> Iterator[tuple[ALMA, ALMA, ManualClock]]:
    """One store, opened twice: what is in hand of the one knows nothing of the other."""
    folder, clock = tmp_path_factory.mktemp("pair"), ManualClock()
    given: dict[str, Any] = {"project_id": "first", "embedding_provider": "hash", "embedding_dim": 16, "clock": clock}
    given |= stored_in(folder)
    with ALMA.open(folder, **given) as one, ALMA.open(folder, **given) as other:
        yield one, other, clock
        assert one.verify().problems == ()


class _History:
    """Does things in a project by two hands, and knows what has to be counted after each record."""

    def __init__(self, one: ALMA, other: ALMA) -> None:
        self.hands = (one, other)
        self.known: dict[int, Counts] = {0: {}}
        self.hashes = {0: one.content_hash()}

    @property
    def now(self) -> int:
        return max(self.known)

    def note(self, known: Counts) -> None:
        alma = self.hands[0]
        assert counts(alma) == known
        self.known[head(alma)] = known
        self.hashes[head(alma)] = alma.content_hash()

    def learn(self, hand: int, way: str, outcome: str) -> None:
        learn(self.hands[hand], way, outcome)
        self.note(with_one(self.known[self.now], way, outcome))

    def settle(self, hand: int, way: str, outcome: str) -> None:
        alma, before = self.hands[hand], self.known[self.now]
        with alma.episode(agent="dev", task="Deploy", task_type="deploying") as episode:
            episode.end("unverified", strategy=way)
        self.note(with_one(before, way, "unverified"))
        if outcome != "unverified":
            self.hands[1 - hand].settle(episode.id, outcome)
            self.note(with_one(before, way, outcome))

    def forget(self, hand: int, number: int) -> None:
        found = sorted(memory.id for memory in self.hands[hand].list_memories(limit=1_000))
        if found:
            self.hands[hand].forget(memory_ids=[found[number % len(found)]])
            self.note(self.known[self.now])

    def undo(self, hand: int, number: int) -> None:
        to = sorted(self.known)[number % len(self.known)]
        self.hands[hand].undo(to)
        assert self.hands[hand].content_hash() == self.hashes[to]
        self.note(self.known[to])


hands, numbers = st.integers(0, 1), st.integers(0, 40)
steps = st.one_of(
    st.tuples(st.just("learn"), hands, lessons),
    st.tuples(st.just("learn"), hands, lessons),
    st.tuples(st.just("settle"), hands, lessons),
    st.tuples(st.just("forget"), hands, numbers),
    st.tuples(st.just("undo"), hands, numbers),
)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=4, max_size=14))
def test_an_undo_brings_back_counts_and_rules_and_the_next_outcome_counts_from_there(
    pair: tuple[ALMA, ALMA, ManualClock], done: list[tuple[str, int, Any]]
) -> None:
    project, clock = f"undone {next(NUMBERS)}", pair[2]
    history = _History(pair[0].for_project(project), pair[1].for_project(project))
    for what, hand, told_with in done:
        getattr(history, what)(hand, *(told_with if isinstance(told_with, tuple) else (told_with,)))
        clock.advance(minutes=7)


def test_undoing_takes_a_rule_back_and_undoing_that_brings_it_back(alma: ALMA, clock: ManualClock) -> None:
    for _ in range(3):
        learn(alma, WAYS[0], "success")
    (rule,) = heuristics(alma)
    alma.undo(2)
    assert heuristics(alma) == []
    assert counts(alma) == {WAYS[0]: (2.0, 2.0)}
    alma.undo(3)
    assert heuristics(alma) == [rule]
    assert rule.id in alma.retrieve("Deploy", "dev").ids
    learn(alma, WAYS[0], "success")
    assert [(one.id, one.success_count) for one in heuristics(alma)] == [(rule.id, 4)]
    assert alma.verify().problems == ()


def test_of_one_agents_learning_that_of_another_stays(alma: ALMA) -> None:
    for _ in range(3):
        learn(alma, WAYS[0], "success")
        alma.learn("eve", "Deploy", "success", WAYS[0], task_type="deploying")
    before = told(alma)
    alma.undo(1, actor="eve")
    assert [rule.agent for rule in heuristics(alma)] == ["dev"]
    assert counts(alma, "eve") == {}
    assert counts(alma, "dev") == {WAYS[0]: (3.0, 3.0)}
    alma.undo(head(alma) - 1)
    assert told(alma) == before


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lessons, min_size=1, max_size=20), st.data())
def test_many_outcomes_at_once_teach_what_one_after_the_other_does(
    pair: tuple[ALMA, ALMA, ManualClock], given: list[tuple[str, str]], data: st.DataObject
) -> None:
    singly, at_once = (pair[0].for_project(f"many {next(NUMBERS)}") for _ in range(2))
    items = [
        {"agent": "dev", "task": "Deploy", "outcome": outcome, "strategy_used": way, "error_message": "it broke"}
        for way, outcome in given
    ]
    for item in items:
        singly.learn(**item)
    cut = data.draw(st.integers(0, len(items)))
    at_once.learn_many(items[:cut])
    at_once.learn_many(items[cut:])
    assert counts(at_once) == counts(singly)
    assert shown(at_once, "Deploy", "dev") == shown(singly, "Deploy", "dev")


def test_eight_threads_that_learn_one_strategy_at_once_count_every_outcome_once(alma: ALMA) -> None:
    ready = threading.Barrier(8)

    def work() -> None:
        ready.wait()
        for _ in range(10):
            learn(alma, WAYS[0], "success")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(alma) == {WAYS[0]: (80.0, 80.0)}
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(80, 80)]
    assert alma.verify().problems == ()


@pytest.mark.slow
def test_four_processes_that_learn_one_strategy_at_once_count_every_outcome_once(tmp_path: Path) -> None:
    open_alma(tmp_path).close()
    with workers(*(("repeat", tmp_path, "shop", "dev", 15) for _ in range(4))) as processes:
        start(*processes)
        learned = [finished(process) for process in processes]
    with open_alma(tmp_path) as alma:
        assert sum(map(len, learned)) == 60
        assert counts(alma) == {WAYS[0]: (60, 60)}
        assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == [(60, 60)]
        assert alma.verify().problems == ()


@pytest.mark.slow
def test_two_that_learn_in_turn_each_count_from_what_the_other_left(open_store: OpenStore, tmp_path: Path) -> None:
    one, two = open_store(), open_store()
    setup = f"from alma import ALMA\nalma = ALMA.open({str(tmp_path / 'store')!r}, project_id='shop')\n"
    with OtherProcess(setup) as process:
        for _ in range(5):
            learn(one, WAYS[0], "success")
            learn(two, WAYS[0], "failure")
            process.ask(f"alma.learn('dev', 'Deploy', 'success', {WAYS[0]!r}, task_type='deploying')")
            learn(one, WAYS[0], "success")
    assert counts(one) == counts(two) == {WAYS[0]: (15.0, 20.0)}
    (rule,) = heuristics(one)
    assert (rule.success_count, rule.occurrence_count) == (15, 20)
    assert one.verify().problems == ()


def test_a_write_that_fails_at_any_statement_leaves_nothing_half_counted(tmp_path: Path, mocker: MockerFixture) -> None:
    driver = Driver()
    mocker.patch("sqlite3.connect", driver.connect)
    with open_alma(tmp_path) as alma:
        known: Counts = {}
        for _ in range(2):
            learn(alma, WAYS[0], "success")
            known = with_one(known, WAYS[0], "success")
        stopped, whole = 0, False
        while not whole:
            left = stopped

            def fail(statement: str) -> None:
                nonlocal left
                if not left and statement != "ROLLBACK":
                    raise sqlite3.OperationalError("disk I/O error")
                left -= 1

            before = alma.content_hash()
            try:
                with driver.doing(fail):
                    learn(alma, WAYS[0], "success")
                whole = True
            except AlmaError:
                assert alma.content_hash() == before
            stopped += 1
        assert stopped > 10
        assert counts(alma) == with_one(known, WAYS[0], "success")
        learn(alma, WAYS[0], "success")
        assert [rule.success_count for rule in heuristics(alma)] == [4]
        assert alma.verify().problems == ()


def test_what_failed_here_and_landed_elsewhere_under_the_same_number_is_not_believed(
    open_store: OpenStore, mocker: MockerFixture
) -> None:
    """The projection of one that failed may have read the number of a record that another wrote in its stead."""
    alma, other = open_store(), open_store()
    learn(alma, WAYS[0], "success")
    mocker.patch(
        "alma.storage.relational.writing.journal.encode_payload", side_effect=[RuntimeError("no"), *[mocker.DEFAULT] * 9]
    )
    with pytest.raises(RuntimeError):
        learn(alma, WAYS[0], "success")
    mocker.stopall()
    learn(other, WAYS[1], "failure")
    learn(alma, WAYS[0], "success")
    learn(alma, WAYS[1], "failure")
    assert counts(alma) == {WAYS[0]: (2.0, 2.0), WAYS[1]: (0.0, 2.0)}
    assert alma.verify().problems == ()


def test_a_verdict_that_comes_late_counts_and_one_that_changes_corrects_in_one_record(alma: ALMA) -> None:
    for _ in range(2):
        learn(alma, WAYS[0], "success")
    with alma.episode(agent="dev", task="Deploy", task_type="deploying") as episode:
        episode.end("unverified", strategy=WAYS[0])
    assert counts(alma) == {WAYS[0]: (2.0, 2.0)}
    assert alma.strategies("Deploy", "dev")[0].unverified == 1

    before = head(alma)
    alma.settle(episode.id, "success")
    assert head(alma) == before + 1
    assert counts(alma) == {WAYS[0]: (3.0, 3.0)}
    assert alma.strategies("Deploy", "dev")[0].unverified == 0
    assert len(heuristics(alma)) == 1

    alma.settle(episode.id, "failure", reason="users complained")
    assert head(alma) == before + 2
    assert counts(alma) == {WAYS[0]: (2.0, 3.0)}
    assert [(rule.success_count, rule.occurrence_count) for rule in heuristics(alma)] == []
    alma.settle(episode.id, "success")
    assert [rule.success_count for rule in heuristics(alma)] == [3]
    assert alma.verify().problems == ()


def test_what_was_learned_counts_on_in_a_store_that_imported_it_and_ids_of_rules_stay(
    open_store: OpenStore, tmp_path: Path
) -> None:
    alma = open_store()
    for _ in range(3):
        learn(alma, WAYS[0], "success")
    alma.export(tmp_path / "x.jsonl")
    other = open_store("another")
    other.import_from(tmp_path / "x.jsonl")
    assert heuristics(other) == heuristics(alma)

    learn(other, "Blue green deployment!", "success")

    assert [(rule.id, rule.success_count) for rule in heuristics(other)] == [(heuristics(alma)[0].id, 4)]
    assert other.verify().problems == ()
