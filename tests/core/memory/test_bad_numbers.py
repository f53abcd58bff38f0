"""Numbers, times and metadata that cannot be kept: a clear error, and nothing is stored."""

import io
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from alma import ALMA, ValidationError
from facade import ManualClock, OpenStore, refused

NAN, INF = float("nan"), float("inf")
HUGE = 10**5000
"""More digits than Python writes out."""

HUGE_ONES = [pytest.param(HUGE, id="huge"), pytest.param(-HUGE, id="minus huge")]


@pytest.mark.parametrize("top_k", [0, -1, 1001, 10**9, *HUGE_ONES, True, False, 1.0, NAN, INF, "5", None, [5]])
def test_a_top_k_that_is_no_count_is_refused(unchanging: ALMA, top_k: Any) -> None:
    with refused(unchanging, ValidationError, "top_k"):
        unchanging.retrieve("t", "a", top_k=top_k)


def test_the_smallest_and_the_greatest_top_k_are_taken(alma: ALMA) -> None:
    alma.learn_many({"agent": "a", "task": f"deploy service {n}", "outcome": True} for n in range(12))
    assert alma.retrieve("deploy service", "a", top_k=1).total_items == 1
    assert alma.retrieve("deploy service", "a", top_k=1000).total_items == 12


@pytest.mark.parametrize("duration", [-1, -0.001, NAN, INF, -INF, 2**53, *HUGE_ONES, True, "5", [5], timedelta(seconds=1)])
def test_a_duration_that_is_none_is_refused(unchanging: ALMA, duration: Any) -> None:
    with refused(unchanging, ValidationError, "duration_ms"):
        unchanging.learn("a", "t", "success", duration_ms=duration)


@pytest.mark.parametrize(("given", "kept"), [(None, None), (0, 0), (1.6, 2), (2**53 - 1, 2**53 - 1)])
def test_a_duration_is_kept_in_whole_milliseconds(alma: ALMA, given: float | None, kept: int | None) -> None:
    assert alma.get(alma.learn("a", "t", "success", duration_ms=given).id).duration_ms == kept  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"similarity": 0},
        {"similarity": -1, "recency": 2},
        {"similarity": NAN},
        {"similarity": INF},
        {"similarity": 1, "recency": INF},
        {"similarity": 1e308, "recency": 1e308},
        {"similarity": 10**400},
        {"similarity": HUGE},
        {"similarity": 10**400, "recency": 1.0},
        {"similarity": "1"},
        {"similarity": None},
        {"similarity": True},
        {"relevance": 1},
        {5: 1},
        5,
        "similarity",
        ["similarity"],
    ],
)
def test_weights_that_are_none_are_refused(alma: ALMA, weights: Any) -> None:
    alma.learn("a", "deploy", "success")
    with refused(alma, ValidationError, "weigh"):
        alma.retrieve("deploy", "a", weights=weights)


@pytest.mark.parametrize("profile", ["", "fast", 5, [], True])
def test_an_unknown_profile_is_refused_and_the_known_one_is_named(unchanging: ALMA, profile: Any) -> None:
    with refused(unchanging, ValidationError, "'recall'"):
        unchanging.retrieve("t", "a", profile=profile)


@pytest.mark.parametrize("arms", [(), None, "dense", ("sparse",), ("dense", "sparse"), 5, [[]], [None]])
def test_unknown_arms_are_refused_and_the_known_ones_are_named(unchanging: ALMA, arms: Any) -> None:
    with refused(unchanging, ValidationError, "dense, text"):
        unchanging.retrieve("t", "a", arms=arms)


@pytest.mark.parametrize("timestamp", ["2026-01-01", 5, 1.5, datetime(2026, 1, 1, tzinfo=UTC).date()])
def test_a_time_that_is_none_is_refused(unchanging: ALMA, timestamp: Any) -> None:
    with refused(unchanging, ValidationError, "timestamp"):
        unchanging.learn("a", "t", "success", timestamp=timestamp)


@pytest.mark.parametrize(
    "timestamp",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_time_that_utc_cannot_tell_is_refused(unchanging: ALMA, timestamp: datetime) -> None:
    with refused(unchanging, ValidationError, "timestamp"):
        unchanging.learn("a", "t", "success", timestamp=timestamp)


@pytest.mark.parametrize("timestamp", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_first_and_the_last_time_are_kept_and_ranked(alma: ALMA, timestamp: datetime) -> None:
    outcome = alma.learn("a", "deploy", "success", timestamp=timestamp)
    assert alma.retrieve("deploy", "a").outcomes[0].timestamp == timestamp == outcome.timestamp


CLOCKS = {
    "before the first year": datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    "after the last year": datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
    "nothing": None,
    "a text": "2026-01-01T00:00:00Z",
    "a number": 1.8e9,
    "a date": datetime(2026, 1, 1, tzinfo=UTC).date(),
}
CALLS: dict[str, Any] = {
    "learn": lambda alma: alma.learn("a", "deploy", "success"),
    "learn_many": lambda alma: alma.learn_many([{"agent": "a", "task": "deploy", "outcome": "success"}]),
    "retrieve": lambda alma: alma.retrieve("deploy", "a"),
    "episode": lambda alma: alma.episode("a", "deploy"),
    "forget": lambda alma: alma.forget(),
    "export": lambda alma: alma.export(io.BytesIO()),
    "overview": lambda alma: alma.overview(),
    "maintain": lambda alma: alma.maintain(due_only=True),
    "purge": lambda alma: alma.purge([alma.list_memories()[0].id]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("reading", CLOCKS.values(), ids=CLOCKS)
def test_a_clock_that_says_no_time_of_utc_is_an_error_and_changes_nothing(
    open_store: OpenStore, clock: ManualClock, reading: Any, call: str
) -> None:
    alma = open_store(clock=clock)
    alma.learn("a", "deploy", "success")
    clock.now, right = reading, clock.now
    before = alma.content_hash()
    with pytest.raises(ValidationError, match="the time of the clock"):
        CALLS[call](alma)
    clock.now = right
    assert alma.content_hash() == before
    assert alma.retrieve("deploy", "a").outcomes


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=UTC).replace(tzinfo=None),
        datetime.max.replace(tzinfo=UTC).replace(tzinfo=None),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_the_first_and_the_last_reading_of_a_clock_are_taken(open_store: OpenStore, clock: ManualClock, moment: datetime) -> None:
    alma = open_store(clock=clock)
    alma.learn("a", "deploy", "success")
    clock.now = moment
    for call in CALLS.values():
        call(alma)
    assert alma.verify().ok


def _nested(levels: int, *, in_lists: bool = False) -> dict[str, Any]:
    inner: Any = 1
    for _ in range(levels - 1):
        inner = [inner] if in_lists else {"a": inner}
    return {"a": inner}


METADATA: dict[str, Any] = {
    "NaN": {"x": NAN},
    "infinity": {"x": [1, {"y": -INF}]},
    "a set": {"x": {1, 2}},
    "an object": {"x": object()},
    "bytes": {"x": b"bytes"},
    "a time": {"x": datetime(2026, 1, 1, tzinfo=UTC)},
    "a tuple as key": {(1, 2): 3},
    "NUL": {"x": "a\x00b"},
    "NUL in a key": {"a\x00b": 1},
    "NUL behind a backslash": {"x": "\\\x00"},
    "a lone surrogate": {"x": ["\ud800"]},
    "a lone surrogate in a key": {"\udc00": 1},
    "a number beyond all digits": {"x": HUGE},
    "too much": {"x": "y" * 100_001},
    "too deep": _nested(101),
    "too deep in lists": _nested(101, in_lists=True),
    "far too deep": _nested(5_000),
    "no mapping": [("x", 1)],
    "a text": "x",
    "a number": 5,
}
METADATA["itself"] = {}
METADATA["itself"]["x"] = METADATA["itself"]


@pytest.mark.parametrize("fault", METADATA)
def test_metadata_that_cannot_be_kept_is_refused_by_every_call(unchanging: ALMA, fault: str) -> None:
    metadata = METADATA[fault]
    for call in (
        lambda: unchanging.learn("a", "t", "success", metadata=metadata),
        lambda: unchanging.learn_many([{"agent": "a", "task": "t", "outcome": True, "metadata": metadata}]),
        lambda: unchanging.add_user_preference("u", "c", "p", metadata=metadata),
        lambda: unchanging.add_domain_knowledge("a", "d", "f", metadata=metadata),
        lambda: unchanging.add_anti_pattern("a", "p", "w", metadata=metadata),
        lambda: unchanging.add_heuristic("a", "c", "s", metadata=metadata),
    ):
        with refused(unchanging, ValidationError, "metadata"):
            call()


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"x": None, "y": [True, 1.5, "text", {"z": []}]},
        {"x": 2**80, "y": -(10**400), "z": 1e308},
        {"x": "\\u0000", "y": "\\", "z": '"', "": "[[[{{{"},
        {"emoji 🎉": "שלום", "quotes": "'; DROP TABLE memory; --"},
        _nested(100),
        _nested(100, in_lists=True),
    ],
)
def test_metadata_that_json_carries_comes_back_as_it_was(alma: ALMA, metadata: dict[str, Any]) -> None:
    outcome = alma.learn("a", "deploy", "success", metadata=metadata)
    memories = alma.retrieve("deploy", "a")
    assert alma.get(outcome.id).metadata == memories.outcomes[0].metadata == metadata
    assert type(memories).from_json(memories.to_json()) == memories


def test_changing_the_metadata_afterwards_changes_nothing_that_is_stored(alma: ALMA) -> None:
    metadata = {"tags": ["a"]}
    outcome = alma.learn("a", "deploy", "success", metadata=metadata)
    metadata["tags"].append("b")
    assert outcome.metadata == alma.get(outcome.id).metadata == {"tags": ["a"]}
