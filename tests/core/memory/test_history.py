"""History: what every call did to a memory, told from the journal; and that what is forgotten is gone for other processes too."""

import json

import pytest

from alma import ALMA
from alma.errors import MemoryNotFoundError
from alma.storage.sqlite import files
from facade import START, ManualClock, OpenStore, Place
from other_process import OtherProcess
from stores import execute

SETUP = """
from alma import ALMA
alma = {opening}
def recall(task):
    return alma.retrieve(task, "helena").ids
"""


def test_a_memory_tells_what_was_done_to_it_oldest_first(alma: ALMA, clock: ManualClock) -> None:
    fact = alma.add_domain_knowledge("helena", "ops", "Deploys go blue-green")
    alma.learn("victor", "Cache the pages", "success")
    clock.advance(hours=1)
    alma.record_feedback(fact.id, signal="thumbs_up", agent="helena")
    alma.record_usage([fact.id], [fact.id], agent="helena")
    alma.edit(fact, fact="Deploys go canary", source="overheard")
    alma.forget("helena", memory_ids=[fact.id])
    alma.undo(5)
    alma.undo(0)

    entries = alma.history(fact.id)
    told = [(entry.seq, entry.actor, entry.operation, entry.what) for entry in entries]
    assert told == [
        (1, "helena", "add_domain_knowledge", "made"),
        (3, "helena", "record_feedback", "used"),
        (4, "helena", "record_usage", "used"),
        (5, "helena", "edit", "changed"),
        (6, "helena", "forget", "archived"),
        (7, "", "undo", "brought back"),
        (8, "", "undo", "removed"),
    ]
    assert entries[0].changed["fact"].model_dump() == {"old": None, "new": "Deploys go blue-green"}
    assert entries[0].changed["passage 0.text"].new.startswith("Deploys go")
    assert entries[1].at == clock.now
    assert entries[1].changed["usage.thumbs_up"].model_dump() == {"old": None, "new": 1}
    assert {name: (r.old, r.new) for name, r in entries[2].changed.items()} == {"usage.used": (0, 1)}
    changed = {name: (r.old, r.new) for name, r in entries[3].changed.items() if name != "updated_at"}
    assert changed.pop("seen_at") == (START, clock.now)
    assert changed == {
        "confidence": (1.0, 0.8),
        "fact": ("Deploys go blue-green", "Deploys go canary"),
        "passage 0.text": ("Deploys go blue-green", "Deploys go canary"),
        "source": ("user_stated", "overheard"),
    }
    assert entries[4].changed["archived_at"].new == clock.now
    assert entries[5].changed["archived_at"].old == clock.now
    json.dumps([entry.model_dump(mode="json") for entry in entries])


def test_the_first_entry_says_in_which_episode_it_was_learned(alma: ALMA) -> None:
    with alma.episode(agent="helena", task="Deploy the service") as episode:
        episode.succeed(strategy="Go blue-green")
    (made,) = alma.list_memories()

    assert alma.history(made.id)[0].episode_id == episode.id


def test_a_memory_that_never_was_has_no_history(alma: ALMA) -> None:
    purged = alma.learn("helena", "Deploy", "success")
    alma.purge([purged.id])
    for wanted in ("nobody", "purge", "record/x", ""):
        with pytest.raises(MemoryNotFoundError, match="never had"):
            alma.history(wanted)


@pytest.mark.not_on("postgres", reason="counts SQLite's statements")
def test_a_memory_of_many_calls_is_found_without_reading_the_whole_journal(alma: ALMA, place: Place) -> None:
    rule = alma.add_heuristic("helena", "On deploy", "Go blue-green")
    alma.learn_many({"agent": "helena", "task": f"Task {n}", "outcome": "success"} for n in range(500))
    (database,) = place.folder.rglob("alma.db")
    execute(database, "UPDATE journal SET payload = X'00' WHERE seq = 2")  # would not be readable

    assert [entry.what for entry in alma.history(rule.id)] == ["made"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["forget", "purge", "undo"])
def test_what_one_process_takes_away_is_gone_at_once_in_another_that_runs(open_store: OpenStore, place: Place, how: str) -> None:
    alma = open_store()
    others = [alma.learn("helena", f"Repair the printer {n}", "success").id for n in range(3)]
    mark = alma.get_stats().journal_records
    gone = alma.learn("helena", "Deploy the service at night", "success").id
    with OtherProcess(SETUP.format(opening=place.opening)) as other:
        assert gone in eval(other.ask("recall('Deploy the service at night')"))
        match how:
            case "forget":
                alma.forget(memory_ids=[gone])
            case "purge":
                alma.purge([gone])
            case _:
                alma.undo(mark)
        for task in ("Deploy the service at night", "Repair the printer deploy night"):
            assert gone not in eval(other.ask(f"recall({task!r})"))
        assert set(others) == set(eval(other.ask("recall('Repair the printer')")))
        assert other.ask("alma.get_stats().total") == "3"
        assert "MemoryNotFoundError" in other.ask(f"alma.get({gone!r})")
        assert other.ask(f"alma.record_usage([{gone!r}], [], agent='helena').unknown") == repr((gone,))
        if how != "purge":
            other.ask("alma.undo(alma.get_stats().journal_records - 1)")
            assert gone in alma.retrieve("Deploy the service at night", "helena").ids


@pytest.mark.slow
@pytest.mark.not_on("file", "postgres", reason="is about the log of SQLite's file")
def test_a_process_in_the_middle_of_reading_keeps_the_log_from_being_emptied_and_the_report_says_so(
    open_store: OpenStore, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE_MS", 10)
    alma = open_store()
    secret = alma.learn("helena", "Deploy the service", "success")
    with OtherProcess(SETUP.format(opening=place.opening)) as other:
        other.ask("[look := alma.storage.project('shop').moment()]")
        other.ask("[look.__enter__(), alma.list_memories()]")
        alma.purge([secret.id])
        assert not alma.compact().is_whole

        other.ask("look.__exit__(None, None, None)")
        assert alma.compact().is_whole
