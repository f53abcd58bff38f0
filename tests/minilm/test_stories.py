"""What an agent reads after some days of work, in words as agents record them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alma import ALMA


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="minilm") as opened:
        yield opened


def counts(alma: ALMA, task: str, agent: str) -> dict[str, tuple[float, float]]:
    """Successes and trials by strategy."""
    return {row.strategy: (row.successes, row.trials) for row in alma.strategies(task, agent)}


def test_a_restart_is_one_way_as_a_command_and_in_a_sentence(alma: ALMA) -> None:
    alma.learn("oncall", "Pod checkout-api is OOMKilled", "failure", "Restart the deployment with kubectl rollout restart")
    alma.learn("oncall", "Pod payments-worker is OOMKilled", "failure", "kubectl rollout restart deployment/payments-worker")
    task = "Pod billing-worker is OOMKilled"

    assert [*counts(alma, task, "oncall").values()] == [(0, 2)]
    assert alma.check("oncall", "kubectl rollout restart deployment/billing-worker", task=task).warnings


def test_a_question_without_a_type_gets_no_way_of_another_type_first(alma: ALMA) -> None:
    for place, name in enumerate(("Ann Lee", "Bo", "Carla M.", "Dietmar", "Eve", "Fritz", "Hana", "Ivo", "Juan")):
        alma.learn("desk", f"{name} cannot log in", place % 5 != 4, "send_reset_link(user)", task_type="login")
        alma.learn("desk", f"Password reset for {name} fails", place % 3 != 2, "unlock_account(user)", task_type="login")
        for thing in ("lamp", "sofa"):
            alma.learn("desk", f"Where is the {thing} of {name}", thing == "lamp", 'track(carrier="ups")', task_type="delivery")
            alma.learn("desk", f"{name} asks when the {thing} arrives", True, 'track(carrier="dhl")', task_type="delivery")
    for task in ("Zoe cannot log in", "Password reset for Zoe fails"):
        assert alma.strategies(task, "desk")[0].strategy == "send_reset_link(user)"


def test_what_several_users_failed_with_warns_another_one(alma: ALMA) -> None:
    failing = {"outcome": "failure", "strategy_used": 'lookup(source="wiki", topic)', "error_message": "connection refused"}
    for user, topic in (("ann", "remote work"), ("bob", "parental leave"), ("ann", "travel"), ("ann", "sabbaticals")):
        alma.learn("bot", f"What is the policy on {topic}?", user_id=user, **failing)

    for user in ("ann", "bob", "dan"):
        warnings = alma.retrieve("What is the policy on sick leave?", "bot", user_id=user).anti_patterns
        assert [one.pattern for one in warnings] == ['lookup(source="wiki", topic)']


def test_a_warning_that_rests_on_near_tasks_outlives_a_change_to_an_embedder_that_knows_none(alma: ALMA) -> None:
    for service in ("auth", "mail", "cart"):
        alma.learn("dev", f"Deploy the {service} service", "failure", "rolling update", error_message="no image")
    assert alma.check("dev", "rolling update").warnings

    alma.reindex("hash")

    assert alma.check("dev", "rolling update").warnings


def test_a_warning_stays_when_something_else_is_tried_on_a_task_that_is_less_like_its_own(alma: ALMA) -> None:
    failing = "df.drop_duplicates()"
    for task, way, error in (
        ("Load the customer CSV export (2.1 GB) into pandas", "pd.read_csv(path, chunksize=200_000, usecols=cols)", None),
        ("Load the events CSV export (5 GB) into pandas", "pd.read_csv('events.csv')", "Killed (exit code 137)"),
        ("Load the events CSV export (5 GB)", "used duckdb read_csv_auto instead of pandas", None),
        ("Load the clicks CSV (4 GB)", "duckdb: SELECT * FROM read_csv_auto('clicks.csv')", None),
        ("Load the small lookup CSV with country codes", "pd.read_csv('countries.csv')", None),
        ("Load the small lookup CSV with currencies", "pd.read_csv('currencies.csv')", None),
        ("Parse dates of the signups table", "pd.to_datetime(df['signup'], dayfirst=True)", None),
        ("Parse dates of the returns table", "pd.to_datetime(df['returned_at'], format='%d/%m/%Y')", None),
        ("Parse dates of the refunds table", "pd.to_datetime(df['refunded_at'])", "'31/01/2023' does not match format"),
        ("Weekly active users of the app", "filtered on event_date before COUNT(DISTINCT user_id)", None),
        ("Weekly active users of the web shop", "COUNT(DISTINCT user_id) with WHERE event_date >= '2024-01-01'", None),
        ("Daily active users of the web shop", "SELECT COUNT(DISTINCT user_id) FROM events", "quota exceeded, 4.2 TB scanned"),
        ("Daily active users of the app", "APPROX_COUNT_DISTINCT(user_id) with a filter on event_date", None),
        ("Churn rate by cohort", "left join cancellations, fillna(0), then groupby('cohort').churned.mean()", None),
        ("Churn rate by plan", "left join cancellations, fill missing with 0, groupby plan mean", None),
        ("Remove duplicate customers", failing, "still 1,204 duplicates: mail differs in case"),
        ("Remove duplicate leads", "normalise e-mail (lower, strip) and drop_duplicates(subset=['mail'])", None),
        ("Remove duplicate suppliers", failing, "duplicates remain, names differ in case"),
        ("Delete test accounts from the staging table", "SELECT first, then DELETE by is_test in a transaction", None),
        ("Delete old sessions", "DELETE FROM sessions in batches of 10k", None),
    ):
        alma.learn("analyst", task, "failure" if error else "success", way, error_message=error)

    (row,) = [row for row in alma.strategies("Remove duplicate partners", "analyst") if row.strategy == failing]
    assert row.verdict == "seems to fail"
    assert [one.pattern for one in alma.retrieve("Remove duplicate partners", "analyst").anti_patterns] == [failing]
    assert alma.check("analyst", failing).warnings


def test_a_report_lists_under_a_task_only_what_was_tried_on_tasks_like_it(alma: ALMA) -> None:
    for task, way in (
        ("Join the CRM table with billing", "cast both keys to str, then merge"),
        ("Join the web table with billing", "merge after astype(str)"),
        ("Delete old rows of the audit table", "delete in batches"),
        ("Delete old rows of the sessions table", "delete in batches"),
        ("Parse the dates of the invoice table", "to_datetime with dayfirst"),
    ):
        alma.learn("analyst", task, "success", way)

    views = {view.task: view for view in alma.overview().learning.classes}

    assert views
    for view in views.values():
        assert view.rows
        assert all(row.tasks for row in view.rows)
        assert view.trials == sum(row.trials for row in view.rows)


def test_of_a_task_like_none_before_nothing_is_known_however_many_were_tried(alma: ALMA) -> None:
    for kind, way in (
        ("Refund order {} that arrived broken", "verify the identity, then refund"),
        ("Cancel the subscription of customer {}", "cancel at the end of the period"),
        ("Change the delivery address of order {}", "ask the carrier to redirect it"),
        ("Send a copy of the invoice of order {}", "invoices.resend"),
        ("Customer {} cannot log in", "send a link to reset the password"),
    ):
        for number in range(48112, 48120):
            alma.learn("desk", kind.format(number), "success", way)

    for task in ("What is the weather in Oslo?", "Write a poem about the sea"):
        assert not alma.strategies(task, "desk").rows
        assert not alma.assess(context=task, agent="desk").is_known
    assert alma.strategies("Refund order 50001, the parcel is damaged", "desk")[0].tasks


MONTHS = ("May", "June", "July", "August")
CITIES = ("Rome", "Lyon", "Graz", "Bern")


@pytest.mark.parametrize("is_in_turns", [False, True])
def test_a_general_tool_has_a_record_for_each_of_two_kinds_of_task_where_its_outcomes_differ(
    tmp_path: Path, is_in_turns: bool
) -> None:
    plotted = [(f"Plot the revenue of {month}", "success") for month in MONTHS]
    booked = [(f"Book a table in {city}", "failure") for city in CITIES]
    told = [one for pair in zip(plotted, booked, strict=True) for one in pair] if is_in_turns else plotted + booked
    with ALMA.open(tmp_path, project_id="office", embedding_provider="minilm") as alma:
        for task, outcome in told:
            alma.learn("dev", task, outcome, "run_python(code)")
        assert counts(alma, "Plot the revenue of March", "dev") == {"run_python(code)": (4, 4)}
        assert counts(alma, "Book a table in Oslo", "dev") == {"run_python(code)": (0, 4)}
        assert not alma.check(agent="dev", action="run_python(code)", task="Book a table in Oslo").is_clear


def test_tasks_stay_one_kind_where_a_general_tool_sometimes_fails_on_each(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="office", embedding_provider="minilm") as alma:
        for place, (month, city) in enumerate(zip(MONTHS, CITIES, strict=True)):
            alma.learn("dev", f"Plot the revenue of {month}", "failure" if place % 2 else "success", "run_python(code)")
            alma.learn("dev", f"Book a table in {city}", "success" if place % 2 else "failure", "run_python(code)")
        assert counts(alma, "Book a table in Oslo", "dev") == {"run_python(code)": (4, 8)}


def test_two_ways_that_name_one_thing_are_two_rows_where_one_works_and_one_fails(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="ops", embedding_provider="minilm") as alma:
        for service in ("auth", "billing", "search"):
            alma.learn("dev", f"nginx error in {service}", "success", "read the log of nginx")
            alma.learn("dev", f"nginx error in {service}", "failure", "reload nginx")
        assert counts(alma, "nginx error in mail", "dev") == {"read the log of nginx": (3, 3), "reload nginx": (0, 3)}
