"""Stores that earlier versions encrypted in other ways: no opening changes them, `alma encrypt` copies them into a store of today's way.

`hidden_names.gz` has the names of agents, users, projects and kinds encrypted; in `unbound.gz`, of the first way, values are not bound to rows.
Both have been brought to the layout of 28 November 2026, and hold the same.
"""

import gzip
import logging
from pathlib import Path

import pytest

from alma import ALMA, ConfigurationError
from alma.encryption import decrypt_store, encrypt_store, rotate_key
from alma.memory.alma import open_records

DATA = Path(__file__).parent / "data"
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
CONTENT = "9b79ac257d16b5a71d68e4acbb0433fce239d1d22d6765cecbeb47a1cfa10a95"
RECORDS = 46
OPERATIONS = {"learn", "add", "episode_end", "work.item", "purge", "upgrade", "register_memory_type"}
ACTORS = {"", "alma", "dba", "ops", "ops/eu", "planner"}
NAMES = (b"ops/eu", b"zoe", b"planner", b"incident")
SECRETS = (b"certificate", b"Canary", b"kubectl", b"work.item", b"queue/7", b"episode_step", b"Renew")


@pytest.fixture(params=["hidden_names", "unbound"])
def former(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a store as an earlier version left it."""
    (tmp_path / "alma.db").write_bytes(gzip.decompress((DATA / f"{request.param}.gz").read_bytes()))
    return tmp_path


def opened(folder: Path, key: bytes | None = KEY) -> ALMA:
    return ALMA.open(folder, project_id="shop", embedding_provider="hash", embedding_dim=16, encryption_key=key)


def check_content(folder: Path, key: bytes | None) -> None:
    """Holds, finds and goes on with all that the former store held."""
    with opened(folder, key) as alma:
        assert alma.verify().problems == ()
        assert (alma.content_hash(), alma.stats().journal_records) == (CONTENT, RECORDS)
        entries = list(alma.storage.project(alma.project_id).entries())
        assert {entry.operation for entry in entries} > OPERATIONS
        assert {entry.actor for entry in entries} == ACTORS
        assert [found.id for found in alma.run_episodes("run 4")] == ["e4"]
        assert open_records(alma, "work.item").get("queue/7").body == {"title": "Renew"}
        assert alma.list_memories("incident")[0].fields == {"title": "The certificate ran out"}
        assert alma.retrieve("Deploy the shop", "ops/eu", user_id="zoe").preferences[0].preference == "short"
        again = alma.learn("ops/eu", "Deploy the shop", "success", "Blue-green", idempotency_key="order 17", user_id="zoe")
        assert alma.stats().journal_records == RECORDS
        assert alma.purge([again.id]).memory_ids == (again.id,)
        assert alma.verify().problems == ()


def test_opening_changes_nothing_and_names_the_command(former: Path) -> None:
    before = (former / "alma.db").read_bytes()
    with pytest.raises(ConfigurationError, match=r"encrypted by an earlier ALMA.*run `alma encrypt`"):
        opened(former)
    with pytest.raises(ConfigurationError, match="another key"):
        opened(former, OTHER_KEY)
    with pytest.raises(ConfigurationError, match="give its key"):
        opened(former, None)
    assert (former / "alma.db").read_bytes() == before
    assert [path.name for path in former.iterdir()] == ["alma.db"]


def test_encrypting_copies_it_into_a_store_with_names_in_clear(former: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigurationError, match="another key"):
        encrypt_store(former, OTHER_KEY)
    with caplog.at_level(logging.WARNING, "alma"):
        encrypt_store(former, KEY)
        content = (former / "alma.db").read_bytes()
        assert [name for name in NAMES if name not in content] == []
        assert [secret for secret in SECRETS if secret in content] == []
        check_content(former, KEY)
    assert caplog.text == ""
    with pytest.raises(ConfigurationError, match="encrypted already"):
        encrypt_store(former, KEY)


def test_it_is_decrypted_and_given_another_key_at_once(former: Path) -> None:
    rotate_key(former, KEY, OTHER_KEY)
    with pytest.raises(ConfigurationError, match="another key"):
        opened(former)
    decrypt_store(former, OTHER_KEY)
    check_content(former, None)


def test_a_former_store_is_decrypted(former: Path) -> None:
    decrypt_store(former, KEY)
    assert {file.name for file in former.iterdir()} == {"alma.db"}
    check_content(former, None)
