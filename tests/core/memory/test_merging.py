"""Merging the export of a clone: what each side changed, counted, forgot and purged."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, ConflictError, CustomMemoryType, MemoryNotFoundError
from alma.journal import tombstone
from facade import ManualClock, OpenStore, exported, exported_lines, refused
from learned import counts
from lines import lines_of, write_lines

TASK = "Deploy the shop"


@pytest.fixture
def other(open_store: OpenStore) -> ALMA:
    """The clone."""
    return open_store("other")


def merge(source: ALMA, target: ALMA) -> ALMA:
    """Merges the export of one into the other."""
    target.import_from(file_of(source), on_conflict="merge")
    return target


def file_of(alma: ALMA) -> io.BytesIO:
    return io.BytesIO(exported(alma))


def test_a_verdict_that_was_settled_elsewhere_is_taken_over_and_counted(alma: ALMA, other: ALMA, clock: ManualClock) -> None:
    with alma.episode("dev", TASK, episode_id="e") as episode:
        episode.end("success", strategy="by hand")
    merge(alma, other)
    clock.advance(hours=1)
    other.settle("e", "failure")
    assert counts(merge(other, alma)) == {"by hand": (0, 1)}
    assert alma.get_episode("e").outcome == "failure"
    clock.advance(hours=1)
    alma.settle("e", "success")
    assert counts(merge(alma, other)) == {"by hand": (1, 1)}
    assert merge(other, alma).content_hash() == other.content_hash()
    assert alma.verify().ok


def test_an_episode_counts_once_for_what_was_used_in_it(alma: ALMA, other: ALMA, clock: ManualClock) -> None:
    rule = alma.add_heuristic("dev", TASK, "with care")
    attempt(alma, "shared", rule.id)
    merge(alma, other)
    for number in range(3):
        clock.advance(hours=1)
        attempt(alma, f"here {number}", rule.id)
        attempt(other, f"there {number}", rule.id)
    usage = usage_of(merge(other, alma), rule.id)
    assert (usage["used"], usage["credited_successes"], usage["credited_trials"]) == (7, 7.0, 7.0)
    assert merge(alma, other).content_hash() == alma.content_hash()


def usage_of(alma: ALMA, memory_id: str) -> Mapping[str, Any]:
    return next(line["usage"] for line in exported_lines(alma, "memory") if line["id"] == memory_id)


def attempt(alma: ALMA, name: str, used: str) -> None:
    with alma.episode("dev", TASK, episode_id=name) as episode:
        episode.used([used])
        episode.end("success")


def test_counts_of_no_episode_are_never_added_up(alma: ALMA, other: ALMA) -> None:
    rule = alma.add_heuristic("dev", TASK, "with care")
    merge(alma, other)
    for _ in range(2):
        alma.record_feedback(rule.id, signal="thumbs_up", agent="dev")
    for _ in range(3):
        other.record_feedback(rule.id, signal="thumbs_up", agent="dev")
    for _ in range(2):
        merge(other, alma)
    assert usage_of(alma, rule.id)["thumbs_up"] == 3


def test_what_was_decided_last_holds_whether_forgotten_or_changed(alma: ALMA, other: ALMA, clock: ManualClock) -> None:
    for name in ("forgotten first", "settled first"):
        with alma.episode("dev", TASK, episode_id=name) as episode:
            episode.end("success", strategy="by hand")
    merge(alma, other)
    first, second = (alma.get_episode(name).outcome_id or "" for name in ("forgotten first", "settled first"))
    clock.advance(hours=1)
    alma.forget(memory_ids=[first])
    other.settle("settled first", "failure")
    clock.advance(hours=1)
    other.settle("forgotten first", "failure")
    alma.forget(memory_ids=[second])
    merge(other, alma)
    assert alma.get(first).id == first
    with pytest.raises(MemoryNotFoundError):
        alma.get(second)
    assert counts(alma) == {"by hand": (0, 2)}


def test_purged_stays_purged_from_every_side_and_of_a_third_clone(alma: ALMA, other: ALMA, open_store: OpenStore) -> None:
    secret = alma.add_domain_knowledge("dev", "shop", "The code of the door is 1234")
    alma.learn("dev", TASK, "success", "by hand")
    third = merge(merge(alma, other), open_store("third"))
    before = file_of(other)
    alma.purge([secret.id])
    report = other.import_from(file_of(alma), on_conflict="merge")
    assert report.deleted == (secret.id,)
    assert other.content_hash() == alma.content_hash()
    other.import_from(before, on_conflict="merge")
    assert merge(third, other).content_hash() == alma.content_hash()
    assert merge(other, third).content_hash() == alma.content_hash()
    assert all(each.verify().ok for each in (alma, other, third))


def test_what_a_merge_deleted_can_be_brought_back_until_it_is_purged_here_too(alma: ALMA, other: ALMA) -> None:
    secret = alma.add_domain_knowledge("dev", "shop", "The code of the door is 1234")
    merge(alma, other)
    before = other.get_stats().journal_records
    alma.purge([secret.id])
    merge(alma, other)
    other.undo(to=before)
    assert other.get(secret.id) == secret.model_copy(update={"project_id": other.get(secret.id).project_id})
    merge(alma, other)
    other.purge([secret.id])
    assert "1234" not in "".join(str(entry.changes) for entry in other.storage.project("shop").entries())


def test_skipping_changes_and_deletes_nothing(alma: ALMA, other: ALMA) -> None:
    fact = alma.add_domain_knowledge("dev", "shop", "Prices are in cents")
    merge(alma, other)
    before = other.content_hash()
    alma.purge([fact.id])
    alma.add_domain_knowledge("dev", "shop", "It takes 4 minutes")
    other.import_from(file_of(alma), on_conflict="skip")
    assert other.get(fact.id).id == fact.id
    assert other.content_hash() != before


def test_an_id_that_stands_for_another_memory_is_a_conflict(alma: ALMA, other: ALMA) -> None:
    fact = alma.add_domain_knowledge("dev", "shop", "Prices are in cents")
    merge(alma, other)
    with alma.storage.project("shop").write(actor="", operation="test", at=1) as write:
        write.change_memory(fact.id, agent="eve")
    with refused(other, ConflictError, "is another one in the file"):
        merge(alma, other)


def test_a_merge_of_the_same_again_writes_nothing(alma: ALMA, other: ALMA) -> None:
    alma.learn("dev", TASK, "success", "by hand")
    merge(alma, other)
    records = other.get_stats().journal_records
    merge(alma, other)
    assert other.get_stats().journal_records == records


def test_a_file_that_says_that_a_kind_was_purged_takes_no_definition_from_its_memories(alma: ALMA, tmp_path: Path) -> None:
    alma.register_memory_type(CustomMemoryType(name="note", fields={"title": str}, embedding_fields=["title"]))
    alma.add("note", agent="dev", title="The shop is open")
    file = tmp_path / "export.jsonl"
    alma.export(file)
    head, *_, end = lines_of(file)
    salt = "ab" * 16
    digest = tombstone("record/memory_type/note", bytes.fromhex(salt))
    nothing = dict.fromkeys(head["counts"], 0)
    write_lines(file, [{**head, "counts": nothing}, {"type": "purge", "salt": salt, "digests": [digest]}, end])
    alma.import_from(file, on_conflict="merge")
    alma.export(file)
    assert [line["key"] for line in lines_of(file) if line.get("type") == "record"] == ["note"]
