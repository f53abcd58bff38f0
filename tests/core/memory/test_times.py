"""`retrieve` within times: exact in both searches, and never emptied by what lies outside."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, DomainKnowledge, Outcome, TemporalFilter, ValidationError
from alma.memory.room import SearchSizes
from alma.testing import FixedClock
from alma.types import Reason
from facade import StoredIn
from sized import TINY, open_sized

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAYS = 30


def day(number: int) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture(params=[TINY, SearchSizes()], ids=["tiny", "usual"])
def diary(request: pytest.FixtureRequest, tmp_path: Path, stored_in: StoredIn) -> Iterator[tuple[ALMA, FixedClock]]:
    """One outcome and one fact a day, all about the same thing, the later ones worded nearer to the question."""
    clock = FixedClock(START)
    with open_sized(tmp_path / "store", request.param, clock=clock, **stored_in(tmp_path / "store")) as alma:
        for number in range(DAYS):
            near = "Deploy the gateway service" if number > 9 else "Somebody may deploy a gateway or another service"
            alma.learn("dev", f"{near}, run {number}", number % 3 > 0)
            alma.add_domain_knowledge("dev", "ops", f"{near}: note {number}")
            clock.advance(days=1)
        yield alma, clock


QUESTION = "Deploy the gateway service"


@pytest.mark.parametrize(
    "limits",
    [
        {"since": day(25)},
        {"until": day(3)},
        {"since": day(4), "until": day(6)},
        {"as_of": day(2)},
        {"as_of": day(12), "since": day(11)},
        {"temporal_filter": TemporalFilter(relative="last_3_days")},
        {"temporal_filter": TemporalFilter(start=day(1), end=day(2))},
    ],
    ids=["since", "until", "between", "as_of", "as_of_since", "relative", "filter"],
)
def test_within_times_the_same_is_found_as_if_nothing_else_were_there(
    diary: tuple[ALMA, FixedClock], limits: dict[str, Any]
) -> None:
    alma, _ = diary
    since, until = limits.get("since"), limits.get("until") or limits.get("as_of")
    if "temporal_filter" in limits:
        since, until = limits["temporal_filter"].interval(day(DAYS))
    everything = alma.retrieve(QUESTION, "dev", top_k=100, arms=("dense",))
    wanted = {memory.id for memory in everything if (since or START) <= memory.seen_at <= (until or day(DAYS))}

    found = alma.retrieve(QUESTION, "dev", top_k=100, arms=("dense",), **limits)

    assert set(found.ids) == wanted
    assert wanted
    for arms in (("text",), ("dense", "text")):
        assert set(alma.retrieve(QUESTION, "dev", top_k=100, arms=arms, **limits).ids) <= wanted
        best = alma.retrieve(QUESTION, "dev", top_k=2, arms=arms, **limits)
        assert len(best.outcomes) == len(best.domain_knowledge) == 2


def test_from_a_past_moment_ages_and_named_times_count_from_then(tmp_path: Path, stored_in: StoredIn) -> None:
    clock = FixedClock(START)
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        alma.add_domain_knowledge("dev", "ops", "The gateway listens on port 8080")
        clock.advance(days=400)

        then = alma.retrieve("gateway", "dev", as_of=day(3))

        assert then.retrieved_at == day(3)
        assert f"(as of {START:%Y-%m-%d %H:%M}, 3 days ago)" in then.to_prompt()
        assert then.recalled[0].score > alma.retrieve("gateway", "dev").recalled[0].score


def test_what_was_recorded_later_is_unknown_at_a_past_moment_even_if_it_happened_before(
    tmp_path: Path, stored_in: StoredIn
) -> None:
    clock = FixedClock(day(10))
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        alma.learn("dev", "Deploy the gateway", "success", timestamp=day(1))

        assert alma.retrieve("Deploy the gateway", "dev", until=day(2)).total_items == 1
        assert alma.retrieve("Deploy the gateway", "dev", as_of=day(2)).total_items == 0


def test_a_rule_is_unknown_before_it_was_formed(tmp_path: Path, stored_in: StoredIn) -> None:
    clock = FixedClock(START)
    with ALMA.open(tmp_path, project_id="p", embedding_provider="hash", clock=clock, **stored_in(tmp_path)) as alma:
        for service in ("auth", "mail", "search"):
            alma.learn("dev", f"Deploy the {service} service", "success", "blue-green", task_type="deploy")
            clock.advance(days=1)

        assert len(alma.retrieve("Deploy", "dev", task_type="deploy").heuristics) == 1
        assert not alma.retrieve("Deploy", "dev", task_type="deploy", as_of=day(1)).heuristics


def test_an_older_copy_is_found_where_the_newest_is_outside(tmp_path: Path, stored_in: StoredIn) -> None:
    for sizes in (TINY, SearchSizes()):
        clock = FixedClock(START)
        folder = tmp_path / f"{sizes.hits}"
        with open_sized(folder, sizes, clock=clock, **stored_in(folder)) as alma:
            made = []
            for number in range(20):
                at = {"created_at": day(number), "updated_at": day(number), "last_verified": day(number)}
                made.append(DomainKnowledge(agent="dev", domain="ops", fact="The gateway listens on port 8080", **at))
            alma.add_many(made)

            assert alma.retrieve("gateway port", "dev", until=day(3)).ids == [made[3].id]
            assert alma.retrieve("gateway port", "dev", until=day(3)).recalled[0].copies == 4
            told = alma.retrieve("gateway port", "dev", until=day(3), explain=True).recalled[0].explanation
            assert told is not None
            assert set(told.folded) == {memory.id for memory in made[:3]}


def test_an_explanation_names_the_time_that_leaves_a_memory_out(diary: tuple[ALMA, FixedClock]) -> None:
    alma, _ = diary
    (old,) = alma.retrieve(QUESTION, "dev", until=START).outcomes

    for limits, why in (
        ({"since": day(4)}, "it is of 2026-03-02 12:00:00, before since=2026-03-06 12:00:00"),
        ({"until": START - timedelta(days=1)}, "after until=2026-03-01"),
        ({"as_of": START - timedelta(days=1)}, "it was recorded at 2026-03-02 12:00:00, after as_of=2026-03-01"),
    ):
        told = alma.explain_retrieval(QUESTION, old.id, "dev", **limits)
        assert (told.reason, told.selected) == (Reason.OUTSIDE_TIMES, False)
        assert why in str(told)
    assert alma.explain_retrieval(QUESTION, old.id, "dev", until=day(1)).selected


def test_a_naive_time_is_utc_and_a_future_moment_is_now(diary: tuple[ALMA, FixedClock]) -> None:
    alma, _ = diary
    naive = alma.retrieve(QUESTION, "dev", since=day(25).replace(tzinfo=None))

    assert naive.ids == alma.retrieve(QUESTION, "dev", since=day(25)).ids
    assert alma.retrieve(QUESTION, "dev", as_of=day(900)).retrieved_at == day(DAYS)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"since": "yesterday"}, "since must be a datetime, not 'yesterday'"),
        ({"since": day(3), "until": day(2)}, "since 2026-03-05 12:00 is after until 2026-03-04 12:00"),
        ({"temporal_filter": "last_week"}, "temporal_filter must be a TemporalFilter"),
        (
            {"temporal_filter": TemporalFilter(relative="last_week"), "since": day(1)},
            "since and until, or temporal_filter, not both",
        ),
        ({"temporal_filter": TemporalFilter(relative="last_9999_years")}, "reaches back before the first year"),
    ],
    ids=["text", "order", "no_filter", "both", "too_far"],
)
def test_odd_times_are_a_clear_error(diary: tuple[ALMA, FixedClock], limits: dict[str, Any], message: str) -> None:
    alma, _ = diary

    with pytest.raises(ValidationError, match=message):
        alma.retrieve(QUESTION, "dev", **limits)


def test_what_was_forgotten_since_stays_forgotten(diary: tuple[ALMA, FixedClock]) -> None:
    alma, _ = diary
    (old,) = alma.retrieve(QUESTION, "dev", until=START).outcomes
    alma.forget(memory_ids=[old.id])

    assert not alma.retrieve(QUESTION, "dev", as_of=START).outcomes
    assert isinstance(old, Outcome)
