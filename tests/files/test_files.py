"""The file store: readable journals, in several processes, after crashes, merges and edits."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import ConfigurationError, CorruptStoreError, EmbedderMismatchError
from file_stores import TASK, head_of, journal_of, learned, opened

LEARNING = """
with ALMA.open(Path(sys.argv[1]), project_id="shop", storage="file", embedding_provider="hash") as alma:
    for number in range(100):
        alma.learn(sys.argv[2], f"Test {number} of {sys.argv[2]}", "success", f"Way {number} of {sys.argv[2]}")
"""


def test_what_was_learned_is_found_after_opening_again(tmp_path: Path) -> None:
    learned(tmp_path)
    with opened(tmp_path) as alma:
        assert "Try field 1" in str(alma.retrieve(f"{TASK} 1", "helena"))


def test_a_process_that_opens_a_store_builds_no_statement(tmp_path: Path) -> None:
    learned(tmp_path)
    script = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", storage="file", embedding_provider="hash") as alma:
    alma.learn("helena", "Try one more", "success")
print("sqlalchemy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_line_of_the_journal_is_a_record_in_plain_json(tmp_path: Path) -> None:
    learned(tmp_path, 1)
    (line,) = journal_of(tmp_path).read_text().splitlines()
    record = json.loads(line)
    assert (record["seq"], record["operation"], record["actor"]) == (1, "learn", "helena")
    assert "Try field 0" in line
    assert "vector" not in line


def test_two_open_stores_see_what_the_other_learned(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        one.learn("helena", TASK, "success", "Empty fields first")
        assert "Empty fields first" in str(two.retrieve(TASK, "helena"))
        two.learn("helena", TASK, "success", "Then the long ones")
        assert "Then the long ones" in str(one.retrieve(TASK, "helena"))


@pytest.mark.slow
def test_processes_that_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    learned(tmp_path, 1)
    script = "import sys; from alma import ALMA; from pathlib import Path\n" + LEARNING
    processes = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), f"agent{number}"]) for number in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    records = [json.loads(line) for line in journal_of(tmp_path).read_text().splitlines()]
    assert [record["seq"] for record in records] == list(range(1, 402))
    with opened(tmp_path) as alma:
        assert alma.verify().ok


def test_a_torn_last_line_is_cut_off_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    learned(tmp_path)
    whole = journal_of(tmp_path).read_bytes()
    for size in (1, len(whole) // 7, 20):
        journal_of(tmp_path).write_bytes(whole + whole[:size].replace(b"\n", b" "))
        caplog.clear()
        with caplog.at_level(logging.WARNING, "alma"), opened(tmp_path) as alma:
            assert alma.verify().ok
        assert "cut off" in caplog.text
        assert journal_of(tmp_path).read_bytes() == whole


def test_damage_in_the_middle_names_the_line(tmp_path: Path) -> None:
    learned(tmp_path)
    lines = journal_of(tmp_path).read_bytes().splitlines(keepends=True)
    journal_of(tmp_path).write_bytes(lines[0] + lines[1][:40] + b"\n" + lines[2])
    with pytest.raises(CorruptStoreError, match="line 2"):
        opened(tmp_path)


def test_an_edited_line_is_refused(tmp_path: Path) -> None:
    learned(tmp_path)
    journal_of(tmp_path).write_text(journal_of(tmp_path).read_text().replace("Try field 1", "Try nothing"))
    with pytest.raises(CorruptStoreError, match=r"line 2.*alma import"):
        opened(tmp_path)


def test_merged_branches_are_refused(tmp_path: Path) -> None:
    learned(tmp_path, 2)
    base, noted = journal_of(tmp_path).read_bytes(), head_of(tmp_path).read_bytes()
    with opened(tmp_path) as alma:
        alma.learn("helena", TASK, "success", "Ours")
    ours = journal_of(tmp_path).read_bytes()[len(base) :]
    journal_of(tmp_path).write_bytes(base)
    head_of(tmp_path).write_bytes(noted)
    with opened(tmp_path) as alma:
        alma.learn("helena", TASK, "success", "Theirs")
    theirs = journal_of(tmp_path).read_bytes()[len(base) :]
    for merged in (ours + theirs, b"<<<<<<< ours\n" + ours + b"=======\n" + theirs + b">>>>>>> theirs\n"):
        journal_of(tmp_path).write_bytes(base + merged)
        with pytest.raises(CorruptStoreError, match=r"line [34].*alma import"):
            opened(tmp_path)


def test_vectors_are_made_anew_where_the_cache_is_damaged_or_gone(tmp_path: Path) -> None:
    learned(tmp_path)
    (cache,) = (tmp_path / "alma.files" / "cache").glob("vectors-*.bin")
    data = cache.read_bytes()
    for damaged in (b"", data[:-3], b"\0" * len(data)):
        cache.write_bytes(damaged)
        with opened(tmp_path) as alma:
            assert "Try field 1" in str(alma.retrieve(f"{TASK} 1", "helena"))
            assert alma.verify().ok


def test_another_open_store_forgets_what_was_purged(tmp_path: Path) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        secret = one.learn("helena", TASK, "success", "The password is swordfish")
        one.learn("helena", TASK, "success", "Empty fields first")
        assert "swordfish" in str(two.retrieve(TASK, "helena"))
        one.purge([secret.id])
        assert "swordfish" not in journal_of(tmp_path).read_text()
        found = str(two.retrieve(TASK, "helena"))
        assert "swordfish" not in found
        assert "Empty fields first" in found
        assert two.verify().ok
        two.learn("helena", TASK, "success", "Then the long ones")
        assert one.verify().ok
    with opened(tmp_path) as alma:
        assert alma.verify().ok


def test_another_embedder_is_refused_naming_the_way(tmp_path: Path) -> None:
    learned(tmp_path)
    with pytest.raises(EmbedderMismatchError, match="alma reindex"):
        opened(tmp_path, embedding_dim=77)


def test_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not encrypt"):
        opened(tmp_path, encryption_key=bytes(32))


def test_a_store_moves_to_files_and_back_as_it_is(tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "sql", project_id="shop", embedding_provider="hash") as alma:
        alma.learn("helena", TASK, "success", "Empty fields first")
        gone = alma.learn("helena", TASK, "success", "The password is swordfish")
        alma.purge([gone.id])
        content = alma.content_hash()
        alma.migrate(f"file://{tmp_path / 'files'}")
    with opened(tmp_path / "files") as alma:
        assert alma.content_hash() == content
        assert alma.verify().ok
        alma.migrate(str(tmp_path / "back" / "alma.db"))
    with ALMA.open(tmp_path / "back", project_id="shop", embedding_provider="hash") as alma:
        assert alma.content_hash() == content
