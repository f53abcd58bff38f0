"""How an attempt went is credited to what was used in it: a share each, once, and taken back when the verdict changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import ALMA
from alma.memory.episodes.closing import MOST_AN_EPISODE, share
from attempts import counts
from facade import OpenStore, exported, held

TASK = "Deploy auth service"


def credit(alma: ALMA, memory_id: str) -> tuple[float, float]:
    """Returns the successes and the trials that a memory is credited with, as an export states them."""
    lines = [json.loads(line) for line in exported(alma).splitlines()]
    (usage,) = [line["usage"] for line in lines if line.get("type") == "memory" and line["id"] == memory_id]
    return (0.0, 0.0) if usage is None else (usage["credited_successes"], usage["credited_trials"])


def rules(alma: ALMA, count: int) -> list[str]:
    return [alma.add_heuristic("dev", f"{TASK} {number}", f"way {number}").id for number in range(count)]


def attempt(alma: ALMA, used: list[str] | None, verdict: str, *, name: str = "run") -> None:
    with alma.episode("dev", TASK, episode_id=name, top_k=20) as episode:
        if used is not None:
            episode.used(used)
        episode.end(verdict)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("success", (1.0, 1.0)), ("partial", (0.5, 1.0)), ("failure", (0.0, 1.0)), ("unverified", (0.0, 0.0))],
)
def test_the_outcome_is_credited_to_what_was_used_and_to_nothing_else(
    alma: ALMA, verdict: str, expected: tuple[float, float]
) -> None:
    used, passed_over = rules(alma, 2)
    attempt(alma, [used], verdict)
    assert (credit(alma, used), credit(alma, passed_over)) == (expected, (0.0, 0.0))
    assert alma.get_episode("run").credited == (used,)


def test_where_nobody_said_what_was_used_nothing_is_credited(alma: ALMA) -> None:
    (rule,) = rules(alma, 1)
    attempt(alma, None, "success")
    assert credit(alma, rule) == (0.0, 0.0)


def test_an_attempt_counts_for_three_at_most_however_many_were_used(alma: ALMA) -> None:
    ids = rules(alma, 7)
    attempt(alma, ids, "success")
    shares = [credit(alma, memory_id) for memory_id in ids]
    assert shares == [(share(7), share(7))] * 7
    assert sum(trials for _, trials in shares) == pytest.approx(3, abs=0.01)
    assert sum(trials for _, trials in shares) <= 3


@given(st.integers(1, 10**6), st.lists(st.integers(1, 10**6), max_size=30))
def test_shares_never_exceed_an_attempt_and_are_taken_back_without_remainder(used: int, others: list[int]) -> None:
    assert 0 <= share(used) <= min(1, MOST_AN_EPISODE / used)
    total = sum(map(share, others))
    assert total + share(used) - total == share(used)
    assert total + share(used) - share(used) == total


def test_settling_takes_the_old_credit_back_and_gives_the_new_in_one_record(alma: ALMA) -> None:
    first, second = rules(alma, 2)
    attempt(alma, [first], "success", name="one")
    attempt(alma, [first, second], "success", name="two")
    before = held(alma)["journal_records"]
    alma.settle("two", "failure")
    assert held(alma)["journal_records"] == before + 1
    assert (credit(alma, first), credit(alma, second)) == ((1.0, 2.0), (0.0, 1.0))
    alma.settle("two", "unverified")
    assert (credit(alma, first), credit(alma, second)) == ((1.0, 1.0), (0.0, 0.0))
    alma.settle("two", "partial")
    assert (credit(alma, first), credit(alma, second)) == ((1.5, 2.0), (0.5, 1.0))
    assert counts(alma, first).used == 2
    assert alma.verify().ok


def test_an_abandoned_attempt_credits_nothing_until_it_is_settled(alma: ALMA) -> None:
    (rule,) = rules(alma, 1)
    with alma.episode("dev", TASK, episode_id="run") as episode:
        episode.used([rule])
        episode.abandon()
    assert credit(alma, rule) == (0.0, 0.0)
    alma.settle("run", "success")
    assert credit(alma, rule) == (1.0, 1.0)


def test_a_replayed_end_counts_once(alma: ALMA) -> None:
    (rule,) = rules(alma, 1)
    with alma.episode("dev", TASK, episode_id="run") as episode:
        episode.used([rule])
        episode.succeed()
        episode.succeed()
    alma.settle("run", "success", "seen by two people")
    assert (credit(alma, rule), counts(alma, rule).used) == ((1.0, 1.0), 1)


def test_a_used_memory_that_is_gone_is_credited_nothing_and_hinders_nothing(alma: ALMA) -> None:
    kept, purged, forgotten = rules(alma, 3)
    attempt(alma, [kept, purged, forgotten, "no such memory"], "success")
    alma.purge([purged])
    alma.forget(memory_ids=[forgotten])
    alma.settle("run", "failure")
    assert credit(alma, kept) == (0.0, 1.0)
    assert set(alma.get_episode("run").credited) == {kept, purged, forgotten}
    assert alma.verify().ok


def test_undo_takes_credit_back_and_gives_it_again(alma: ALMA) -> None:
    (rule,) = rules(alma, 1)
    attempt(alma, [rule], "success")
    at = held(alma)["journal_records"]
    before = alma.content_hash()
    alma.settle("run", "failure")
    alma.undo(to=at)
    assert (credit(alma, rule), alma.content_hash()) == ((1.0, 1.0), before)
    assert alma.verify().ok


def test_credit_goes_along_in_an_export(alma: ALMA, open_store: OpenStore, tmp_path: object) -> None:
    (rule,) = rules(alma, 1)
    attempt(alma, [rule], "partial")
    alma.export(f"{tmp_path}/all.jsonl")
    other = open_store("other")
    other.import_from(f"{tmp_path}/all.jsonl")
    assert credit(other, rule) == (0.5, 1.0)
    assert other.content_hash() == alma.content_hash()
    other.settle("run", "success")
    assert credit(other, rule) == (1.0, 1.0)
    assert other.verify().ok


def test_what_is_used_and_fails_comes_after_what_is_used_and_succeeds(alma: ALMA) -> None:
    worse, better = rules(alma, 2)
    for number in range(20):
        attempt(alma, [worse], "failure", name=f"worse {number}")
        attempt(alma, [better], "success", name=f"better {number}")
    found = alma.retrieve(f"{TASK} 0 1", "dev").recalled
    usefulness = {item.memory.id: item.factors.usefulness for item in found}
    assert usefulness[worse] < 0.9 < 1 < usefulness[better]
