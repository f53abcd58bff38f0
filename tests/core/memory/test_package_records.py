"""Small records of packages beside the core: versioned, journalled, redacted, forgotten with their user."""

from datetime import UTC, datetime

import pytest

from alma import ALMA, ConflictError, ValidationError
from alma.integration import Records, open_records
from purged import store_files

KIND = "workflow.checkpoint"


@pytest.fixture
def alma(tmp_path, stored_in):
    with ALMA.open(tmp_path / "store", project_id="p", embedding_provider="hash", **stored_in(tmp_path / "store")) as opened:
        yield opened


@pytest.fixture
def records(alma) -> Records:
    return open_records(alma, KIND)


def test_a_record_is_found_in_another_process_s_view_with_its_version(alma, records, tmp_path, stored_in):
    records.put("deploy/1", {"step": 3}, actor="dev")
    with ALMA.open(tmp_path / "store", project_id="p", **stored_in(tmp_path / "store")) as other:
        found = open_records(other, KIND).get("deploy/1")
    assert found is not None
    assert (found.version, found.body) == (1, {"step": 3})


def test_the_second_of_two_writers_that_read_one_version_gets_a_conflict_and_changes_nothing(records):
    records.put("a", {"by": "first"})
    records.put("a", {"by": "second"}, version=1)
    with pytest.raises(ConflictError):
        records.put("a", {"by": "third"}, version=1)
    assert records.get("a").body == {"by": "second"}


def test_several_records_are_stored_together_or_not_at_all(records):
    records.put("b", {"n": 1})
    with pytest.raises(ConflictError):
        records.put_many([("a", {"n": 1}, 0), ("b", {"n": 2}, 0)])
    assert records.get("a") is None


def test_records_are_listed_by_key_below_a_prefix_and_by_change(records):
    for key in ("x/2", "x/1", "y/1"):
        records.put(key, {})
    assert [record.key for record in records.listed(under="x")] == ["x/1", "x/2"]
    assert [record.key for record in records.listed(newest=1)] == ["y/1"]


@pytest.mark.not_on("postgres", reason="reads the files of a store")
def test_an_erased_record_leaves_no_word_in_the_store(alma, records, tmp_path):
    records.put("a", {"text": "zebrafish"})
    assert b"zebrafish" in store_files(tmp_path / "store")
    assert records.erase(["a", "unknown"]) == 1
    alma.compact()
    alma.close()
    assert b"zebrafish" not in store_files(tmp_path / "store")


def test_a_secret_in_a_body_is_replaced(records):
    stored = records.put("a", {"log": "used ghp_" + "a1B2" * 9})
    assert "ghp_a1" not in str(stored.body)
    assert records.get("a").body == stored.body


def test_forgetting_a_user_erases_the_records_of_that_user_alone(alma, records):
    records.put("a", {"user_id": "ann", "text": "one"})
    records.put("b", {"user_id": "bob", "text": "two"})
    alma.forget_user("ann")
    assert [record.key for record in records.listed()] == ["b"]


@pytest.mark.not_on("postgres", reason="reads the files of a store")
def test_a_record_that_refers_to_a_purged_memory_is_erased_with_it(alma, records, tmp_path):
    kept, purged = (alma.learn(agent="dev", task=f"Deploy {name}", outcome="success").id for name in ("cart", "auth"))
    records.put("one", {"references": [kept], "text": "zebra"})
    records.put("both", {"references": [kept, purged], "text": "ibex"})
    records.put("none", {"text": "lynx"})
    alma.forget(memory_ids=[purged], purge=True)
    assert [record.key for record in records.listed()] == ["none", "one"]
    alma.compact()
    alma.close()
    assert b"ibex" not in store_files(tmp_path / "store")


@pytest.mark.parametrize("references", ["text", [1], {"a": 1}, [[]], ["no such memory"]])
def test_references_that_are_no_ids_are_refused(records, references):
    with pytest.raises(ValidationError):
        records.put("a", {"references": references})


def test_an_export_of_a_user_or_agent_contains_their_records_and_no_others(alma, records, tmp_path):
    records.put("a", {"user_id": "ann", "agent": "dev"})
    records.put("b", {"user_id": "bob", "agent": "ops"})
    alma.export(tmp_path / "ann.jsonl", user_id="ann")
    alma.export(tmp_path / "ops.jsonl", agent="ops")
    assert '"key":"a"' in (tmp_path / "ann.jsonl").read_text().replace(" ", "")
    assert '"key":"b"' not in (tmp_path / "ann.jsonl").read_text().replace(" ", "")
    assert '"key":"b"' in (tmp_path / "ops.jsonl").read_text().replace(" ", "")


def test_a_whole_export_takes_records_to_another_store(alma, records, tmp_path, stored_in):
    records.put("a", {"step": 1})
    alma.export(tmp_path / "all.jsonl")
    with ALMA.open(tmp_path / "other", project_id="p", embedding_provider="hash", **stored_in(tmp_path / "other")) as other:
        other.import_from(tmp_path / "all.jsonl")
        assert open_records(other, KIND).get("a").body == {"step": 1}


def test_an_undo_brings_the_former_body_back(alma, records):
    records.put("a", {"step": 1})
    seq = alma.storage.project("p").head()
    records.put("a", {"step": 2}, version=1)
    alma.undo(to=seq)
    assert records.get("a").body == {"step": 1}


@pytest.mark.parametrize("kind", ["checkpoint", "Workflow.x", "a.b.c", "", None, "episode"])
def test_a_kind_without_a_dot_could_be_the_core_s_own_and_is_refused(alma, kind):
    with pytest.raises(ValidationError):
        open_records(alma, kind)


@pytest.mark.parametrize("body", [[], "text", {"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, {"x": "y" * 1_100_000}])
def test_a_body_that_json_cannot_carry_is_refused_and_nothing_is_stored(records, body):
    with pytest.raises(ValidationError):
        records.put("a", body)
    assert records.listed() == []


@pytest.mark.parametrize("version", [-1, True, "1", None])
def test_a_version_that_is_no_number_is_refused(records, version):
    with pytest.raises(ValidationError):
        records.put("a", {}, version=version)


def test_a_body_is_shown_as_it_would_be_stored_and_nothing_is_written(alma, records):
    before = alma.get_stats().journal_records
    body = {"log": "used ghp_" + "a1B2" * 9}
    shown = records.as_stored(body)
    assert alma.get_stats().journal_records == before
    assert records.put("a", body).body == shown


def test_every_opening_of_a_store_has_a_name_of_its_own(records, tmp_path, stored_in):
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", **stored_in(tmp_path)) as other:
        assert open_records(other, KIND).holder != records.holder == records.holder


def test_the_time_is_that_of_the_store_s_clock(tmp_path, stored_in):
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    with ALMA.open(
        tmp_path / "timed", project_id="p", embedding_provider="hash", clock=lambda: moment, **stored_in(tmp_path / "timed")
    ) as timed:
        assert open_records(timed, KIND).now() == moment
