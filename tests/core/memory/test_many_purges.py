"""Purging much at once, or at the same time as another: what it costs does not grow with the number of memories, and each is told once."""

from collections.abc import Callable, Sequence

import pytest

from alma import ALMA
from alma.types.reports import ForgetReport
from facade import ManualClock, OpenStore
from statements import Trace, traced


def left(report: ForgetReport) -> Sequence[str]:
    assert report.receipt is not None
    return report.receipt.left


def learn_pages(alma: ALMA, count: int) -> list[str]:
    return [
        outcome.id for outcome in alma.learn_many({"agent": "a", "task": f"Page {n}", "outcome": "success"} for n in range(count))
    ]


def run_by(trace: Trace, call: Callable[[], object]) -> list[str]:
    """Returns the statements that a call makes SQLite run."""
    return [statement.sql for statement in trace.of(call)]


@pytest.mark.not_on("postgres", reason="counts SQLite's statements")
def test_no_row_of_others_is_searched_while_the_database_is_locked(open_store: OpenStore) -> None:
    with traced() as trace:
        alma = open_store()
        ids = learn_pages(alma, 3)
        told = run_by(trace, lambda: alma.purge(ids[:2]))

    locked = told[told.index("BEGIN IMMEDIATE") : told.index("COMMIT", told.index("BEGIN IMMEDIATE"))]
    assert not [statement for statement in locked if 'ORDER BY memory."row"' in statement]
    assert [statement for statement in told if 'ORDER BY memory."row"' in statement]


@pytest.mark.not_on("postgres", reason="counts SQLite's statements")
def test_a_journal_record_is_read_as_often_for_many_memories_as_for_one(open_store: OpenStore) -> None:
    reads = []
    with traced() as trace:
        alma = open_store()
        for count in (1, 30):
            project = alma.for_project(f"purging {count}")
            learn_pages(project, 40)
            ids = learn_pages(project, 40)[:count]  # of every task something is left
            told = run_by(trace, lambda project=project, ids=ids: project.purge(ids))  # type: ignore[misc] # of this round
            reads.append(sum("journal.payload" in statement for statement in told))

    assert 0 < reads[0] == reads[1]
    assert alma.verify().ok


@pytest.mark.not_on("postgres", reason="counts SQLite's statements")
def test_history_reads_no_purge_record_unless_something_of_it_was_purged(open_store: OpenStore) -> None:
    with traced() as trace:
        alma = open_store()
        ids = learn_pages(alma, 3)
        kept = alma.learn("a", "Deploy", "success")
        alma.purge(ids[:1])
        told = run_by(trace, lambda: alma.history(kept.id))

    assert told
    assert not [statement for statement in told if '["purge"]' in statement]
    assert [entry.what for entry in alma.history(kept.id)] == ["made"]
    assert [entry.what for entry in alma.history(ids[1])] == ["made"]


@pytest.mark.parametrize(
    "text", ["Zugzwang of the Quokka", 'A "quoted" line\nand a tab\t', "Ein Käse für 🦘 und mich", "no blanks: 12345678"]
)
def test_a_purged_text_is_found_inside_any_row_of_another(alma: ALMA, text: str) -> None:
    pages = learn_pages(alma, 30)
    secrets = [alma.add_domain_knowledge("a", "zoo", told) for told in (text, "Another thing that nobody repeats")]
    before = alma.add_domain_knowledge("a", "zoo", f"Before it: {text}; after it.")
    inside = alma.add_heuristic("a", "On visit", "Ask", metadata={"told": [text, secrets[1].id]})
    alma.add_heuristic("a", "On deploy", "Go", metadata={"told": text[1:]})

    found = left(alma.purge([secrets[0].id, *pages, secrets[1].id]))
    assert set(found) == {f"memory {before.id}", f"passage {before.id}/0", f"memory {inside.id}"}
    assert len(found) == 3


def test_of_two_callers_who_purge_one_memory_the_second_is_told_that_it_is_unknown(
    open_store: OpenStore, clock: ManualClock
) -> None:
    other = open_store()
    learned: list[str] = []

    def purged_meanwhile() -> object:
        if learned:  # the memory was found and is about to be purged
            other.purge([learned.pop()])
        return clock()

    alma = open_store(clock=purged_meanwhile)
    kept, gone = (alma.add_heuristic("a", f"On {n}", "Wait a little").id for n in ("retry", "deploy"))

    learned.append(gone)
    report = alma.purge([gone])
    assert (report.memory_ids, report.by_kind, report.unknown, report.seq, report.receipt) == ((), {}, (gone,), None, None)
    third = alma.add_heuristic("a", "On test", "Wait").id
    learned.append(kept)
    both = alma.purge([kept, third, gone])
    assert (both.by_kind, both.unknown) == ({"heuristic": 1}, (gone, kept))
    assert alma.verify().ok
