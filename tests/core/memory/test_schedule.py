"""Maintenance in the background: off unless asked for, when it is due, by one process, and never in the way."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from alma import ALMA, ConfigurationError, DomainKnowledge
from alma.memory import opening, room
from alma.memory.admin import maintaining
from alma.memory.admin.maintaining import FIRST_WAIT, LONGEST_WAIT, Schedule
from facade import START, ManualClock, OpenStore, StoredIn

OpenRooms = Callable[..., room.OpenStore]
"""Opens a store as a schedule takes it; see the fixture `open_rooms`."""

EVERY_DAY = {"forgetting": {"domain_knowledge": {"max_count": 1}}, "maintenance": {"every": "1d"}}


@pytest.fixture(autouse=True)
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run the schedule themselves, but for the one that is about the thread."""
    monkeypatch.setattr(Schedule, "start", lambda self: None)


@pytest.fixture
def open_rooms(tmp_path: Path, clock: ManualClock, stored_in: StoredIn) -> Iterator[OpenRooms]:
    """Opens the store in the folder of this test, as a schedule takes it; closed at the end."""
    opened: list[room.OpenStore] = []

    def open_it(**given: object) -> room.OpenStore:
        usual = {"db_name": "alma.db", "embedder": "hash", "embedding_dim": None, "agents": None, "scoring": None, "clock": clock}
        opened.append(opening.open_store(tmp_path / "store", **{**usual, **stored_in(tmp_path / "store"), **given}))  # type: ignore[arg-type]
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


def shop(store: room.OpenStore) -> ALMA:
    """The memory of a project of the store."""
    return ALMA(store.room("shop"))


class Waiting:
    """Lets time pass instead of waiting, and closes the store's schedule after the last wait."""

    def __init__(self, clock: ManualClock, *hours: float) -> None:
        self.asked: list[float] = []
        self._clock = clock
        self._hours: Iterator[float] = iter(hours)

    def __call__(self, seconds: float) -> bool:
        self.asked.append(seconds)
        hours = next(self._hours, None)
        if hours is not None:
            self._clock.advance(hours=hours)
        return hours is None


def fill(alma: ALMA, count: int = 3) -> None:
    alma.add_many(DomainKnowledge(agent="a", domain="ops", fact=f"Host {number} is up") for number in range(count))


def runs(alma: ALMA) -> int:
    """Returns how often maintenance was done."""
    return sum(done.count for done in alma.overview().activity if done.name == "maintain")


def test_it_runs_when_it_is_due_and_not_before(open_rooms: OpenRooms, clock: ManualClock) -> None:
    store = open_rooms(**EVERY_DAY)
    alma = shop(store)
    fill(alma)
    waiting = Waiting(clock, 0, 1, 22, 1, 1)
    Schedule(store, wait=waiting).run()
    assert runs(alma) == 2
    assert waiting.asked == [FIRST_WAIT, *[LONGEST_WAIT] * 5]
    assert alma.get_stats().total == 1


def test_a_short_period_is_looked_at_as_often(open_rooms: OpenRooms, clock: ManualClock) -> None:
    store = open_rooms(maintenance={"every": "5m"})
    waiting = Waiting(clock, 0)
    Schedule(store, wait=waiting).run()
    assert waiting.asked == [FIRST_WAIT, 300]


def test_all_projects_that_were_opened_are_looked_after(open_rooms: OpenRooms, clock: ManualClock) -> None:
    store = open_rooms(**EVERY_DAY)
    alma = shop(store)
    lab = alma.for_project("lab")
    for each in (alma, lab):
        fill(each)
    Schedule(store, wait=Waiting(clock, 0)).run()
    assert (alma.get_stats().total, lab.get_stats().total) == (1, 1)


def test_of_two_stores_on_one_file_one_runs_it(open_rooms: OpenRooms, clock: ManualClock) -> None:
    first, second = (open_rooms(**EVERY_DAY) for _ in range(2))
    alma, _ = shop(first), shop(second)
    fill(alma)
    for store in (first, second, first):
        Schedule(store, wait=Waiting(clock, 0)).run()
    assert runs(alma) == 1


def test_what_goes_wrong_is_logged_and_tried_again(
    open_rooms: OpenRooms, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_rooms(**EVERY_DAY)
    alma = shop(store)
    fill(alma)
    works = maintaining.maintain

    def fails(*given: object, **named: object) -> None:
        monkeypatch.setattr(maintaining, "maintain", works)
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(maintaining, "maintain", fails)
    with caplog.at_level(logging.INFO, logger="alma"):
        Schedule(store, wait=Waiting(clock, 0, 1)).run()
    assert "maintenance of project 'shop' failed: the disk is full" in caplog.messages
    assert "maintenance of project 'shop' archived 2 memories" in caplog.messages
    assert runs(alma) == 1


def test_a_closed_store_is_left_alone(open_rooms: OpenRooms, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    store = open_rooms(**EVERY_DAY)
    alma = shop(store)
    fill(alma)
    made = Schedule(store, wait=Waiting(clock, 0))
    made.stop()
    made.run()
    assert runs(alma) == 0
    assert not caplog.messages


def test_a_run_that_closing_cuts_short_says_nothing(
    open_rooms: OpenRooms, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_rooms(**EVERY_DAY)
    alma = shop(store)
    fill(alma)
    made = Schedule(store, wait=Waiting(clock, 0))
    works = maintaining.maintain

    def closed_meanwhile(*given: object, **named: object) -> object:
        made.stop()
        alma.close()
        return works(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(maintaining, "maintain", closed_meanwhile)
    made.run()
    assert not caplog.messages


def test_a_run_during_which_the_store_is_closed_leaves_the_rest_to_the_next(open_rooms: OpenRooms, clock: ManualClock) -> None:
    running: list[Schedule] = []

    def closing_clock() -> datetime:
        """Stops the schedule, and returns the time."""
        for schedule in running:
            schedule.stop()
        return clock()

    store = open_rooms(**EVERY_DAY, clock=closing_clock)
    alma = shop(store)
    fill(alma, maintaining.PART + 11)
    running.append(Schedule(store, wait=Waiting(clock, 0)))
    running[0].run()
    assert (runs(alma), alma.get_stats().total) == (1, 11)
    assert alma.maintain().total == 10


def test_it_is_off_unless_it_is_asked_for(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Schedule] = []

    def start(self: Schedule) -> None:
        started.append(self)

    monkeypatch.setattr(Schedule, "start", start)
    open_store()
    open_store("another", maintenance={"every": None})
    assert not started
    open_store("third", maintenance={"every": "2w"})
    assert len(started) == 1


def test_its_thread_ends_with_the_store_and_nobody_waits_for_it(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, stored_in: StoredIn
) -> None:
    monkeypatch.undo()
    ended, looked = threading.Event(), threading.Event()
    run = Schedule.run

    def told(self: Schedule) -> None:
        looked.set()
        run(self)
        ended.set()

    monkeypatch.setattr(Schedule, "run", told)
    with ALMA.open(
        tmp_path, project_id="shop", embedding_provider="hash", maintenance={"every": "1d"}, clock=clock, **stored_in(tmp_path)
    ):
        assert looked.wait(10)
        (thread,) = (each for each in threading.enumerate() if each.name == "alma-maintenance")
        assert thread.daemon
        assert not ended.is_set()
    assert ended.wait(10)


def test_a_configuration_file_asks_for_it(tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Schedule] = []

    def start(self: Schedule) -> None:
        started.append(self)

    monkeypatch.setattr(Schedule, "start", start)
    path = tmp_path / "alma.yaml"
    path.write_text("project_id: shop\nembedding_provider: hash\nmaintenance: {every: 2h}\n", encoding="utf-8")
    with ALMA.from_config(path, clock=clock) as alma:
        assert alma.maintain().due_at == START + timedelta(hours=2)
    assert len(started) == 1


@pytest.mark.parametrize("every", ["soon", "1y", "0d", "30s", "", "-1d", 1, "99999w", "1d 2h"])
def test_a_period_that_is_none_is_refused(open_store: OpenStore, every: object) -> None:
    with pytest.raises(ConfigurationError, match=r"maintenance\.every"):
        open_store(maintenance={"every": every})


def test_an_unknown_key_is_refused_with_the_nearest_known(open_store: OpenStore) -> None:
    with pytest.raises(ConfigurationError, match=r"maintenance\.evry: unknown key, did you mean 'every'"):
        open_store(maintenance={"evry": "1d"})
