"""A store on PostgreSQL that a former version left opens with all that it held."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from alma import ALMA
from alma.errors import ConfigurationError
from alma.types.strategies import RULE
from postgres_server import PostgresServer

DATA = Path(__file__).parents[1] / "upgrade" / "data"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))["postgres"]


def restored(server: PostgresServer) -> str:
    """The URL of a database with the store as the former version left it."""
    found = json.loads(gzip.decompress((DATA / "postgres.gz").read_bytes()))
    url = server.new_database("CREATE SCHEMA alma", *found["layout"])
    with psycopg.connect(url, autocommit=True) as connection:
        for table, held in found["rows"].items():
            columns = sql.SQL(", ").join(map(sql.Identifier, held["names"]))
            marks = sql.SQL(", ").join([sql.Placeholder()] * len(held["names"]))
            place = sql.Identifier("alma", table)
            insertion = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(place, columns, marks)
            for row in held["rows"]:
                values = [
                    bytes.fromhex(value) if is_blob and value is not None else value
                    for value, is_blob in zip(row, held["blobs"], strict=True)
                ]
                connection.execute(insertion, values)
            if "row" in held["names"] and held["rows"]:
                newest = sql.SQL("SELECT setval(pg_get_serial_sequence(%s, 'row'), (SELECT max(\"row\") FROM {}))").format(place)
                connection.execute(newest, [f'alma."{table}"'])
    return url


def opened(url: str, folder: Path) -> ALMA:
    return ALMA.open(
        folder,
        project_id="shop",
        embedding_provider="hash",
        embedding_dim=16,
        storage=url,
        clock=lambda: datetime(2026, 12, 1, tzinfo=UTC),
    )


def test_a_store_of_a_former_version_opens_with_all_that_it_held(server: PostgresServer, tmp_path: Path) -> None:
    url = restored(server)
    for _ in range(2):  # the second finds it upgraded
        with opened(url, tmp_path) as alma:
            assert alma.verify().problems == ()
            rows = {one.key: one.row for one in alma.storage.project(alma.project_id).rows() if one.table == "memory" and one.row}
            found = {key: [row["kind"], row["owner"], row["body"], row["archived_at"]] for key, row in rows.items()}
            assert {key: found.get(key) for key in EXPECTED["memories"]} == EXPECTED["memories"]
            records = {key: body for key, _, body in alma.storage.project(alma.project_id).records(RULE)}
            assert {key: body["way"] for key, body in records.items()} == {
                key: one["way"] for key, one in EXPECTED["rules"].items()
            }
            assert alma.stats().journal_records == EXPECTED["head"] + 1
    with opened(url, tmp_path) as alma:
        alma.purge(EXPECTED["mustermann"])
        alma.undo(to=1)
        assert alma.verify().problems == ()
        said = json.dumps(
            [
                [change.before, change.after]
                for entry in alma.storage.project(alma.project_id).entries()
                for change in entry.changes
            ]
        )
        assert "Mustermann" not in said


def test_a_role_that_may_not_change_tables_is_told_who_may(server: PostgresServer, tmp_path: Path) -> None:
    url = restored(server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DO $$ BEGIN CREATE ROLE lean LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        connection.execute("GRANT USAGE ON SCHEMA alma TO lean")
        connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA alma TO lean")
        connection.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA alma TO lean")
    with pytest.raises(ConfigurationError, match="open it once as their owner"):
        opened(url.replace("//alma@", "//lean@"), tmp_path)
    with opened(url, tmp_path) as alma:
        assert alma.stats().journal_records == EXPECTED["head"] + 1
