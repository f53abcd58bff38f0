"""Writes `old-memory.db` with the package alma-memory, in an environment of its own: it takes the name `alma`, too.

    python -m venv old && old/bin/pip install "alma-memory==0.11.*" numpy
    old/bin/python write_old_memory.py old-memory.db

Rules and most rows come from the package's own calls. Rows with an old time go through its storage. What no call writes (metadata that is not
JSON, columns and a table of a third party) is added by SQL at the end, and the file is vacuumed into small pages.
"""

import os
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

os.environ["ALMA_ANTI_PATTERN_WRITE_GUARD"] = "0"  # it would refuse most of the failures

from alma.learning.protocols import LearningProtocol
from alma.retrieval.embeddings import MockEmbedder
from alma.retrieval.engine import RetrievalEngine
from alma.storage.sqlite_local import SQLiteStorage

from alma import ALMA
from alma.types import AntiPattern, DomainKnowledge, Heuristic, Outcome, UserPreference

DIMENSION = 8
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

FORMS = [
    "Test the login form",
    "Test the registration form",
    "Test the password reset form",
    "Test the newsletter form",
    "Test the address form",
]
DEPLOYS = ["Deploy the payment service", "Deploy the search service", "Deploy the mail service", "Deploy the stock service"]


def opened(storage: SQLiteStorage, project: str) -> ALMA:
    """One project of the database, as `ALMA.quickstart` opens it, with its mock embedder."""
    embedder = MockEmbedder(dimension=DIMENSION)
    return ALMA(
        storage=storage,
        retrieval_engine=RetrievalEngine(storage=storage, embedding_provider="mock"),
        learning_protocol=LearningProtocol(storage=storage, scopes={}, embedder=embedder),
        scopes={},
        project_id=project,
    )


def learn_by_its_own_calls(storage: SQLiteStorage) -> None:
    """Writes outcomes and what alma-memory makes of them: heuristics and anti-patterns."""
    shop, blog = opened(storage, "web-shop"), opened(storage, "blog")
    for task in FORMS:
        shop.learn("helena", task, "success", "Tested empty fields, invalid email, valid submission", task_type="form_testing")
    for task in FORMS[:3]:
        shop.learn(
            "helena",
            task,
            "failure",
            "Waited with sleep(5) for the answer",
            task_type="form_testing",
            error_message="TimeoutError: no answer within 5 s",
        )
    for task in DEPLOYS:
        shop.learn("victor", task, "success", "Blue-green with a health check", duration_ms=42_000)
    shop.learn("victor", DEPLOYS[0], "Success", "Rolling update")  # another word than "success": stored as a failure
    shop.learn("zoë", "Prüfe das Formular für Rücksendungen ✓", "success", "Zuerst leere Felder 🧪", feedback="schön, weiter so")
    blog.learn("helena", "Write the release notes", "success", "Asked the authors first")
    blog.learn("victor", "Move the blog to a new host", "failure", "All at once", error_message="502 Bad Gateway")
    shop.add_domain_knowledge("victor", "authentication", "API uses JWT with 24h expiry")
    shop.add_domain_knowledge("victor", "authentication", "API uses JWT with 24h expiry")  # it keeps both
    shop.add_domain_knowledge("helena", "checkout", "The basket is emptied after 30 minutes", source="inferred")
    blog.add_domain_knowledge("helena", "style", "Headlines are in sentence case")
    shop.add_user_preference("maria", "reports", "Short bullet points, no screenshots")
    shop.add_user_preference("josé", "sprache", "Antworten auf Deutsch", source="inferred")


def spread_over_days(path: Path) -> None:
    """Sets the times of all that was written so far, which are of one second, to hours in March 2026."""
    times = {
        "outcomes": ("timestamp",),
        "heuristics": ("last_validated", "created_at"),
        "anti_patterns": ("last_seen", "created_at"),
        "domain_knowledge": ("last_verified",),
        "preferences": ("timestamp",),
    }
    with closing(sqlite3.connect(path)) as database, database:
        for table, columns in times.items():
            for (row,) in database.execute(f"SELECT rowid FROM {table}").fetchall():
                moment = (START + timedelta(hours=7 * row)).isoformat()
                for column in columns:
                    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (moment, row))


def save_by_its_storage(storage: SQLiteStorage) -> None:
    """Writes rows with a time, an id and metadata of their own: stated rules, old outcomes, odd values."""
    shop = {"project_id": "web-shop", "embedding": None}
    for number in range(4):
        storage.save_outcome(
            Outcome(
                **shop,
                id=f"out_old{number}",
                agent="helena",
                task_type="database_validation",
                task_description=f"Check the order table after import {number}",
                success=number != 2,
                strategy_used="Compared row counts before and after",
                error_message=None if number != 2 else "AssertionError: 12 rows are missing",
                timestamp=START + timedelta(days=number),
                metadata={"ticket": f"SHOP-{number}", "tags": ["import", "nightly"]},
            )
        )
    odd = {**shop, "agent": "helena", "task_type": None, "success": True, "strategy_used": ""}
    zone = timezone(timedelta(hours=2))
    for outcome in (
        Outcome(**odd, id="out_naive", task_description="Count the invoices", timestamp=datetime(2026, 4, 1, 8, 0)),  # noqa: DTZ001
        Outcome(**odd, id="out_zone", task_description="Count the refunds", timestamp=datetime(2026, 4, 1, 8, 0, tzinfo=zone)),
        Outcome(**odd, id="out_empty", task_description="", timestamp=START),
        Outcome(**odd, id="out_long", task_description="very long " * 300, timestamp=START),
        Outcome(**{**odd, "agent": ""}, id="out_nobody", task_description="Count the vouchers", timestamp=START),
        Outcome(**odd, id="out_nul", task_description="Count the \0 vouchers", timestamp=START),
    ):
        storage.save_outcome(outcome)
    storage.save_heuristic(
        Heuristic(
            **shop,
            id="heur_stated",
            agent="helena",
            condition="forms with more than ten fields",
            strategy="Test each section on its own",
            confidence=0.9,
            occurrence_count=12,
            success_count=11,
            last_validated=START,
            created_at=START,
            metadata={"author": "maria"},
        )
    )
    storage.save_anti_pattern(
        AntiPattern(
            **shop,
            id="anti_stated",
            agent="helena",
            pattern="Using sleep() for async waits",
            why_bad="Causes flaky tests, wastes time",
            better_alternative="Use explicit waits with conditions",
            occurrence_count=4,
            last_seen=START,
            created_at=START,
        )
    )
    storage.save_domain_knowledge(
        DomainKnowledge(
            **shop,
            id="dk_old",
            agent="zoë",
            domain="returns",
            fact="Rücksendungen sind 30 Tage lang möglich",
            source="user_stated",
            confidence=1.0,
            last_verified=START,
        )
    )
    storage.save_user_preference(
        UserPreference(
            id="pref_old",
            user_id="maria",
            category="code_style",
            preference="Use strict mode",
            source="explicit_instruction",
            confidence=1.0,
            timestamp=START,
        )
    )


def add_what_no_call_writes(path: Path) -> None:
    """Writes by SQL what others left in such databases, and makes the file small."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE outcomes SET metadata = '{not JSON' WHERE id = 'out_old3'")
        database.execute("UPDATE domain_knowledge SET domain = NULL, source = NULL, confidence = 7 WHERE id = 'dk_old'")
        database.execute("UPDATE outcomes SET timestamp = 'last Tuesday', duration_ms = -5 WHERE id = 'out_zone'")
        database.execute("ALTER TABLE outcomes ADD COLUMN reviewed_by TEXT")
        database.execute("UPDATE outcomes SET reviewed_by = 'maria' WHERE id = 'out_old0'")
        database.execute("INSERT INTO outcomes SELECT 'out_again', agent, project_id, task_type, task_description, success, "
                         "strategy_used, duration_ms, error_message, user_feedback, timestamp, metadata"
                         + "".join(f", {name}" for name in _columns_after(database, "metadata"))
                         + " FROM outcomes WHERE id = 'out_old1'")  # fmt: skip
        database.execute("CREATE TABLE dashboards (id INTEGER PRIMARY KEY, layout TEXT)")
        database.execute("INSERT INTO dashboards (layout) VALUES ('two columns')")
        database.execute("DELETE FROM embeddings")  # vectors are made anew, and these take half of the file
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")


def _columns_after(database: sqlite3.Connection, name: str) -> list[str]:
    columns = [row[1] for row in database.execute("PRAGMA table_info(outcomes)")]
    return columns[columns.index(name) + 1 :]


def main() -> None:
    """Writes the file that is named."""
    path = Path(sys.argv[1])
    path.unlink(missing_ok=True)
    storage = SQLiteStorage(db_path=path, embedding_dim=DIMENSION)
    learn_by_its_own_calls(storage)
    spread_over_days(path)
    save_by_its_storage(storage)
    add_what_no_call_writes(path)


if __name__ == "__main__":
    main()
