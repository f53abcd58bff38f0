"""What is remembered of a project's words says what reading them anew says, whatever was written since."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma.protocols import CommonWords, Project, Store
from alma.retrieval.fusion import COMMON
from alma.storage.relational import text_index
from alma.storage.relational.text_index import MOST_TAKEN_IN
from alma.storage.sqlite.store import SQLStorage
from alma.testing import MockEmbedder, make_outcome
from alma.types.memories import Memory, Passage, passages_of
from alma_testing.clocks import START
from alma_testing.contracts.stored import AT, add, row_of, text_scores, vectors_for
from statements import next_connection

WORDS = ("deploy", "deploying", "ledger", "website", "agreed", "naïve", "v2.1")
FEW = CommonWords(number=3, share=0.0, newest=2)
"""A word that more than three memories hold is common already."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the one store of a test, each time as another process would: without anything remembered."""
    path, stores = tmp_path / "alma.db", []
    SQLStorage.create(path, MockEmbedder(16).fingerprint, at=START)

    def open_it() -> Store:
        stores.append(SQLStorage(path, at=START))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def scores(project: Project, *words: str, owners: Sequence[str] | None = None, common: CommonWords = COMMON) -> dict[int, float]:
    found = text_scores(project, *words, owners=owners, common=common)
    return dict(zip(found.memories.tolist(), found.scores.tolist(), strict=True))


def archive(project: Project, memory: Memory, *, at: int | None) -> None:
    with project.write(actor="agent", operation="archive", at=AT + 1) as write:
        write.change_memory(memory.id, archived_at=at)


def reword(store: Store, project: Project, memory: Memory, text: str) -> None:
    """Says it in other words, and keeps nothing of what others said."""
    changed = memory.model_copy(update={"task_description": text})
    passages = passages_of(changed)
    with project.write(actor="agent", operation="edit", at=AT + 1) as write:
        write.replace(changed, passages, vectors_for(store, passages))


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
steps = st.one_of(
    st.tuples(st.just("add"), texts),
    st.tuples(st.just("add of others"), texts),
    st.tuples(st.just("add by bob"), texts),
    st.tuples(st.just("archive"), st.integers(0, 9)),
    st.tuples(st.just("bring back"), st.integers(0, 9)),
    st.tuples(st.just("purge"), st.integers(0, 9)),
    st.tuples(st.just("reword"), texts),
    st.tuples(st.just("ask"), texts),
)


@pytest.mark.slow
def test_scores_are_those_of_a_process_that_remembers_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:

    @settings(max_examples=60)
    @given(made=st.lists(steps, min_size=4, max_size=14))
    def holds(made: list[tuple[str, str | int]]) -> None:
        take_steps(tmp_path_factory.mktemp("words") / "alma.db", made)

    holds()


def take_steps(path: Path, made: list[tuple[str, str | int]]) -> None:
    SQLStorage.create(path, MockEmbedder(16).fingerprint, at=START)
    store, memories = SQLStorage(path, at=START), []
    project = store.project("shop")
    for name, given_to_it in (("add", "deploy ledger"), ("ask", " ".join(WORDS)), *made, ("ask", " ".join(WORDS))):
        if name.startswith("add"):
            agent = "bob" if name == "add by bob" else "ann"
            memories.append(make_outcome(agent=agent, task_description=str(given_to_it), strategy_used="ledger"))
            said = [Passage(text=str(given_to_it), is_own=False), Passage(text="deploy", position=1, keywords=str(given_to_it))]
            add(store, project, memories[-1], passages=said if name == "add of others" else ())
        elif name == "reword":
            reword(store, project, memories[-1], str(given_to_it))
        elif name == "ask":
            fresh = SQLStorage(path, at=START)
            asked = str(given_to_it).split()
            for owners, common in product((["ann"], ["ann", "bob"], ["eve"]), (COMMON, FEW)):
                anew = scores(fresh.project("shop"), *asked, owners=owners, common=common)
                assert scores(project, *asked, owners=owners, common=common) == anew
            fresh.close()
        elif len(memories) > 1:
            chosen = memories[int(given_to_it) % len(memories)]
            if name == "purge":
                memories.remove(chosen)
                project.purge([chosen.id], records=[], actor="agent", at=AT)
            else:
                archive(project, chosen, at=AT if name == "archive" else None)
    store.close()


def test_a_word_that_has_become_common_meanwhile_is_left_out_as_if_it_always_was(opened: Callable[[], Store]) -> None:
    store = opened()
    project = store.project("shop")
    add(store, project, *(make_outcome(task_description="deploy", strategy_used="") for _ in range(FEW.number - 1)))
    rare = make_outcome(task_description="Deploy the ledger", strategy_used="")
    add(store, project, rare)
    assert len(scores(project, "deploy", "ledger", common=FEW)) == FEW.number
    add(store, project, make_outcome(task_description="deploy", strategy_used=""))
    for _ in range(2):
        assert list(scores(project, "deploy", "ledger", common=FEW)) == [row_of(project, rare)]


def test_a_word_is_common_in_one_scope_and_not_in_another_whoever_asks_first(opened: Callable[[], Store]) -> None:
    store = opened()
    project = store.project("shop")
    crowd = [make_outcome(agent="crowd", task_description=f"deploy {n}", strategy_used="") for n in range(300)]
    mine = [
        make_outcome(agent="ann", task_description=text, strategy_used="") for text in ("Deploy the ledger", "Deploy", "Ledger")
    ]
    add(store, project, *crowd[:150], *mine, *crowd[150:])
    both = [row_of(project, memory) for memory in mine]
    for owners_in_turn in (["ann"], ["crowd", "ann"]), (["crowd", "ann"], ["ann"]):
        again = opened().project("shop")
        found = {len(owners): list(scores(again, "deploy", "ledger", owners=owners, common=FEW)) for owners in owners_in_turn * 2}
        assert found == {1: both, 2: [both[0], both[2]]}


def asking_full_text(store: Store) -> list[str]:
    """The questions to the full text from now on."""
    assert isinstance(store, SQLStorage)
    asked: list[str] = []
    next_connection(store.database).set_trace_callback(lambda said: asked.append(said) if "words_1" in said else None)
    return asked


def test_a_list_is_read_once_and_takes_in_what_is_written(opened: Callable[[], Store]) -> None:
    store = opened()
    project, writing = store.project("shop"), opened()
    first = make_outcome(task_description="Deploy the ledger", strategy_used="")
    add(store, project, first)
    scores(project, "deploy", "ledger")
    asked = asking_full_text(store)
    assert len(scores(project, "ledger")) == 1
    add(store, project, make_outcome(task_description="Water the ledger", strategy_used=""))
    assert len(scores(project, "ledger")) == 2
    add(writing, writing.project("shop"), make_outcome(task_description="A ledger, a ledger", strategy_used=""))
    assert len(scores(project, "ledger")) == 3
    assert asked == []
    archive(project, first, at=AT)
    assert len(scores(project, "ledger")) == 2
    assert scores(project, "ledger") == scores(opened().project("shop"), "ledger")


@pytest.mark.parametrize("written", [[1] * 20, [MOST_TAKEN_IN + 3], [2] * 3 + [MOST_TAKEN_IN + 3] + [2] * 3])
def test_lists_are_those_of_a_new_process_after_any_number_of_writes(opened: Callable[[], Store], written: list[int]) -> None:
    store = opened()
    project = store.project("shop")
    add(store, project, make_outcome(task_description="Deploy the ledger and water the website", strategy_used=""))
    scores(project, *WORDS)
    for number, count in enumerate(written):
        texts = [f"{' '.join(WORDS[at % len(WORDS) :])} {at}" for at in range(number, number + count)]
        add(store, project, *(make_outcome(task_description=text, strategy_used="") for text in texts))
        scores(project, "ledger")
    for common in (COMMON, FEW):
        assert scores(project, *WORDS, common=common) == scores(opened().project("shop"), *WORDS, common=common)


def test_lengths_that_another_process_knew_are_taken_and_caught_up_with(opened: Callable[[], Store]) -> None:
    store = opened()
    project = store.project("shop")
    for task in ("Deploy the ledger", "Deploy the website, not the old ledger"):
        add(store, project, make_outcome(task_description=task, strategy_used=""))
    scores(project, "ledger")
    lengths = project.text_lengths()
    other = opened()
    taking = other.project("shop")
    taking.hold_text_lengths(lengths)
    assert scores(taking, "ledger") == scores(project, "ledger")
    asked = asking_full_text(other)
    scores(taking, "ledger")
    assert asked == []  # lists are kept as of these lengths, too
    late = opened().project("shop")
    late.hold_text_lengths(lengths)
    add(store, project, make_outcome(task_description="Water the ledger of bob", strategy_used="", agent="bob"))
    for each in (taking, late):
        assert scores(each, "ledger") == scores(project, "ledger")
        assert each.text_lengths().memories.tolist() == project.text_lengths().memories.tolist()
    taking.hold_text_lengths(lengths)  # it knows more by now
    assert scores(taking, "ledger") == scores(project, "ledger")


def test_scores_are_equal_however_few_lists_are_kept(opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened()
    project = store.project("shop")
    for number in range(20):
        text = f"{' '.join(WORDS[number % len(WORDS) :])} deploy {number}"
        add(store, project, make_outcome(task_description=text, strategy_used=""))
    anew = scores(opened().project("shop"), *WORDS)
    for most in (0, 70, 200):
        monkeypatch.setattr(text_index, "MOST_KEPT", most)
        again = opened().project("shop")
        assert [scores(again, word) for word in WORDS] == [scores(opened().project("shop"), word) for word in WORDS]
        assert scores(again, *WORDS) == anew
