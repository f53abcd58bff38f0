"""An encrypted store: nothing in its files can be read, and everything else is as in an open one."""

import contextlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from alma import ALMA, AsyncALMA, ConfigurationError
from alma.memory import room
from alma.memory.index_cache import IndexCache
from encrypted import KEY, OTHER_KEY, Words, open_encrypted, readable, write_everything, write_names
from facade import ManualClock

pytestmark = pytest.mark.not_on("file", "postgres", reason="only SQLite encrypts")

QUESTIONS = ("Deploy the shop", "Test the login form", "How do tokens expire?")


@pytest.fixture
def words() -> Words:
    return Words()


def fill(alma: ALMA) -> None:
    for number in range(12):
        outcome = "success" if number % 3 else "failure"
        alma.learn("dev", f"Deploy the shop, region {number % 4}", outcome, ("Blue-green", "In place")[number % 2])
    alma.add_domain_knowledge("dev", "auth", "Tokens expire after a day")
    alma.add_anti_pattern("dev", "Using sleep for waits", "Flaky tests", "Explicit waits")


@pytest.mark.slow
def test_no_text_is_readable_in_any_file_while_the_store_is_open_and_afterwards(tmp_path: Path, words: Words) -> None:
    with open_encrypted(tmp_path) as alma:
        write_everything(alma, words)
        assert (tmp_path / "alma.db-wal").stat().st_size > 0
        assert list(readable(tmp_path, words)) == []
        alma.backup(tmp_path / "copy.db")
        alma.compact()
        assert alma.verify().ok
        assert list(readable(tmp_path, words)) == []
    assert list(readable(tmp_path, words)) == []


def test_the_same_words_are_readable_in_an_open_store(tmp_path: Path, words: Words) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", embedding_dim=32) as alma:
        write_everything(alma, words)
    assert len({word for _, word in readable(tmp_path, words)}) > 0.9 * len(words.given)


@pytest.mark.slow
def test_names_alone_are_readable_in_any_file_while_the_store_is_open_and_afterwards(tmp_path: Path, words: Words) -> None:
    def look(alma: ALMA) -> None:
        assert (tmp_path / "alma.db-wal").stat().st_size > 0
        assert list(readable(tmp_path, words)) == []
        alma.backup(tmp_path / "copy.db")
        alma.compact()
        assert list(readable(tmp_path, words)) == []

    write_names(tmp_path, words, meanwhile=look)
    assert list(readable(tmp_path, words)) == []
    content = (tmp_path / "alma.db").read_bytes()
    hidden = [word for word in words.shown if word.encode() not in content]
    assert hidden == [words.shown[4]]  # of the user that was forgotten


def test_the_same_keys_are_readable_in_an_open_store(tmp_path: Path, words: Words) -> None:
    write_names(tmp_path, words, key=None)
    assert len({word for _, word in readable(tmp_path, words)}) > 0.8 * len(words.given)


def test_an_encrypted_store_answers_as_an_open_one(tmp_path: Path) -> None:
    told = []
    for key in (None, KEY):
        with open_encrypted(tmp_path / str(key is None), key=key, clock=ManualClock()) as alma:
            fill(alma)
            alma.forget(memory_ids=[min(alma.list_memories("outcome"), key=lambda outcome: outcome.text).id])
            told.append([alma.retrieve(question, "dev").to_prompt() for question in QUESTIONS])
    assert told[0] == told[1]


def test_what_was_stored_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    with open_encrypted(tmp_path) as alma:
        fill(alma)
        before = [alma.retrieve(question, "dev").ids for question in QUESTIONS]
    with open_encrypted(tmp_path) as alma:
        assert [alma.retrieve(question, "dev").ids for question in QUESTIONS] == before
        assert alma.verify().ok


def test_the_words_of_changed_and_archived_memories_are_searched_no_more(tmp_path: Path) -> None:
    with open_encrypted(tmp_path) as alma:
        fill(alma)
        fact = alma.add_domain_knowledge("dev", "auth", "Zanzibar tokens")
        assert fact.id in alma.retrieve("Zanzibar", "dev").ids
        alma.forget(memory_ids=[fact.id])
        assert fact.id not in alma.retrieve("Zanzibar", "dev").ids
        alma.undo(to=alma.history(fact.id)[0].seq)
        assert fact.id in alma.retrieve("Zanzibar", "dev").ids
        alma.purge([fact.id])
        assert fact.id not in alma.retrieve("Zanzibar", "dev").ids


@pytest.mark.slow
def test_what_another_process_learned_is_found_at_once(tmp_path: Path) -> None:
    program = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", encryption_key=bytes.fromhex(sys.argv[2])) as alma:
    print(alma.add_domain_knowledge("dev", "auth", "Zanzibar tokens last a week").id)
"""
    with open_encrypted(tmp_path) as alma:
        fill(alma)
        alma.retrieve("Zanzibar", "dev")
        made = subprocess.run(
            [sys.executable, "-c", program, tmp_path, KEY.hex()], capture_output=True, text=True, check=True, timeout=120
        ).stdout.strip()
        assert made in alma.retrieve("Zanzibar tokens", "dev").ids


def test_no_vector_snapshot_is_written_or_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "IndexCache", partial(IndexCache, wide_up_to=1, codes_above=1))
    for key, is_written in ((None, True), (KEY, False)):
        folder = tmp_path / str(is_written)
        with open_encrypted(folder, key=key) as alma:
            fill(alma)
            alma.retrieve("Deploy", "dev")
            store_id = alma.storage.id
        assert any(folder.glob("*.index")) is is_written
        (folder / f"{store_id}.0123.index").write_bytes(b"left by a former version")
        open_encrypted(folder, key=key).close()
        assert any(folder.glob("*.index")) is is_written


@pytest.mark.parametrize(("key", "told"), [(None, "is encrypted: give its key"), (OTHER_KEY, "is encrypted with another key")])
def test_a_missing_or_wrong_key_is_one_clear_error(tmp_path: Path, key: bytes | None, told: str) -> None:
    open_encrypted(tmp_path).close()
    with pytest.raises(ConfigurationError, match=told):
        open_encrypted(tmp_path, key=key)
    with open_encrypted(tmp_path) as alma:
        assert alma.verify().ok


def test_a_key_for_an_open_store_is_an_error_that_names_what_to_do(tmp_path: Path) -> None:
    open_encrypted(tmp_path, key=None).close()
    with pytest.raises(ConfigurationError, match="run `alma encrypt`"):
        open_encrypted(tmp_path)


def test_a_store_of_another_package_is_not_opened_with_a_key(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    (tmp_path / "alma.key").write_bytes(KEY)
    config.write_text("project_id: shop\nencryption: {key_file: alma.key}\n")
    with ALMA.from_config(config) as alma:
        alma.learn("dev", "Deploy the aardvark", "success")
    assert b"aardvark" not in b"".join(file.read_bytes() for file in tmp_path.rglob("alma.db*"))
    from alma.memory.opening import open_store

    given = {
        "db_name": "alma.db",
        "embedder": "hash",
        "embedding_dim": None,
        "agents": None,
        "scoring": None,
        "clock": ManualClock(),
    }
    with pytest.raises(ConfigurationError, match="does not encrypt"):
        open_store(tmp_path, **given, storage="elsewhere", encryption_key=KEY)  # type: ignore[arg-type] # the table above


async def _asynchronously(folder: Path) -> list[str]:
    async with AsyncALMA.open(folder, project_id="shop", embedding_provider="hash", encryption_key=lambda: KEY) as alma:
        made = await alma.learn("dev", "Deploy the shop", "success")
        found = await alma.retrieve("Deploy the shop", "dev")
        return [made.id, *found.ids]


def test_async_opens_with_a_key_as_well(tmp_path: Path) -> None:
    import asyncio

    made, *found = asyncio.run(_asynchronously(tmp_path))
    assert made in found


@pytest.mark.slow
def test_an_open_store_never_loads_the_cipher(tmp_path: Path) -> None:
    program = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash") as alma:
    alma.learn("dev", "Deploy", "success")
    alma.retrieve("Deploy", "dev")
print(any(name.partition(".")[0] == "cryptography" for name in sys.modules))
"""
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True, timeout=120)
    assert ended.stdout.strip() == "False"


def test_an_export_is_readable_and_comes_back(tmp_path: Path) -> None:
    with open_encrypted(tmp_path / "one") as alma:
        fill(alma)
        alma.export(tmp_path / "export.jsonl")
        held = alma.content_hash()
    assert "Blue-green" in (tmp_path / "export.jsonl").read_text()
    with open_encrypted(tmp_path / "two", key=OTHER_KEY) as alma:
        alma.import_from(tmp_path / "export.jsonl")
        assert alma.content_hash() == held


def test_threads_learn_and_search_at_once(tmp_path: Path) -> None:
    def work(number: int) -> bool:
        made = alma.add_domain_knowledge("dev", "auth", f"Zanzibar token {number}")
        return made.id in alma.retrieve(f"Zanzibar token {number}", "dev", top_k=40).ids

    with open_encrypted(tmp_path) as alma, ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(32)))
        assert alma.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_searches_on(tmp_path: Path) -> None:
    with open_encrypted(tmp_path) as alma:
        fill(alma)
        before = alma.retrieve("Deploy the shop", "dev").ids
        child = os.fork()
        if not child:  # no exception may reach the test runner twice
            with contextlib.suppress(BaseException):
                alma.add_domain_knowledge("dev", "auth", "Zanzibar tokens")
                is_found = alma.retrieve("Zanzibar", "dev").total_items > 0
                os._exit(0 if is_found and alma.retrieve("Deploy the shop", "dev").ids == before else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert alma.retrieve("Zanzibar", "dev").total_items > 0


def test_an_encrypted_store_is_not_moved_as_it_is(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", encryption_key=b"k" * 32) as alma:
        alma.learn("dev", "Deploy", True)
        with pytest.raises(ConfigurationError, match="alma decrypt"):
            alma.migrate(str(tmp_path / "other.db"))
        assert not (tmp_path / "other.db").exists()
