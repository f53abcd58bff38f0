"""`verify` passes on a sound store, and names the culprit on one that was tampered with."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from alma.errors import AlmaError
from alma.journal import Change, JournalRecord, decode_payload, encode_payload, payload_digest, replay, reversed_changes
from alma.storage.sqlite.store import SQLStorage
from alma.types import Passage, VerifyReport
from stores import NOW, TASK, Filled, execute, fill, open_alma, rows


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def store(filled: Filled, tmp_path: Path) -> Filled:
    """A copy to tamper with."""
    return Filled(Path(shutil.copy(filled.path, tmp_path / "alma.db")), filled.ids)


def verified(path: Path) -> VerifyReport:
    with closing(SQLStorage(path, at=NOW)) as storage:
        return storage.verify()


def told(path: Path) -> str:
    return "\n".join(map(str, verified(path).problems))


def test_a_store_with_everything_in_it_passes(filled: Filled) -> None:
    report = verified(filled.path)

    assert (report.problems, report.ok) == ((), True)
    assert (report.projects, report.records, report.memories, report.purged) == (2, 10, 6, 0)
    assert report.vectors == 9  # one for each text, two of them strategies; the fact is in three passages, two of them alike
    assert report.heads == stored_heads(filled.path)


def test_verifying_changes_nothing(store: Filled) -> None:
    before = store.path.read_bytes()

    verified(store.path)
    assert store.path.read_bytes() == before


MEMORY = "SELECT row FROM memory WHERE id = '{outcome}'"
SECOND, THIRD = ("WHERE project = 1 AND seq = 2", "WHERE project = 1 AND seq = 3")
OF_OUTCOME = f"WHERE memory = ({MEMORY})"
VECTOR_OF_OUTCOME = f"WHERE text_hash = (SELECT text_hash FROM passage {OF_OUTCOME})"
TAMPERINGS = {
    "a byte of a body": (
        ["UPDATE memory SET body = CAST(replace(CAST(body AS TEXT), 'login', 'logim') AS BLOB) WHERE id = '{outcome}'"],
        "shop: memory {outcome}: differs from the journal in body",
    ),
    "a body that is no JSON": (
        ["UPDATE memory SET body = X'7B' WHERE id = '{outcome}'"],
        "shop: memory {outcome}: is not readable",
    ),
    "a body that is no UTF-8": (
        ["UPDATE memory SET body = X'FF' WHERE id = '{outcome}'"],
        "shop: memory {outcome}: is not readable",
    ),
    "a confidence": (
        ["UPDATE memory SET confidence = 0.5 WHERE id = '{heuristic}'"],
        "shop: memory {heuristic}: differs from the journal in confidence",
    ),
    "a number of trials": (
        ["UPDATE memory SET trials = 9 WHERE id = '{anti_pattern}'"],
        "memory {anti_pattern}: differs from the journal in trials",
    ),
    "a time": (
        ["UPDATE memory SET seen_at = seen_at + 1 WHERE id = '{lab}'"],
        "lab: memory {lab}: differs from the journal in seen_at",
    ),
    "an archiving": (
        ["UPDATE memory SET archived_at = 1 WHERE id = '{lab}'"],
        "lab: memory {lab}: differs from the journal in archived_at",
    ),
    "a content hash": (
        ["UPDATE memory SET content_hash = X'00' WHERE id = '{lab}'"],
        "lab: memory {lab}: differs from the journal in content_hash",
    ),
    "an author": (
        ["UPDATE memory SET agent = 'mallory' WHERE id = '{lab}'"],
        "lab: memory {lab}: differs from the journal in agent",
    ),
    "an id": (
        ["UPDATE memory SET id = 'forged' WHERE id = '{lab}'"],
        "lab: memory forged: is in no journal record",
    ),
    "an owner": (
        ["UPDATE partition SET owner = 'mallory' WHERE owner = 'u1'"],
        "memory {preference}: differs from the journal in owner",
    ),
    "a lost partition": (["DELETE FROM partition WHERE owner = 'u1'"], "shop: memory {preference}: is not readable"),
    "the place in the order of records": (
        ["UPDATE memory SET seq = 999 WHERE id = '{outcome}'"],
        "shop: memory {outcome}: differs from the journal in seq",
    ),
    "a passage hidden from the index": (
        [f"UPDATE passage SET seq = 999 {OF_OUTCOME}"],
        "shop: passage {outcome}/0: differs from the journal in seq",
    ),
    "a memory taken away": (
        ["DELETE FROM memory WHERE id = '{outcome}'"],
        "shop: memory {outcome}: is in the journal, but its row is gone",
    ),
    "a stranger among the memories": (
        [
            "INSERT INTO memory SELECT 99, project, 'stranger', partition, agent, body, confidence, successes, trials, seen_at, created_at, "
            "updated_at, archived_at, content_hash, seq FROM memory WHERE id = '{outcome}'"
        ],
        "shop: memory stranger: is in no journal record",
    ),
    "a memory moved to another project": (
        ["UPDATE memory SET project = 2 WHERE id = '{outcome}'"],
        "lab: memory {outcome}: is in no journal record",
    ),
    "the text of a passage": (
        [f"UPDATE passage SET text = X'41' {OF_OUTCOME}"],
        "shop: passage {outcome}/0: is not readable: its text",
    ),
    "keywords": (
        [f"UPDATE passage SET keywords = X'41' {OF_OUTCOME}"],
        "passage {outcome}/0: differs from the journal in keywords",
    ),
    "a speaker": (
        [f"UPDATE passage SET speaker = X'41' {OF_OUTCOME}"],
        "passage {outcome}/0: differs from the journal in speaker",
    ),
    "a passage made a tombstone": (
        [f"UPDATE passage SET is_live = 0 {OF_OUTCOME}"],
        "passage {outcome}/0: differs from the journal in is_live",
    ),
    "a passage without its vector": (
        [f"UPDATE passage SET text_hash = NULL {OF_OUTCOME}"],
        "passage {outcome}/0: differs from the journal in text_hash",
    ),
    "a passage taken away": (
        [f"DELETE FROM passage {OF_OUTCOME}"],
        "shop: passage {outcome}/0: is in the journal, but its row is gone",
    ),
    "a passage of nobody": ([f"UPDATE passage SET memory = 99 {OF_OUTCOME}"], "passage of row 99/0: is in no journal record"),
    "the first journal record": (
        ["DELETE FROM journal WHERE project = 1 AND seq = 1"],
        "shop: journal record 2: record 1 is missing; the next one is 2",
    ),
    "a journal record in the middle": (
        ["DELETE FROM journal WHERE project = 1 AND seq = 4"],
        "shop: journal record 5: record 4 is missing",
    ),
    "the last journal record": (
        ["DELETE FROM journal WHERE project = 1 AND seq = 9"],
        "shop: journal record 9: the newest record should be 9; the journal ends at 8",
    ),
    "the last journal record and the head": (
        [
            "DELETE FROM journal WHERE project = 2 AND seq = 1",
            "UPDATE project SET head_seq = 0, head_hash = zeroblob(32) WHERE name = 'lab'",
        ],
        "lab: memory {lab}: is in no journal record",
    ),
    "two journal records swapped": (
        [
            f"UPDATE journal SET (place, seq) = (place + 97, 99) {SECOND}",
            f"UPDATE journal SET (place, seq) = (place - 1, 2) {THIRD}",
            "UPDATE journal SET (place, seq) = (place - 96, 3) WHERE seq = 99",
        ],
        "shop: journal record 2: record 2 does not follow from the record before it",
    ),
    "the numbers of two journal records swapped": (
        [
            f"UPDATE journal SET seq = 99 {SECOND}",
            f"UPDATE journal SET seq = 2 {THIRD}",
            "UPDATE journal SET seq = 3 WHERE seq = 99",
        ],
        "shop: journal record 3: record 2 is missing; the next one is 3",
    ),
    "a journal record of another place": (
        [f"UPDATE journal SET place = place + 97 {SECOND}"],
        "shop: journal record 3: record 2 is missing; the next one is 3",
    ),
    "two payloads swapped": (
        [
            f"CREATE TEMP TABLE other AS SELECT payload, salt, digest FROM journal {SECOND}",
            "UPDATE journal SET (payload, salt, digest) = (SELECT payload, salt, digest FROM journal WHERE project = 1 AND seq = 3) "
            f"{SECOND}",
            f"UPDATE journal SET (payload, salt, digest) = (SELECT * FROM other) {THIRD}",
        ],
        "shop: journal record 2: record 2 does not follow from the record before it",
    ),
    "a payload": (
        [f"UPDATE journal SET payload = X'5B5D' {SECOND}"],
        "shop: journal record 2: the payload of record 2 was changed",
    ),
    "a payload that cannot be read": (
        [f"UPDATE journal SET payload = X'FF' {SECOND}"],
        "shop: journal record 2: the payload of journal record 2 is not readable",
    ),
    "a salt": ([f"UPDATE journal SET salt = X'00' {SECOND}"], "shop: journal record 2: the payload of record 2 was changed"),
    "a digest": ([f"UPDATE journal SET digest = X'00' {SECOND}"], "shop: journal record 2: the payload of record 2 was changed"),
    "a hash": ([f"UPDATE journal SET hash = X'00' {SECOND}"], "shop: journal record 2: record 2 does not follow"),
    "an actor": ([f"UPDATE journal SET actor = 'mallory' {SECOND}"], "shop: journal record 2: record 2 does not follow"),
    "the time of a record": ([f"UPDATE journal SET at = at + 1 {SECOND}"], "shop: journal record 2: record 2 does not follow"),
    "an operation": ([f"UPDATE journal SET operation = 'forget' {SECOND}"], "shop: journal record 2: record 2 does not follow"),
    "the number of the head": (
        ["UPDATE project SET head_seq = 12 WHERE name = 'shop'"],
        "shop: journal record 12: the newest record should be 12",
    ),
    "the hash of the head": (
        ["UPDATE project SET head_hash = X'00' WHERE name = 'shop'"],
        "shop: journal record 9: the newest record",
    ),
    "the name of a project": (
        ["UPDATE project SET name = 'stop' WHERE name = 'shop'"],
        "stop: journal record 1: record 1 does not follow",
    ),
    "a vector": ([f"UPDATE vector SET vector = zeroblob(32) {VECTOR_OF_OUTCOME}"], "was changed; it belongs to memory {outcome}"),
    "a vector cut short": (
        [f"UPDATE vector SET vector = X'00' {VECTOR_OF_OUTCOME}"],
        "was changed; it belongs to memory {outcome}",
    ),
    "a vector taken away": ([f"DELETE FROM vector {VECTOR_OF_OUTCOME}"], "is missing; it belongs to memory {outcome}"),
    "a full-text entry taken away": (
        [f"INSERT INTO text_1 (text_1, rowid, text) SELECT 'delete', 2 * memory, CAST(text AS TEXT) FROM passage {OF_OUTCOME}"],
        "shop: full text: the word",
    ),
    "a full-text entry of nothing": (
        ["INSERT INTO text_1 (rowid, text) VALUES (198, 'x')"],
        "shop: full text: the word",
    ),
    "a full-text entry of other words": (
        [
            f"INSERT INTO text_1 (text_1, rowid, text) SELECT 'delete', 2 * memory, CAST(text AS TEXT) FROM passage {OF_OUTCOME}",
            f"INSERT INTO text_1 (rowid, text) SELECT 2 * memory, replace(CAST(text AS TEXT), 'login', 'logout') FROM passage {OF_OUTCOME}",
        ],
        "shop: full text: the word",
    ),
    "usage": (["UPDATE usage SET used = 9"], "shop: usage {outcome}: differs from the journal in used"),
    "usage taken away": (["DELETE FROM usage"], "shop: usage {outcome}: is in the journal, but its row is gone"),
    "usage that nobody reported": (
        ["INSERT INTO usage SELECT row, 1, 0, 0, 0, 0, 0 FROM memory WHERE id = '{knowledge}'"],
        "shop: usage {knowledge}: is in no journal record",
    ),
    "the body of a small record": (
        ["UPDATE record SET body = X'7B7D'"],
        "shop: record session/s1: differs from the journal in body",
    ),
    "the version of a small record": (
        ["UPDATE record SET version = 7"],
        "shop: record session/s1: differs from the journal in version",
    ),
    "a small record taken away": (["DELETE FROM record"], "shop: record session/s1: is in the journal, but its row is gone"),
    "an index": (["DROP INDEX passage_seq"], "index passage_seq: is missing or defined otherwise"),
    "a table": (["DROP TABLE removed"], "table removed: is missing or defined otherwise"),
    "a definition": (["ALTER TABLE removed ADD COLUMN more TEXT"], "table removed: is missing or defined otherwise"),
    "a trigger": (
        ["CREATE TRIGGER sneak AFTER INSERT ON memory BEGIN DELETE FROM usage; END"],
        "trigger sneak: is none of ALMA's",
    ),
    "a line of a history taken away": (
        ["DELETE FROM touched WHERE key = '{outcome}'"],
        "shop: history of {outcome}: does not list record",
    ),
    "a line of a history that is none": (
        ["INSERT INTO touched SELECT project, id, 8 FROM memory WHERE id = '{heuristic}'"],
        "shop: history of {heuristic}: lists record 8, which did not change it",
    ),
    "a payload erased by no purge": (
        ["UPDATE journal SET payload = NULL, salt = NULL WHERE seq = 2"],
        "shop: journal record 2: the payload of journal record 2 is gone without a purge",
    ),
    "the words of the full text": (
        ["UPDATE text_1_data SET block = zeroblob(length(block)) WHERE id > 10"],
        "shop: full text: the word",
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_found_and_its_place_named(store: Filled, what: str) -> None:
    statements, problem = TAMPERINGS[what]
    execute(store.path, *(statement.format(**store.ids) for statement in statements))

    assert problem.format(**store.ids) in told(store.path)


@pytest.mark.parametrize("is_own", [True, False])
def test_other_words_of_one_of_many_memories_are_found(tmp_path: Path, is_own: bool) -> None:
    with open_alma(tmp_path) as alma:
        ids = [
            outcome.id
            for outcome in alma.learn_many([{"agent": "a", "task": f"Task {n}", "outcome": "success"} for n in range(8)])
        ]
        alma.add_domain_knowledge(
            "a", "zoo", "Fact", passages=[Passage(text="Mine"), Passage(text="Theirs", position=1, is_own=False)]
        )
        alma.forget(memory_ids=[ids[5]])
        assert alma.verify().ok
        row, words = (2, "Task 1") if is_own else (19, "Theirs")
        execute(
            tmp_path / "alma.db",
            f"INSERT INTO text_1 (text_1, rowid, text) VALUES ('delete', {row}, '{words}')",
            f"INSERT INTO text_1 (rowid, text) VALUES ({row}, 'Risk')",
        )
        assert "shop: full text: the word" in told(tmp_path / "alma.db")
        assert alma.verify(rebuild=True).ok
        assert told(tmp_path / "alma.db") == ""


def test_tampering_with_one_memory_blames_no_other(store: Filled) -> None:
    execute(store.path, *(statement.format(**store.ids) for statement in TAMPERINGS["a byte of a body"][0]))

    assert len(verified(store.path).problems) == 1


def test_a_byte_flipped_in_the_file_is_found_wherever_the_text_stands(store: Filled) -> None:
    data = store.path.read_bytes()
    places = [at for at in range(len(data)) if data.startswith(TASK.encode(), at)]
    found = [told_after(store.path, data, place + 5, 1) for place in places]

    outcome = store.ids["outcome"]
    assert len(places) >= 3
    holders = (f"memory {outcome}", f"passage {outcome}", "journal record 1")
    assert all(any(holder in text for holder in holders) for text in found)
    assert any(f"memory {outcome}: differs from the journal in body" in text for text in found)
    assert any(f"passage {outcome}/0: is not readable: its text is not the one that was embedded" in text for text in found)
    assert any("journal record 1: the payload of record 1 was changed" in text for text in found)


def told_after(path: Path, data: bytes, place: int, bits: int) -> str:
    """What verify tells of the data with some bits flipped at a place."""
    path.write_bytes(data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :])
    return told(path)


LOGICAL = ("project", "partition", "memory", "passage", "vector", "usage", "record", "journal")


def content(path: Path) -> dict[str, list[tuple[object, ...]]]:
    return {table: rows(path, f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in LOGICAL}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_byte_flipped_anywhere_is_told_or_harmless(store: Filled, seed: int) -> None:
    chance = Random(seed)
    data, sound = store.path.read_bytes(), content(store.path)
    filled = [place for place, byte in enumerate(data) if byte]
    for place in [*(chance.choice(filled) for _ in range(20)), *(chance.randrange(len(data)) for _ in range(5))]:
        bits = chance.randrange(1, 256)
        try:
            is_sound = not told_after(store.path, data, place, bits)
        except AlmaError:
            is_sound = False
        assert not is_sound or content(store.path) == sound, (place, bits)


def test_a_record_that_lost_its_hash_is_told(store: Filled) -> None:
    last = "SELECT max(seq) FROM journal WHERE project = 1"
    for change in ("replace(sql, 'hash BLOB NOT NULL', 'hash BLOB')", "replace(sql, 'hash BLOB', 'hash BLOB NOT NULL')"):
        with closing(sqlite3.connect(store.path)) as connection, connection:
            if "NOT NULL')" in change:
                connection.execute(f"UPDATE journal SET hash = NULL WHERE project = 1 AND seq = ({last})")
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(f"UPDATE sqlite_master SET sql = {change} WHERE name = 'journal'")
    assert f"journal record {rows(store.path, last)[0][0]}" in told(store.path)


def test_an_erased_payload_breaks_no_chain(store: Filled) -> None:
    execute(store.path, "UPDATE journal SET payload = NULL, salt = NULL WHERE project = 1 AND seq = 2")
    report = verified(store.path)

    assert report.heads == stored_heads(store.path)
    assert not [problem for problem in report.problems if "does not follow" in problem.what or "is missing" in problem.what]


def stored_heads(path: Path) -> dict[str, str]:
    return {name: head.hex() for name, head in rows(path, "SELECT name, head_hash FROM project")}


def test_problems_beyond_a_hundred_are_left_out(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        alma.learn_many([{"agent": "a", "task": f"Task {n}", "outcome": "success"} for n in range(150)])
    execute(tmp_path / "alma.db", "UPDATE memory SET confidence = 0.5")

    assert len(verified(tmp_path / "alma.db").problems) == 100


def test_verifying_sees_one_moment_while_others_write(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma, open_alma(tmp_path) as other:
        for number in range(20):
            other.learn("a", f"Task {number}", "success")
            assert alma.verify().problems == ()


def records(path: Path) -> list[JournalRecord]:
    columns = "name, seq, at, actor, operation, payload, salt, digest, hash"
    return [
        JournalRecord(*row)
        for row in rows(path, f"SELECT {columns} FROM journal JOIN project ON row = project ORDER BY project, seq")
    ]


def changes(record: JournalRecord) -> list[Change]:
    assert record.payload is not None
    return decode_payload(record.payload)


def test_every_record_of_a_real_store_is_canonical_and_undone_by_its_reverse(filled: Filled) -> None:
    for project in ("shop", "lab"):
        state: dict[tuple[str, str], dict[str, object]] = {}
        for record in records(filled.path):
            if record.project == project:
                before = {place: dict(row) for place, row in state.items()}
                replay(changes(record), state)
                undone = {place: dict(row) for place, row in state.items()}
                replay(reversed_changes(changes(record)), undone)
                assert undone == before
                assert encode_payload(changes(record)) == record.payload


def test_every_change_of_a_row_lists_the_same_columns_before_and_after(filled: Filled) -> None:
    for record in records(filled.path):
        for change in changes(record):
            assert change.before is None or set(change.before) == set(change.after or ())


def test_every_record_has_a_salt_of_its_own(filled: Filled) -> None:
    found = records(filled.path)

    assert len({record.salt for record in found}) == len(found)
    assert all(len(record.salt or b"") == 16 for record in found)
    assert [record.digest for record in found] == [payload_digest(record.salt or b"", record.payload or b"") for record in found]


def test_a_vector_in_the_place_of_another_is_found(store: Filled) -> None:
    execute(
        store.path,
        f"UPDATE vector SET (vector, checksum) = (SELECT vector, checksum FROM vector WHERE row = 9) {VECTOR_OF_OUTCOME}".format(
            **store.ids
        ),
    )
    assert "was changed; it belongs to memory" in told(store.path)
