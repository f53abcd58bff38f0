"""What is remembered of a project's words says what reading them anew says, whatever was written since."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma.protocols import CommonWords, Project, Store
from alma.retrieval.bm25 import COMMON
from alma.storage.postings import NOWHERE, OVERHEAD, Postings
from alma.storage.store import SQLStorage
from alma.testing import MockEmbedder, make_outcome
from alma.testing.clocks import START
from alma.testing.contracts.stored import AT, add, row_of, text_scores, vectors_for
from alma.types.memories import Memory
from alma.types.passages import Passage, passages_of

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


@pytest.mark.parametrize("patience", [0, 3, 10_000])
def test_scores_are_those_of_a_process_that_remembers_nothing(tmp_path_factory: pytest.TempPathFactory, patience: int) -> None:
    """`patience` is how many lists are read one by one before all are."""

    @settings(max_examples=25)
    @given(made=st.lists(steps, min_size=4, max_size=14))
    def holds(made: list[tuple[str, str | int]]) -> None:
        take_steps(tmp_path_factory.mktemp("words") / "alma.db", made, patience)

    holds()


def take_steps(path: Path, made: list[tuple[str, str | int]], patience: int) -> None:
    SQLStorage.create(path, MockEmbedder(16).fingerprint, at=START)
    store, memories = SQLStorage(path, at=START), []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("alma.storage.words.ONE_BY_ONE", (patience, 4))
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


def whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that reads all lists at its first question."""
    with monkeypatch.context() as patched:
        patched.setattr("alma.storage.words.ONE_BY_ONE", (0, 4))
        return store.project("shop")


def many(count: int) -> list[Memory]:
    """More memories than may wait for the full text."""
    return [
        make_outcome(task_description=f"Deploy number {place} of {place % 7} ledgers", strategy_used="") for place in range(count)
    ]


def asking_full_text(store: Store) -> list[str]:
    """The questions to the full text from now on."""
    assert isinstance(store, SQLStorage)
    asked: list[str] = []
    store.database.connection.set_trace_callback(lambda said: asked.append(said) if "words_1" in said else None)
    return asked


def test_once_all_lists_are_read_full_text_is_not_asked_again(
    opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, again = opened(), opened().project("shop")
    project = whole(store, monkeypatch)
    add(store, project, *many(150))
    assert scores(project, "deploy") == scores(again, "deploy")
    asked = asking_full_text(store)
    add(store, project, make_outcome(task_description="Water the plants", strategy_used="number 7"))
    questions = (["number", "7"], ["ledgers"], ["plants"], ["nowhere"], ["deploys", "water", "149"])
    expected = [scores(again, *words) for words in questions]
    asked.clear()
    assert [scores(project, *words) for words in questions] == expected
    assert asked == []


def test_lists_are_read_one_by_one_at_first(opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alma.storage.words.ONE_BY_ONE", (3, 6))
    store = opened()
    project = store.project("shop")
    add(store, project, *many(80))
    asked = asking_full_text(store)
    read_by = []
    for place in range(8):
        asked.clear()
        scores(project, f"{place}{place}")
        read_by.append(bool(asked))
    assert read_by == [True, True, True, False, False, False, False, False]
    add(store, project, *many(300))  # so many that all is forgotten
    for place in range(12):
        asked.clear()
        scores(project, f"{place}{place}")
        read_by.append(bool(asked))
    assert read_by[8:] == [True] * 6 + [False] * 6


@pytest.mark.parametrize("bound", ["WHOLE_MEMORIES", "WHOLE_BYTES"])
def test_of_a_large_project_only_the_lists_that_are_asked_for_are_read(
    opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(f"alma.storage.words.{bound}", 79)
    store = opened()
    project = whole(store, monkeypatch)
    add(store, project, *many(80))
    asked = asking_full_text(store)
    scores(project, "deploy")
    asked.clear()
    scores(project, "number")
    assert asked


def test_lists_that_no_longer_have_room_are_read_again(opened: Callable[[], Store], monkeypatch: pytest.MonkeyPatch) -> None:
    store, again = opened(), opened().project("shop")
    project = whole(store, monkeypatch)
    words = [*WORDS, "number", "ledgers", "plants", *map(str, range(0, 200, 9))]
    for _ in range(6):
        monkeypatch.setattr(project._words._postings, "_most_bytes", 40 * OVERHEAD)  # type: ignore[attr-defined]
        add(store, project, *many(40))
        for word in words:
            assert scores(project, word) == scores(again, word)
    assert len(project._words._postings._lists) <= 40  # type: ignore[attr-defined]


def test_what_is_remembered_stays_within_its_bytes_and_the_words_asked_last_stay() -> None:
    postings = Postings(most_bytes=6 * OVERHEAD)
    words = [f"word{number}" for number in range(20)]
    for word in words:
        postings.keep({word: NOWHERE}, upto=0)
        postings.known(words[:1], upto=0)
    assert list(postings.known(words, upto=0)) == [words[0], *words[-5:]]


def test_what_is_added_to_remembered_words_counts_among_their_bytes() -> None:
    postings = Postings(most_bytes=4 * OVERHEAD)
    postings.keep({"everywhere": NOWHERE, "rare": NOWHERE}, upto=0)
    postings.known(["rare"], upto=0)
    for seq in range(1, 100):
        postings.add([(seq, 1.0, {"everywhere": 1})], upto=seq)
    assert list(postings.known(["everywhere", "rare"], upto=99)) == ["rare"]
