"""Progress: work items in the right order, each taken up once."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import ConflictError, MemoryNotFoundError, ValidationError
from alma.progress import ProgressTracker
from alma_harness.work_items import order_of, reaches


@pytest.fixture
def tracker(alma):
    return ProgressTracker(alma=alma)


def test_the_calls_of_the_interface_run_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ProgressTracker("my-project") as tracker:
        item = tracker.create_work_item(
            title="Fix authentication bug", description="Login fails on mobile devices", priority=80, agent="Victor"
        )
        assert tracker.get_next_item(strategy="priority") == item
        tracker.update_status(item.id, "in_progress")
        assert tracker.get_next_item(strategy="priority") is None
    with ProgressTracker("my-project") as tracker:
        assert tracker.get_item(item.id).status == "in_progress"


@pytest.mark.parametrize(
    ("strategy", "first"), [("priority", "urgent"), ("quick_win", "quick"), ("unblock", "base"), ("blocked_unblock", "base")]
)
def test_a_strategy_chooses_what_is_next(tracker, strategy, first):
    tracker.create_work_item("urgent", priority=90)
    tracker.create_work_item("quick", priority=10, effort=1)
    base = tracker.create_work_item("base", priority=20)
    middle = tracker.create_work_item("middle", priority=100, effort=0, depends_on=[base.id])
    tracker.create_work_item("top", priority=100, depends_on=[middle.id])
    assert tracker.get_next_item(strategy).title == first


def test_an_item_waits_until_what_it_needs_is_done(tracker):
    base = tracker.create_work_item("base", priority=1)
    tracker.create_work_item("top", priority=100, depends_on=[base.id])
    assert tracker.get_next_item().title == "base"
    tracker.update_status(base.id, "done")
    assert tracker.get_next_item().title == "top"


def test_a_cycle_is_refused_and_nothing_is_stored(tracker):
    a = tracker.create_work_item("a")
    b = tracker.create_work_item("b", depends_on=[a.id])
    c = tracker.create_work_item("c", depends_on=[b.id])
    for item, other in ((a, c), (a, a)):
        with pytest.raises(ValidationError, match="waits for it"):
            tracker.add_dependency(item.id, other.id)
    assert tracker.get_item(a.id).depends_on == ()
    assert tracker.add_dependency(c.id, a.id).depends_on == (b.id, a.id)


def test_a_blocked_item_keeps_its_reason_and_is_not_next(tracker):
    item = tracker.create_work_item("a")
    assert tracker.block_item(item.id, "no access").blocked_because == "no access"
    assert tracker.get_next_item() is None
    assert tracker.update_status(item.id, "pending").blocked_because is None


def test_a_claim_holds_until_its_lease_ends(tracker, clock):
    tracker.create_work_item("a")
    item = tracker.claim_next("one", lease_seconds=60)
    assert tracker.claim_next("two") is None
    with pytest.raises(ConflictError):
        tracker.claim(item.id, "two")
    with pytest.raises(ConflictError):
        tracker.update_status(item.id, "done", agent="two")
    clock.advance(seconds=50)
    assert tracker.claim(item.id, "one", lease_seconds=60).claimed_until > item.claimed_until
    clock.advance(seconds=61)
    assert tracker.claim_next("two").claimed_by == "two"
    with pytest.raises(ConflictError):
        tracker.update_status(item.id, "done", agent="one")
    assert tracker.update_status(item.id, "done", agent="two").claimed_by is None


def test_a_released_item_is_free(tracker):
    item = tracker.create_work_item("a")
    tracker.claim(item.id, "one")
    tracker.release(item.id, "one")
    assert tracker.claim_next("two").id == item.id


def test_items_are_for_their_agent_and_their_user(tracker):
    tracker.create_work_item("dev's", agent="dev", priority=90)
    tracker.create_work_item("anyone's")
    hers = tracker.create_work_item("ann's", user_id="ann")
    assert tracker.claim_next("qa").title == "anyone's"
    assert [one.title for one in tracker.items(agent="qa", user_id="ann")] == ["ann's"]
    assert tracker.get_next_item(user_id="bob") is None
    with pytest.raises(MemoryNotFoundError):
        tracker.create_work_item("bob's", user_id="bob", depends_on=[hers.id])


def test_the_summary_counts(tracker):
    for status in ("pending", "done", "cancelled", "blocked"):
        tracker.update_status(tracker.create_work_item(status).id, status)
    summary = tracker.get_progress_summary()
    assert (summary.total, summary.available) == (4, 1)
    assert summary.by_status == {"pending": 1, "in_progress": 0, "blocked": 1, "done": 1, "cancelled": 1}
    assert summary.share_done == pytest.approx(1 / 3)


@pytest.mark.parametrize("wrong", [{"priority": 101}, {"priority": True}, {"effort": -1}, {"title": " "}, {"depends_on": "x"}])
def test_an_item_that_is_none_is_refused(tracker, wrong):
    with pytest.raises(ValidationError):
        tracker.create_work_item(**{"title": "a", **wrong})
    assert tracker.items() == []


def test_an_unknown_item_is_an_error(tracker):
    tracker.add_dependency(tracker.create_work_item("a").id, tracker.create_work_item("b").id)
    for item_id in ("unknown", "graph", "a/b"):
        with pytest.raises(MemoryNotFoundError):
            tracker.update_status(item_id, "done")


WORKER = """
import sys
from alma import ALMA
from alma.progress import ProgressTracker
with ALMA.open(sys.argv[1], project_id="p", embedding_provider="hash") as alma:
    tracker = ProgressTracker(alma=alma)
    print("ready", flush=True)
    sys.stdin.readline()
    while (item := tracker.claim_next(sys.argv[2])) is not None:
        print(item.id, flush=True)
        tracker.update_status(item.id, "done", agent=sys.argv[2])
"""


@pytest.mark.slow
def test_two_processes_that_compete_claim_every_item_once(tracker, store, clock):
    wanted = sorted(tracker.create_work_item(f"item {number}").id for number in range(30))
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, store, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 2
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    claimed = [line for worker in workers for line in worker.communicate()[0].split()]
    assert sorted(claimed) == wanted
    assert {one.status for one in tracker.items()} == {"done"}


@given(edges=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15))
def test_items_whose_cycles_are_refused_can_always_be_put_in_order(edges):
    from datetime import UTC, datetime

    from alma.progress import WorkItem

    now = datetime(2026, 1, 1, tzinfo=UTC)
    items = {str(n): WorkItem(id=str(n), title="t", created_at=now, updated_at=now) for n in range(6)}
    for one, other in ((str(a), str(b)) for a, b in edges):
        if not reaches(other, one, items):
            items[one] = items[one].model_copy(update={"depends_on": (*items[one].depends_on, other)})
    done: set[str] = set()
    while ready := [one for one in items.values() if one.id not in done and done.issuperset(one.depends_on)]:
        done.update(one.id for one in sorted(ready, key=order_of("unblock", items)))
    assert done == set(items)
