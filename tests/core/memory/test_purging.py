"""Purging: nothing of the memory is left, in no table, in no journal record, and after compacting in no byte of the store's files."""

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, Heuristic, UserPreference
from alma.errors import ConflictError, MemoryNotFoundError, ValidationError
from alma.memory import opening
from alma.memory.index_cache import IndexCache, SnapshotFiles
from alma.memory.room import Room
from alma.protocols import Store
from alma.types import Passage
from alma.vectors import SnapshotIdentity
from facade import ManualClock, OpenStore, held
from purged import SECRET, WORDS, store_files, surfaces, traces, vector_of
from stores import Driver


@pytest.mark.not_on("file", "postgres", reason="counts what VACUUM frees in SQLite's file; a server's files are its own")
def test_after_purging_and_compacting_no_file_holds_a_byte_of_the_memory(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    alma.learn_many({"agent": "helena", "task": f"Test page {n}", "outcome": "success"} for n in range(300))
    secret = alma.add_domain_knowledge("helena", "zoo", SECRET, metadata={"about": "Quokka"})
    alma.learn_many({"agent": "helena", "task": f"Test form {n}", "outcome": "success"} for n in range(300))
    alma.record_usage([secret.id], [secret.id], agent="helena")
    alma.forget(memory_ids=[secret.id])
    alma.undo(alma.get_stats().journal_records - 1)
    vector = vector_of(alma, secret.text)
    id_bytes = secret.id.encode()
    assert traces(tmp_path / "store", vector, id_bytes)

    receipt = alma.purge([secret.id])
    compacted = alma.compact()

    assert traces(tmp_path / "store", vector, id_bytes) == []
    assert compacted.is_whole
    assert compacted.bytes_after < compacted.bytes_before
    found = surfaces(receipt)
    assert {name: found[name] for name in ("memory rows", "passages", "vectors", "full text", "usage")} == dict.fromkeys(
        ("memory rows", "passages", "vectors", "full text", "usage"), 1
    )
    assert found["journal payloads"] == 4
    assert {"vector snapshot", "free pages", "full-text segments", "write-ahead log", "exports, backups"} <= set(found)
    assert receipt.receipt is not None
    assert receipt.receipt.left == ()
    report = alma.verify()
    assert (report.problems, report.purged) == ((), 4)


@pytest.mark.not_on("postgres", reason="reads the files of a store")
def test_without_compacting_free_pages_hold_neither_text_nor_vector(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    secret = alma.add_domain_knowledge("helena", "zoo", SECRET * 400)
    vector = vector_of(alma, alma.history(secret.id)[0].changed["passage 0.text"].new)
    needles = (SECRET.encode(), vector, secret.id.encode())
    assert all(needle in store_files(tmp_path / "store") for needle in needles)
    alma.purge([secret.id])
    alma.close()  # the log goes into the file

    assert [needle for needle in needles if needle in store_files(tmp_path / "store")] == []


@pytest.mark.slow
@pytest.mark.not_on("file", "postgres", reason="measures SQLite's file")
def test_compacting_gives_back_the_space_of_what_was_purged(open_store: OpenStore, tmp_path: Path) -> None:
    alma, file = open_store(), tmp_path / "store" / "alma.db"
    learned = alma.learn_many({"agent": "helena", "task": f"Test page {n} " * 20, "outcome": "success"} for n in range(400))
    alma.compact()
    before = file.stat().st_size
    alma.purge([outcome.id for outcome in learned])
    alma.compact()

    assert file.stat().st_size < before / 4
    assert alma.verify().ok


def test_closing_does_not_bring_a_purged_vector_back_into_a_snapshot(tmp_path: Path) -> None:
    alma, other, third = (open_with_snapshots(tmp_path) for _ in range(3))
    secret = alma.add_heuristic("helena", SECRET, "Ask twice")
    for when in ("On deploy", "On release"):
        alma.add_heuristic("helena", when, "Go blue-green")
    row = alma.storage.project("shop").find([secret.id])[secret.id].memory
    for opened in (alma, other, third):
        opened.retrieve(SECRET, "helena")
    third.close()
    assert row in memories_in_snapshots(alma.storage, tmp_path)

    assert surfaces(alma.purge([secret.id]))["vector snapshot"] == 1
    alma.compact()
    assert not list(tmp_path.glob("*.index"))
    other.close()
    held = memories_in_snapshots(alma.storage, tmp_path)
    assert len(held) == 2
    assert row not in held
    alma.close()


def open_with_snapshots(folder: Path) -> ALMA:
    """A memory that has a snapshot of each kind of which it holds two memories or more."""
    store = opening.open_store(
        folder, db_name="alma.db", embedder="hash", embedding_dim=None, agents=None, scoring=None, clock=ManualClock()
    )
    project, (identity, path) = store.storage.project("shop"), snapshot_of(store.storage, folder)
    index = IndexCache(project, identity=identity, path=path, codes_above=1, wide_up_to=1)
    store.projects["shop"] = room = Room(store, project, index)
    return ALMA(room)


def snapshot_of(store: Store, folder: Path) -> tuple[SnapshotIdentity, Path]:
    return SnapshotIdentity(store.id, "shop", store.fingerprint), folder / f"{store.id}.shop.index"


def memories_in_snapshots(store: Store, folder: Path) -> list[int]:
    project = store.project("shop")
    files = SnapshotFiles(project, *snapshot_of(store, folder))
    kinds = {partition.kind for partition in project.partitions().values()}
    saved = [files.load_kind(kind, project.head()) for kind in sorted(kinds)]
    return [memory for found in saved if found is not None for memory in found[1]["memories"].tolist()]


def test_a_purged_memory_is_gone_from_every_call_and_no_undo_brings_it_back(alma: ALMA) -> None:
    kept = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    secret = alma.learn("helena", SECRET, "success")
    report = alma.purge([secret.id])

    assert (report.memory_ids, report.by_kind, report.unknown) == ((secret.id,), {"outcome": 1}, ())
    assert alma.get_stats().total == 1
    for call in (alma.get, alma.history):
        with pytest.raises(MemoryNotFoundError):
            call(secret.id)
    with pytest.raises(MemoryNotFoundError, match=r"has no memory .* any more: it was purged"):
        alma.history(secret.id)
    assert secret.id not in [memory.id for memory in alma.retrieve(SECRET, "helena")]

    undone = alma.undo(1)
    assert (undone.seq, undone.purged) == (None, 1)
    assert alma.undo(0).removed == (kept.id,)
    assert alma.verify().ok


def test_what_else_a_purged_record_says_stays_in_history_undo_and_verify(alma: ALMA) -> None:
    items = [{"agent": "helena", "task": f"{task} page", "outcome": "success"} for task in ("Test", SECRET, "Deploy")]
    first, secret, last = alma.learn_many(items)
    hashes = [alma.content_hash()]
    alma.record_usage([first.id, secret.id, last.id], [secret.id], agent="helena")
    alma.forget(memory_ids=[first.id, secret.id])
    before = {memory.id: alma.history(memory.id) for memory in (first, last)}

    assert surfaces(alma.purge([secret.id]))["journal payloads"] == 3

    assert {memory.id: alma.history(memory.id) for memory in (first, last)} == before
    assert alma.verify().problems == ()
    report = alma.undo(1)
    assert (report.brought_back, report.changed, report.purged) == ((first.id,), (last.id,), 2)
    assert alma.content_hash() != hashes[0]  # the secret is missing
    assert alma.undo(0).removed == tuple(sorted((first.id, last.id)))
    assert alma.content_hash() == alma.for_project("empty").content_hash()
    assert alma.verify().problems == ()


def test_purging_one_after_the_other_leaves_a_chain_that_verifies_and_words_of_none(
    open_store: OpenStore, tmp_path: Path
) -> None:
    alma = open_store()
    items = [{"agent": "helena", "task": f"{word} task", "outcome": "success"} for word in ("Giraffe", *WORDS, "Deploy")]
    learned = alma.learn_many(items)
    alma.record_usage([outcome.id for outcome in learned], [learned[0].id], agent="helena")
    for outcome in learned[1:4]:
        alma.purge([outcome.id])
        assert alma.verify().problems == ()
    alma.compact()

    assert traces(tmp_path / "store") == []
    assert [entry.what for entry in alma.history(learned[0].id)] == ["made", "used"]
    for outcome in learned[1:4]:
        with pytest.raises(MemoryNotFoundError, match="it was purged"):
            alma.history(outcome.id)
    assert alma.undo(0).removed == tuple(sorted((learned[0].id, learned[4].id)))
    assert alma.verify().problems == ()


def test_a_memory_whose_making_was_undone_can_be_purged_by_its_owner(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    secret = alma.add_anti_pattern("helena", SECRET, "It is loud")
    alma.undo(0)
    assert alma.purge([secret.id], agent="victor").unknown == (secret.id,)

    assert alma.purge([secret.id], agent="helena").memory_ids == (secret.id,)
    alma.compact()
    assert traces(tmp_path / "store") == []
    assert alma.verify().ok


def test_two_memories_that_say_the_same_share_a_vector_until_the_last_is_purged(alma: ALMA) -> None:
    one, two = (alma.add_heuristic("helena", SECRET, "Ask twice") for _ in range(2))

    first, second = (alma.purge([memory.id]) for memory in (one, two))
    assert (surfaces(first)["vectors"], surfaces(second)["vectors"]) == (0, 1)
    assert first.receipt is not None
    assert second.receipt is not None
    assert first.receipt.left == (f"passage {two.id}/0",)
    assert second.receipt.left == ()


def test_the_record_of_the_episode_goes_with_its_outcome(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    with alma.episode(agent="helena", task=SECRET) as episode:
        episode.step("deploy", ok=False, error="Zugzwang again")
        episode.fail(error="Quokka")
    made = [memory.id for memory in alma.list_memories()]
    assert len(made) == 2

    report = alma.purge(made)
    assert surfaces(report)["small records"]
    assert report.receipt is not None
    assert report.receipt.left == ()
    alma.compact()
    assert traces(tmp_path / "store") == []
    assert alma.verify().ok


def test_a_long_text_in_pieces_leaves_nothing_either(open_store: OpenStore, tmp_path: Path) -> None:
    alma = open_store()
    turns = [Passage(text=f"{SECRET} {n} " * 30, speaker="Quokka", position=n, is_own=n % 2 == 0) for n in range(9)]
    secret = alma.add_domain_knowledge("helena", "zoo", SECRET * 200, passages=turns)

    assert surfaces(alma.purge([secret.id]))["passages"] == 9
    alma.compact()
    assert traces(tmp_path / "store") == []


def test_unknown_ids_are_reported_and_a_dry_run_writes_nothing(alma: ALMA) -> None:
    secret = alma.learn("helena", SECRET, "success")
    before = held(alma)

    for report in (alma.purge([secret.id, "nobody"], dry_run=True), alma.forget(memory_ids=[secret.id, "nobody"], dry_run=True)):
        assert (report.memory_ids, report.unknown, report.seq, report.receipt) == ((secret.id,), ("nobody",), None, None)
    assert alma.purge(["nobody"]).seq is None
    assert held(alma) == before


@pytest.mark.not_on("file", "postgres", reason="damages SQLite's file")
def test_verify_names_a_payload_that_was_erased_by_no_purge(open_store: OpenStore, tmp_path: Path) -> None:
    import sqlite3

    alma = open_store()
    secret, other = alma.learn("helena", SECRET, "success"), alma.learn("helena", "Test", "success")
    alma.purge([secret.id])
    with closing(sqlite3.connect(tmp_path / "store" / "alma.db", isolation_level=None)) as connection:
        connection.execute("UPDATE journal SET payload = NULL, salt = NULL WHERE seq = 2")

    told = [str(problem) for problem in alma.verify().problems]
    assert "shop: journal record 2: the payload of journal record 2 is gone without a purge" in told
    assert f"shop: memory {other.id}: is in no journal record" in told
    assert not any(re.search("record 1\\b", line) for line in told)


def test_another_agents_memories_and_users_preferences_are_not_for_an_agent_to_forget(alma: ALMA, clock: ManualClock) -> None:
    mine = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    theirs = alma.add_heuristic("victor", "On retry", "Wait a little")
    users = alma.add_user_preference("helena", "style", "Strict mode", agent="helena")

    for forget in (alma.purge, lambda ids, agent: alma.forget(agent, memory_ids=ids)):
        report = forget([theirs.id, users.id], agent="helena")
        assert (report.memory_ids, set(report.unknown)) == ((), {theirs.id, users.id})
    assert alma.forget("helena", memory_ids=[mine.id]).memory_ids == (mine.id,)
    assert alma.get_stats().total == 2


def test_the_policy_takes_outcomes_by_age_and_beliefs_by_confidence(alma: ALMA, clock: ManualClock) -> None:
    old = alma.learn("helena", "Test the old page", "success")
    preference, weak, strong = alma.add_many(
        [
            UserPreference(user_id="u", category="style", preference="Strict mode", source="guessed", confidence=0.1),
            Heuristic(agent="helena", condition="On retry", strategy="Wait", confidence=0.2),
            Heuristic(agent="helena", condition="On deploy", strategy="Wait"),
        ]
    )
    clock.advance(days=91)
    new = alma.learn("helena", "Test the new page", "success")
    before = alma.content_hash()

    assert alma.forget("victor").total == 0
    assert alma.forget(older_than_days=None).memory_ids == (weak,)
    alma.undo(alma.get_stats().journal_records - 1)
    assert alma.forget(below_confidence=None).memory_ids == (old.id,)
    alma.undo(alma.get_stats().journal_records - 1)
    report = alma.forget()

    assert (set(report.memory_ids), report.by_kind) == ({old.id, weak}, {"heuristic": 1, "outcome": 1})
    shown = {memory.id for memory in alma.retrieve("Test the page on retry and deploy", "helena", user_id="u")}
    assert shown == {strong, new.id, preference}
    assert alma.forget().total == 0
    alma.undo(report.seq - 1)
    assert alma.content_hash() == before


@pytest.mark.parametrize(
    "given", [{"older_than_days": -1}, {"older_than_days": "9"}, {"below_confidence": 1.1}, {"below_confidence": float("nan")}]
)
def test_a_policy_that_makes_no_sense_is_refused(alma: ALMA, given: dict) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        alma.forget(**given)


def test_a_purge_of_a_memory_that_somebody_undoes_meanwhile_is_whole_or_absent(open_store: OpenStore) -> None:
    alma, other = open_store(), open_store()
    secret = alma.learn("helena", SECRET, "success")
    other.undo(0)

    assert alma.purge([secret.id]).memory_ids == (secret.id,)
    with pytest.raises((MemoryNotFoundError, ConflictError)):
        other.get(secret.id)
    assert other.undo(1).purged == 1
    assert other.verify().ok


@pytest.mark.parametrize(
    ("ask", "error"), [("get", MemoryNotFoundError), ("explain_retrieval", MemoryNotFoundError), ("settle", ConflictError)]
)
@pytest.mark.not_on("file", "postgres", reason="stops between two of SQLite's statements")
def test_what_is_purged_while_it_is_asked_for_is_an_error_of_alma(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, ask: str, error: type[Exception]
) -> None:
    driver = Driver()
    monkeypatch.setattr("sqlite3.connect", driver.connect)
    alma, other = open_store(), open_store()
    with alma.episode(agent="dev", task="Deploy") as episode:
        episode.succeed()
    outcome_id = alma.get_episode(episode.id).outcome_id
    preference = alma.add_user_preference("maria", "tone", "Short", agent="dev")
    asks: dict[str, Callable[[], Any]] = {
        "get": lambda: alma.get(preference.id),
        "explain_retrieval": lambda: alma.explain_retrieval("tone", preference.id),
        "settle": lambda: alma.settle(episode.id, "failure"),
    }

    def purge(statement: str) -> None:
        if "memory.body" in statement:
            driver.before = None
            other.purge(memory_ids=[preference.id, outcome_id])

    with driver.doing(purge), pytest.raises(error) as caught:
        asks[ask]()
    assert caught.type is error
    assert alma.list_memories() == []
