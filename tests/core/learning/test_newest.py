"""Of very many outcomes the newest count: in every view from the same one on, and no memory is lost by it."""

import pytest

from alma import ALMA
from alma.memory import outcome_projection
from facade import ManualClock, OpenStore

MOST, STEP = 40, 8


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_projection, "MOST_OUTCOMES", MOST)
    monkeypatch.setattr(outcome_projection, "STEP", STEP)


def counted(alma: ALMA) -> dict[str, tuple[int, int]]:
    return {row.strategy: (row.successes, row.trials) for row in alma.strategies("deploy the shop", "dev").rows}


def test_a_view_that_grew_and_one_read_now_count_the_same_newest_outcomes(open_store: OpenStore) -> None:
    with open_store() as grown:
        for number in range(100):
            grown.learn("dev", "deploy the shop", number % 4 != 0, "by hand" if number < 30 else "blue-green deployment")
            now = counted(grown)
            with open_store() as fresh:
                assert counted(fresh) == now
            assert min(number + 1, MOST) <= sum(trials for _, trials in now.values()) < MOST + STEP
        assert list(now) == ["blue-green deployment"]
        assert len(grown.list_memories(kind="outcome", limit=1_000)) == 100


def test_a_past_time_is_asked_about_with_the_outcomes_of_then(open_store: OpenStore) -> None:
    clock = ManualClock()
    with open_store(clock=clock) as alma:
        for number in range(100):
            alma.learn("dev", "deploy the shop", True, "by hand" if number < 30 else "blue-green deployment")
            if number == 20:
                then = clock()
            clock.advance(minutes=1)
        assert "by hand: worked 21 of 21" in alma.retrieve("deploy the shop", agent="dev", as_of=then).to_prompt()
        assert "by hand" not in alma.retrieve("deploy the shop", agent="dev").to_prompt()


def test_archiving_and_undoing_leave_every_view_with_the_same_outcomes(open_store: OpenStore) -> None:
    with open_store() as grown:
        ids = [grown.learn("dev", "deploy the shop", True, f"way {number // 10}").id for number in range(90)]
        counted(grown)

        def check() -> None:
            with open_store() as fresh:
                assert counted(fresh) == counted(grown)

        grown.forget(memory_ids=ids[:5])
        check()
        grown.forget(memory_ids=ids[-5:])
        check()
        grown.undo(grown.get_stats().journal_records - 5)
        check()
