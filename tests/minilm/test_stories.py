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


def test_what_worked_on_a_full_disk_is_not_counted_with_what_failed(alma: ALMA) -> None:
    still_open = "nginx kept the deleted file open, df still 97 %"
    for task, way, error in (
        ("Disk usage alert on db-3: /var at 96 %", "Delete old files in /var/log with rm -rf", "space not freed"),
        ("/var is nearly full on web-7", "rm -rf /var/log/*.log to free space", still_open),
        (
            "Alert: root volume of cache-2 is at 92 percent",
            "Truncate the open log with `truncate -s 0` and force a logrotate",
            None,
        ),
        ("web-9 disk space critical", "run logrotate -f and truncate open log files", None),
        ("Low disk space on worker-11", "truncate the large open logs, then logrotate --force", None),
    ):
        alma.learn("oncall", task, "failure" if error else "success", way, error_message=error)
    task = "Disk alert: /var on db-5 at 95 %"

    for way, (successes, trials) in counts(alma, task, "oncall").items():
        assert successes == (0 if "rm -rf" in way else trials)
    assert "rm -rf" in alma.retrieve(task, "oncall").anti_patterns[0].pattern
    assert alma.check("oncall", "rm -rf /var/log/nginx/*.log", task=task).warnings
    assert not alma.check("oncall", "truncate -s 0 /var/log/syslog", task=task).warnings


def test_a_restart_is_one_way_as_a_command_and_in_a_sentence(alma: ALMA) -> None:
    alma.learn("oncall", "Pod checkout-api is OOMKilled", "failure", "Restart the deployment with kubectl rollout restart")
    alma.learn("oncall", "Pod payments-worker is OOMKilled", "failure", "kubectl rollout restart deployment/payments-worker")
    task = "Pod billing-worker is OOMKilled"

    assert [*counts(alma, task, "oncall").values()] == [(0, 2)]
    assert alma.check("oncall", "kubectl rollout restart deployment/billing-worker", task=task).warnings


PHOTO, PROOF = "Request a picture of the damage", "asked for photo evidence of the damage"
BROKEN = [
    f"{thing} arrived broken" for thing in ("cup", "lamp", "chair", "vase", "plate", "mirror", "table", "phone", "clock", "bowl")
]


def test_outcomes_part_wordings_that_were_one_way(alma: ALMA) -> None:
    for task in BROKEN[:2]:
        alma.learn("desk", task, "success", PHOTO)
        alma.learn("desk", task.replace("arrived", "came"), "success", PROOF)
    assert [*counts(alma, "A parcel arrived broken", "desk").values()] == [(4, 4)]

    for task in BROKEN[2:]:
        alma.learn("desk", task, "success", PHOTO)
        alma.learn("desk", task.replace("arrived", "came"), "failure", PROOF)
    rates = {way: successes / trials for way, (successes, trials) in counts(alma, "A parcel arrived broken", "desk").items()}
    assert rates[PHOTO] == 1
    assert rates[PROOF] < 0.3


def test_what_others_did_parts_no_ways_of_an_agent_that_tried_them_often_enough(tmp_path: Path) -> None:
    agents = {"ops": {"share_with": ["desk"]}, "desk": {"inherit_from": ["ops"]}}
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="minilm", agents=agents) as alma:
        for task in BROKEN[:4]:
            alma.learn("desk", task, "success", PHOTO)
            alma.learn("desk", task.replace("arrived", "came"), "success", PROOF)
        for task in BROKEN:
            alma.learn("ops", task, "failure", PROOF)
        assert [*counts(alma, "A parcel arrived broken", "desk").values()] == [(8, 8)]


def test_an_agent_that_fails_and_tries_again_in_other_words_tries_something_else(alma: ALMA) -> None:
    by_hand, anew = "resolved the conflict in the lockfile by hand", "resolved the conflict by regenerating the lockfile"
    for branch in ("develop", "main"):
        alma.learn("coder", f"Merge conflict in pnpm-lock.yaml on {branch}", "failure", by_hand)
        alma.learn("coder", f"Merge conflict in pnpm-lock.yaml on {branch}", "success", anew)
    assert counts(alma, "Merge conflict in pnpm-lock.yaml on release", "coder") == {anew: (2, 2), by_hand: (0, 2)}


def test_calls_with_other_values_have_counts_of_their_own_whatever_else_was_tried(alma: ALMA) -> None:
    card, credit = 'issue_refund(amount, method="card", order_id)', 'issue_refund(amount, method="store_credit", order_id)'
    for order in ("ORD-10022", "ORD-10031", "ORD-10044"):
        alma.learn("support", f"Please refund my order {order}", "failure", card, error_message="the card has expired")
    for order in ("ORD-10022", "ORD-10031"):
        alma.learn("support", f"Please refund my order {order}", "success", credit)
    steps = 'lookup_order(order_id), then search_kb(query="refund policy"), then issue_refund(amount, method="store_credit", order_id)'
    alma.learn("support", "I want a refund for ORD-10022", "success", steps)
    alma.learn("support", "I need the invoice of May", "failure", 'send_email(body, subject, to="billing")')
    alma.learn("support", "Refund ORD-10044", "failure", 'issue_refund(amount, method="bank_transfer", order_id)')
    found = counts(alma, "Refund my order ORD-10099", "support")

    assert (found[card], found[credit], found[steps]) == ((0, 3), (2, 2), (1, 1))
    assert [one.pattern for one in alma.retrieve("Refund my order ORD-10099", "support").anti_patterns] == [card]


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


def test_what_failed_in_other_words_and_with_another_file_is_warned_of(alma: ALMA) -> None:
    alma.learn(
        "analyst", "Plot churn per cohort", "failure", "pie chart", task_type="chart", error_message="nobody could read it"
    )
    alma.learn("analyst", "Show market share over time", "failure", "Used a pie chart per year", task_type="chart")
    unreadable = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9"
    alma.learn(
        "analyst", "Load the CSV export of the CRM", "failure", "pd.read_csv(path)", task_type="load", error_message=unreadable
    )
    alma.learn("analyst", "Read customers.csv from the partner", "failure", "pandas.read_csv('customers.csv')", task_type="load")
    for file in ("price list", "invoices"):
        alma.learn("analyst", f"Load the csv of the {file}", "success", "pd.read_csv(path, encoding='cp1252')", task_type="load")

    assert alma.check("analyst", "draw a pie chart", task="Plot the share of each plan over the years").warnings
    (warning,) = alma.check("analyst", "pd.read_csv('contacts.csv')", task="Load contacts.csv from the agency").warnings
    assert "2 of 2" in warning.summary
    assert not alma.check("analyst", "pd.read_csv('contacts.csv', encoding='cp1252')", task="Load contacts.csv").warnings
    assert not alma.check("analyst", "draw a heatmap", task="Plot the share of each plan over the years").warnings


def test_a_warning_that_rests_on_near_tasks_outlives_a_change_to_an_embedder_that_knows_none(alma: ALMA) -> None:
    for service in ("auth", "mail", "cart"):
        alma.learn("dev", f"Deploy the {service} service", "failure", "rolling update", error_message="no image")
    assert alma.check("dev", "rolling update").warnings

    alma.reindex("hash")

    assert alma.check("dev", "rolling update").warnings
    alma.learn("dev", "Deploy the mail service", "success", "rolling update")
    assert not alma.check("dev", "rolling update").warnings


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

    assert any(row.tasks == 0 for row in alma.strategies("Join the CRM table with billing", "analyst"))
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
