"""The seal of encrypted stores, the keys of users, and what is damaged or belongs elsewhere."""

import base64
import logging
import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import LargeBinary

from alma.embedding import HashEmbedder
from alma.errors import ConfigurationError, CorruptStoreError
from alma.storage.relational.tables import metadata
from alma.storage.sqlite.store import SQLStorage
from alma_encryption.cipher import AESSeal, new_data_key, unwrapped, wrapped
from alma_encryption.keys import generate_key, read_key, write_key_file
from alma_encryption.rows import HIDDEN, SEALED
from encrypted import KEY, OTHER_KEY, open_encrypted
from stores import NOW, execute

SEAL = AESSeal(KEY, "a store")
ROW = (1, "m1")


@given(data=st.binary(max_size=200))
def test_what_is_sealed_opens_and_is_larger_by_the_overhead(data: bytes) -> None:
    sealed = SEAL.seal(data, place="memory.body", row=ROW)
    assert SEAL.open(sealed, place="memory.body", row=ROW) == data
    assert len(sealed) == len(data) + SEAL.overhead
    assert sealed != SEAL.seal(data, place="memory.body", row=ROW)


@given(data=st.binary(max_size=200))
def test_what_is_hidden_is_revealed_and_equal_for_equal_data(data: bytes) -> None:
    hidden = SEAL.hide(data, place="text_hash")
    assert SEAL.reveal(hidden, place="text_hash") == data
    assert hidden == AESSeal(KEY, "a store").hide(data, place="text_hash")
    assert not data or hidden != SEAL.hide(data, place="content_hash")


@pytest.mark.parametrize("other", [AESSeal(KEY, "another store"), AESSeal(OTHER_KEY, "a store")], ids=["store", "key"])
def test_bytes_of_another_store_or_key_are_refused(other: AESSeal) -> None:
    with pytest.raises(CorruptStoreError):
        other.open(SEAL.seal(b"text", place="memory.body", row=ROW), place="memory.body", row=ROW)
    with pytest.raises(CorruptStoreError):
        other.reveal(SEAL.hide(b"text", place="memory.body"), place="memory.body")


def test_bytes_that_were_moved_changed_or_cut_are_refused() -> None:
    sealed = SEAL.seal(b"text", place="memory.body", row=ROW)
    for data, place, row in (
        (sealed, "passage.text", ROW),
        (sealed, "memory.body", (1, "m2")),
        (sealed, "memory.body", (1, "m", "")),
        (sealed[:-1] + b"\0", "memory.body", ROW),
        (sealed[:5], "memory.body", ROW),
        (b"", "memory.body", ROW),
    ):
        with pytest.raises(CorruptStoreError, match="was changed or belongs elsewhere"):
            SEAL.open(data, place=place, row=row)


def test_a_data_key_is_unwrapped_by_its_key_and_store_alone() -> None:
    data_key = new_data_key()
    stored = wrapped(data_key, key=KEY, store_id="a store")
    assert unwrapped(stored, key=KEY, store_id="a store", name="alma.db") == data_key
    for key, store_id in ((OTHER_KEY, "a store"), (KEY, "another store")):
        with pytest.raises(ConfigurationError, match=r"alma\.db is encrypted with another key"):
            unwrapped(stored, key=key, store_id=store_id, name="alma.db")


READABLE_HASHES = {"project": {"head_hash"}, "vector": {"checksum"}, "journal": {"hash"}}
"""Columns of bytes that pass no seal: salted hashes, and the checksum of sealed bytes."""


def test_every_column_of_bytes_passes_the_seal_or_is_a_hash() -> None:
    for name, table in metadata.tables.items():
        known = {*SEALED.get(name, {}), *HIDDEN.get(name, {}), *READABLE_HASHES.get(name, ())}
        columns = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
        assert columns <= known, name
        assert known <= set(table.columns.keys()), name


TEXT = base64.b64encode(OTHER_KEY).decode()


@pytest.mark.parametrize(
    "content",
    [KEY, base64.b64encode(KEY), base64.urlsafe_b64encode(KEY) + b"\n", KEY.hex().encode(), KEY.hex().upper().encode() + b"\r\n"],
    ids=["raw", "Base64", "URL-safe", "hexadecimal", "upper case"],
)
def test_a_key_may_be_written_in_several_ways(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "alma.key"
    file.write_bytes(content)
    assert read_key(file) == read_key(str(file)) == read_key(content) == read_key(lambda: content) == KEY


def test_generated_keys_are_keys_and_differ() -> None:
    keys = {read_key(generate_key().encode()) for _ in range(3)}
    assert {len(key) for key in keys} == {32}
    assert len(keys) == 3


def _failing() -> bytes:
    raise KeyError(TEXT)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (b"swordfish", "encryption_key is no key: it takes 32 bytes"),
        (TEXT, "give a key itself as bytes"),
        ("no/such.key", "cannot be read: No such file or directory; `alma keygen`"),
        ("a\0b", "it is no path"),
        (lambda: "swordfish", "returned is no key"),
        (lambda: None, "returned a NoneType"),
        (_failing, "failed: KeyError"),
        (7, "not a int"),
    ],
    ids=["short", "key as text", "no file", "no path", "function's text", "nothing", "failing function", "number"],
)
def test_what_is_no_key_is_named_and_never_shown(source: object, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        read_key(source)  # type: ignore[arg-type] # what a caller may give
    assert "swordfish" not in str(caught.value)
    assert TEXT not in str(caught.value)


def test_a_key_file_is_readable_by_its_owner_alone_and_never_overwritten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "alma.key"
    write_key_file(file)
    key = read_key(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert caplog.records == []
    with pytest.raises(ConfigurationError, match="never overwritten"):
        write_key_file(file)
    assert read_key(file) == key

    file.chmod(0o644)
    with caplog.at_level(logging.WARNING, logger="alma"):
        read_key(file)
    assert "may be read or changed by others" in caplog.text


@pytest.mark.parametrize("byte", [0, 0x61, 0xFF])
def test_a_key_of_one_byte_is_told_for_what_it_is(byte: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="alma"):
        read_key(bytes([byte]) * 32)
    assert "one byte, 32 times" in caplog.text


def test_a_key_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_key_file(tmp_path / "none" / "alma.key")


DAMAGES = {
    "body": "UPDATE memory SET body = zeroblob(length(body)) WHERE row = 1",
    "moved body": "UPDATE memory SET body = (SELECT payload FROM journal LIMIT 1) WHERE row = 1",
    "content hash": "UPDATE memory SET content_hash = zeroblob(32) WHERE row = 1",
    "text": "UPDATE passage SET text = zeroblob(length(text)) WHERE row = 1",
    "text hash": "UPDATE passage SET text_hash = zeroblob(32) WHERE row = 1",
    "vector": "UPDATE vector SET vector = zeroblob(length(vector)) WHERE row = 1",
    "vector's hash": "UPDATE vector SET text_hash = zeroblob(32) WHERE row = 1",
    "record": "UPDATE record SET body = zeroblob(length(body))",
    "agent": "UPDATE memory SET agent = 'eve' WHERE row = 1",
    "owner": "UPDATE partition SET owner = 'eve' WHERE row = 1",
    "kind": "UPDATE partition SET kind = 'note' WHERE row = 1",
    "record's kind": "UPDATE record SET kind = 'key'",
    "record's key": "UPDATE record SET key = key || '.'",
    "name in the history": "UPDATE touched SET key = key || '.' WHERE key LIKE 'record/%'",
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_damage_is_found_and_rebuilt_from_the_journal(tmp_path: Path, damage: str) -> None:
    with open_encrypted(tmp_path) as alma:
        for number in range(3):
            alma.learn("dev", "Deploy the shop", "success", "Blue-green", idempotency_key=str(number))
        before = alma.content_hash()
    execute(tmp_path / "alma.db", DAMAGES[damage])
    with open_encrypted(tmp_path) as alma:
        assert not alma.verify().ok
        assert alma.verify(rebuild=True).ok
        assert alma.content_hash() == before
        assert alma.retrieve("Deploy the shop", "dev").total_items > 0


@pytest.mark.parametrize(
    "change",
    ["payload = zeroblob(40)", "salt = zeroblob(40)", "digest = zeroblob(60)", "actor = 'eve'", "operation = operation || '.'"],
)
def test_a_damaged_journal_record_is_reported(tmp_path: Path, change: str) -> None:
    with open_encrypted(tmp_path) as alma:
        alma.learn("dev", "Deploy the shop", "success")
    execute(tmp_path / "alma.db", f"UPDATE journal SET {change}")
    with open_encrypted(tmp_path) as alma:
        assert any("journal" in problem.place for problem in alma.verify().problems)


def test_a_damaged_data_key_is_damage_and_no_wrong_key(tmp_path: Path) -> None:
    open_encrypted(tmp_path).close()
    execute(tmp_path / "alma.db", """UPDATE store SET value = '{"cipher": "AES-256-GCM", "key": ""}' WHERE key = 'encryption'""")
    with pytest.raises(CorruptStoreError):
        open_encrypted(tmp_path)


def test_the_key_is_not_shown_with_the_request(tmp_path: Path) -> None:
    from alma.types.stored import StoreRequest

    request = StoreRequest(str(tmp_path), "alma.db", NOW, None, {}, lambda: HashEmbedder(16).fingerprint, KEY)
    assert "encryption_key" not in repr(request)
    assert str(KEY) not in repr(request)


def test_two_makers_of_one_encrypted_store_agree_on_one_data_key(tmp_path: Path) -> None:
    for _ in range(2):
        SQLStorage.create(tmp_path / "alma.db", HashEmbedder(16).fingerprint, at=NOW, key=KEY)
    with closing(SQLStorage(tmp_path / "alma.db", at=NOW, key=KEY)) as storage:
        assert storage.is_encrypted
    assert os.listdir(tmp_path) == ["alma.db"]
