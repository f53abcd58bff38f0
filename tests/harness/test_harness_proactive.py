"""What an agent hears unasked: warnings, open items and expiring facts, and nothing where nothing is near."""

from datetime import UTC, datetime

import pytest

from alma import ALMA, ValidationError
from alma.progress import ProgressTracker

CONTEXT = "Deploy the auth service by a rolling update"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def kinds(alma: ALMA, context: str = CONTEXT, agent: str = "dev", **how: float) -> list[str]:
    return [each.kind for each in alma.get_proactive_suggestions(context, agent, now=NOW, **how)]  # type: ignore[arg-type]


@pytest.fixture
def known(alma: ALMA) -> ALMA:
    alma.add_anti_pattern(
        "dev", "Deploy the auth service by a rolling update", "old and new pods answer side by side", "blue-green"
    )
    for at, fact in (
        ("2026-03-04", "The auth service certificate"),
        ("2026-09-01", "The auth service licence"),
        ("soon", "The auth service key"),
    ):
        alma.add_domain_knowledge("dev", "auth", f"{fact} is valid: deploy the auth service", metadata={"expires_at": at})
    alma.episode(agent="dev", task="Deploy the auth service").suspend()
    return alma


def test_the_three_kinds_are_found_nearest_first(known: ALMA) -> None:
    found = known.get_proactive_suggestions(CONTEXT, "dev", now=NOW, threshold=0.1)

    assert sorted(each.kind for each in found) == ["expiring_fact", "open_item", "warning"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    texts = {each.kind: each.text for each in found}
    assert texts["warning"].startswith("Instead do: blue-green. Avoid: ")
    assert texts["warning"].endswith("Why: old and new pods answer side by side (seen 1 time)")
    assert texts["expiring_fact"].startswith("Expires 2026-03-04: The auth service certificate")
    assert texts["open_item"] == "Begun and not ended: Deploy the auth service"


def test_it_is_silent_where_nothing_reaches_the_threshold(known: ALMA) -> None:
    assert kinds(known, "Bake bread for breakfast") == []
    assert kinds(known, "auth", threshold=0.9) == []


def test_it_is_silent_for_an_agent_that_knows_nothing(known: ALMA) -> None:
    assert kinds(known, agent="other", threshold=0.0) == []


def test_what_is_past_has_expired(known: ALMA) -> None:
    late = datetime(2027, 1, 1, tzinfo=UTC)
    found = known.get_proactive_suggestions(CONTEXT, "dev", now=late, threshold=0.1)

    assert [each.text[:18] for each in found if each.kind == "expiring_fact"].count("Expired 2026-09-01") == 1


def test_the_limit_holds_and_nothing_is_written(known: ALMA) -> None:
    before = known.get_stats().journal_records

    assert len(kinds(known, threshold=0.0, limit=2)) == 2
    assert known.get_stats().journal_records == before


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_an_invalid_threshold_is_refused(alma: ALMA, threshold: float) -> None:
    with pytest.raises(ValidationError, match="threshold"):
        alma.get_proactive_suggestions(CONTEXT, "dev", threshold=threshold)


def test_what_belongs_to_another_user_is_not_said(alma: ALMA) -> None:
    alma.episode(agent="dev", task="Deploy the auth service", user_id="ann").suspend()

    assert not alma.get_proactive_suggestions(CONTEXT, "dev", user_id="bob")
    assert alma.get_proactive_suggestions(CONTEXT, "dev", user_id="ann")


def test_a_work_item_is_open_until_it_is_done_and_is_said_to_its_agent_and_user_alone(alma: ALMA) -> None:
    tracker = ProgressTracker(alma=alma)
    item = tracker.create_work_item("Deploy the auth service", agent="dev", user_id="ann")

    (said,) = alma.get_proactive_suggestions(CONTEXT, "dev", user_id="ann")
    assert (said.text, said.source_id) == ("To do (pending): Deploy the auth service", item.id)
    assert not alma.get_proactive_suggestions(CONTEXT, "dev")
    assert not alma.get_proactive_suggestions(CONTEXT, "other", user_id="ann")

    tracker.update_status(item.id, "done")
    assert not alma.get_proactive_suggestions(CONTEXT, "dev", user_id="ann")


def test_an_attempt_that_failed_is_warned_of_and_one_that_succeeded_is_not(alma: ALMA) -> None:
    alma.learn("dev", "Deploy the auth service", "failure", "a rolling update", error_message="502 bad gateway")
    alma.learn("dev", "Deploy the auth service", "success", "blue-green")

    (warning,) = alma.get_proactive_suggestions("Deploy the auth service", "dev")

    assert warning.kind == "warning"
    assert warning.text == "Failed before by a rolling update: Deploy the auth service. Why: 502 bad gateway"
    assert not alma.get_proactive_suggestions("Deploy the auth service", "other")
