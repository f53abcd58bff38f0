"""Stores that the last version with stored counts and learned rules left open with all that they held."""

import gzip
import io
import json
import logging
import signal
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, extensions
from alma.encryption import encrypt_store
from alma.errors import MissingDependencyError
from alma.types.strategies import RULE
from killed import kill_while_opening

DATA = Path(__file__).parent / "data"
KEY = bytes(range(32))
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
COPY = "alma.db.before-upgrade"
NAMES = ("plain", "encrypted", "readable_names", "files")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "encrypted": {"encryption_key": KEY},
    "readable_names": {"encryption_key": KEY},
    "files": {"storage": "file"},
}
CLAIMED = "01a00000-0000-7000-8000-000000000001"


def unpack(name: str, folder: Path) -> Path:
    """Puts a store of a former version into a folder. One that was encrypted in another way is encrypted in today's way, for no opening does so."""
    data = gzip.decompress((DATA / f"{name}.gz").read_bytes())
    if name == "files":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")
    else:
        (folder / "alma.db").write_bytes(data)
        if OPTIONS[name]:
            encrypt_store(folder, KEY)
    return folder


def opened(name: str, folder: Path, **given: Any) -> ALMA:
    clock = {"clock": lambda: datetime(2026, 12, 1, tzinfo=UTC)}
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", embedding_dim=16, **clock, **OPTIONS[name], **given)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a store of a former version."""
    return str(request.param)


@pytest.fixture
def alma(name: str, tmp_path: Path) -> Iterator[ALMA]:
    """The store, opened by this version."""
    with opened(name, unpack(name, tmp_path)) as found:
        yield found


def memories_of(alma: ALMA) -> dict[str, list[Any]]:
    rows = (stored for stored in alma.storage.project(alma.project_id).rows() if stored.table == "memory")
    return {one.key: [one.row["kind"], one.row["owner"], one.row["body"], one.row["archived_at"]] for one in rows if one.row}


def records_of(alma: ALMA) -> dict[str, dict[str, Any]]:
    return {key: body for key, _, body in alma.storage.project(alma.project_id).records(RULE)}


def holds(folder: Path, word: str) -> list[str]:
    """Files in which a word can be read."""
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_it_opens_with_the_same_memories_and_verifies(alma: ALMA, name: str) -> None:
    assert alma.verify().problems == ()
    found, expected = memories_of(alma), EXPECTED[name]["memories"]
    assert {key: found.get(key) for key in expected} == expected
    claimed = {key: row for key, row in found.items() if key not in expected}
    assert sorted((row[0], row[2]["metadata"]["imported"]["trials"]) for row in claimed.values()) == [
        ("anti_pattern", 6),
        ("heuristic", 9),
    ]
    assert CLAIMED in claimed


def test_learned_rules_become_records_with_their_ids(alma: ALMA, name: str) -> None:
    expected, found = EXPECTED[name], records_of(alma)
    rows = {
        key: {"kind": "heuristic" if body["side"] == "works" else "anti_pattern", "owner": body["owner"], "way": body["way"]}
        for key, body in found.items()
    }
    assert rows == expected["rules"]
    assert [key for key, body in found.items() if "archived_at" in body] == [expected["archived"]]
    assert found[expected["liked"]]["use"] == {"thumbs_up": 1}
    outcomes = memories_of(alma)
    for body in found.values():
        assert 1 <= len(body["anchors"]) <= 8
        assert {outcomes[anchor][0] for anchor in body["anchors"]} == {"outcome"}


def test_their_ids_go_on_working(alma: ALMA, name: str) -> None:
    expected = EXPECTED[name]
    alma.record_feedback(expected["liked"], signal="thumbs_up", agent="dba", query="Shrink the orders table")
    assert records_of(alma)[expected["liked"]]["use"] == {"thumbs_up": 2}
    shown = alma.retrieve("Shrink the orders table", "dba")
    assert [warning.id for warning in shown.anti_patterns if warning.agent == "dba"] == [expected["liked"]]
    assert shown.heuristics == []
    assert [entry.operation for entry in alma.history(expected["liked"])][-2:] == ["upgrade", "record_feedback"]
    assert [entry.what for entry in alma.history(f"rule/{expected['liked']}")] == ["made", "changed"]


def test_the_report_names_what_is_only_claimed(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "alma"), opened(name, unpack(name, tmp_path)) as alma:
        ((_, report),) = alma.storage.project(alma.project_id).record("maintenance", ["upgrade"]).values()
    assert report["rules"] == len(EXPECTED[name]["rules"])
    assert {(one["successes"], one["trials"]) for one in report["imported"]} == {(8.0, 9.0), (1.0, 6.0)}
    assert CLAIMED in caplog.text


def test_the_upgrade_is_one_record_and_is_done_once(name: str, tmp_path: Path) -> None:
    with opened(name, unpack(name, tmp_path)) as alma:
        before = alma.content_hash(), alma.stats().journal_records
        assert before[1] == EXPECTED[name]["head"] + 1
    with opened(name, tmp_path) as alma:
        assert (alma.content_hash(), alma.stats().journal_records) == before


def test_undo_to_before_the_upgrade_works_for_memories(alma: ALMA, name: str) -> None:
    fact = EXPECTED[name]["fact"]
    alma.undo(to=1)
    assert alma.verify().problems == ()
    assert fact not in memories_of(alma)
    alma.undo(to=EXPECTED[name]["head"])
    assert alma.verify().problems == ()
    assert fact in memories_of(alma)


def test_a_purge_erases_words_in_retired_rows_too(name: str, tmp_path: Path) -> None:
    with opened(name, unpack(name, tmp_path)) as alma:
        report = alma.purge(EXPECTED[name]["mustermann"])
        assert alma.verify().problems == ()
        said = json.dumps(
            [
                [change.before, change.after]
                for entry in alma.storage.project(alma.project_id).entries()
                for change in entry.changes
            ]
        )
        alma.compact()
    assert report.seq is not None
    assert [word for word in ("Mustermann", "midnight") if word in said] == []
    if name != "files":
        assert not (tmp_path / COPY).exists()
    assert holds(tmp_path, "Mustermann") == holds(tmp_path, "midnight") == []


def test_a_purge_without_the_package_of_upgrades_names_it_and_erases_nothing(
    alma: ALMA, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extensions, "find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match="upgrade"):
        alma.purge(EXPECTED[name]["mustermann"])
    monkeypatch.undo()
    assert alma.verify().problems == ()
    assert alma.purge(EXPECTED[name]["mustermann"]).seq is not None


def test_forgetting_a_user_takes_the_rule_of_that_user(alma: ALMA, name: str) -> None:
    alma.forget_user("ann")
    assert alma.verify().problems == ()
    assert "call the bank first" not in {body.get("way") for body in records_of(alma).values()}
    said = json.dumps(
        [[change.before, change.after] for entry in alma.storage.project(alma.project_id).entries() for change in entry.changes]
    )
    assert "call the bank first" not in said


def test_an_export_of_it_holds_the_same_elsewhere(alma: ALMA, tmp_path: Path) -> None:
    alma.export(tmp_path / "shop.jsonl")
    with ALMA.open(tmp_path / "new", project_id="shop", embedding_provider="hash", embedding_dim=16) as new:
        new.import_from(tmp_path / "shop.jsonl")
        assert (new.content_hash(), new.verify().problems) == (alma.content_hash(), ())


def test_an_export_that_a_former_version_wrote_is_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(gzip.decompress((DATA / "export.jsonl.gz").read_bytes()))
    expected = EXPECTED["plain"]
    with ALMA.open(tmp_path / "new", project_id="shop", embedding_provider="hash", embedding_dim=16) as new:
        report = new.import_from(tmp_path / "old.jsonl")
        assert new.verify().problems == ()
        assert {key: body["way"] for key, body in records_of(new).items()} == {
            key: rule["way"] for key, rule in expected["rules"].items()
        }
        found = memories_of(new)
        assert {key: found.get(key) for key in expected["memories"]} == expected["memories"]
        assert CLAIMED in report.claimed
        assert len(report.claimed) == 2
        assert found[CLAIMED][2]["metadata"]["imported"] == {"successes": 8.0, "trials": 9.0}


@pytest.mark.parametrize("name", ["plain", "encrypted"], indirect=True)
def test_a_copy_is_made_first_and_kept_until_the_file_is_compacted(name: str, tmp_path: Path) -> None:
    before = (unpack(name, tmp_path) / "alma.db").read_bytes()
    with opened(name, tmp_path) as alma:
        (tmp_path / "former.db").write_bytes(before)
        with closing(sqlite3.connect(tmp_path / COPY)) as copy, closing(sqlite3.connect(tmp_path / "former.db")) as former:
            query = "SELECT (SELECT count(*) FROM evidence), (SELECT count(*) FROM journal)"
            assert copy.execute(query).fetchone() == former.execute(query).fetchone()
        assert (tmp_path / COPY).stat().st_mode & 0o077 == 0
        alma.compact()
        assert not (tmp_path / COPY).exists()


@pytest.mark.parametrize("is_upgraded", [False, True])
def test_encrypting_an_open_store_leaves_no_readable_copy(tmp_path: Path, is_upgraded: bool) -> None:
    unpack("plain", tmp_path)
    if is_upgraded:
        opened("plain", tmp_path).close()
        assert COPY in holds(tmp_path, "Mustermann")
    encrypt_store(tmp_path, KEY)
    with opened("encrypted", tmp_path) as alma:
        assert {key: body["way"] for key, body in records_of(alma).items()} == {
            key: rule["way"] for key, rule in EXPECTED["plain"]["rules"].items()
        }
        assert alma.verify().problems == ()
    assert holds(tmp_path, "Mustermann") == holds(tmp_path, "midnight") == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("statements", [30, 60, 90, 120, 150, 180, 210, 230, 245])
def test_an_upgrade_that_was_killed_is_done_by_the_next_opening(tmp_path: Path, statements: int) -> None:
    folder = unpack("plain", tmp_path)
    kill_while_opening(folder, statements=statements)
    with opened("plain", folder) as alma:
        assert alma.verify().problems == ()
        assert {key: body["way"] for key, body in records_of(alma).items()} == {
            key: rule["way"] for key, rule in EXPECTED["plain"]["rules"].items()
        }
        assert alma.stats().journal_records == EXPECTED["plain"]["head"] + 1
