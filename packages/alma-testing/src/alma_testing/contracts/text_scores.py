"""The contract of full text."""

from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import CommonWords, Project, Store
from alma.retrieval import fusion
from alma.types.memories import Passage, passages_of
from alma_testing.builders import make_domain_knowledge, make_outcome
from alma_testing.contracts.stored import AT, OpenStore, WithStore, add, found_by_words, row_of, text_scores
from alma_testing.contracts.texts import few_examples, storable_texts

FEW = CommonWords(number=3, share=0.0, newest=2)
"""With these settings, a word in more than three memories is common."""


def shares(
    project: Project, *words: str, owners: Collection[str] | None = None, common: CommonWords = fusion.COMMON
) -> dict[int, float]:
    """Returns the score of each memory found, for a reader of everything, or of the memories of these owners."""
    found = text_scores(project, *words, owners=owners, common=common)
    return dict(zip(found.memories.tolist(), found.scores.tolist(), strict=True))


class TextScoresContract(WithStore):
    """Promises of `text_lists` of an `alma.protocols.Project`, tested by the BM25 scores of its lists.

    A test class that inherits this defines a fixture `open_store`: a callable that takes a folder and opens the store there, creating it
    if there is none.
    """

    def test_every_memory_with_one_of_the_words_is_found_ascending(self, store: Store, project: Project) -> None:
        memories = [make_outcome(task_description=f"Deploy service number {n}", strategy_used="") for n in range(30)]
        other = make_outcome(task_description="Paint the fence", strategy_used="")
        add(store, project, *memories, other)
        found = text_scores(project, "deploy", "nothing").memories.tolist()
        assert found == sorted({row_of(project, memory) for memory in memories})
        assert found_by_words(project, "deploy", "fence") == {row_of(project, memory) for memory in (*memories, other)}

    def test_no_words_and_unknown_words_find_nothing(self, store: Store, project: Project) -> None:
        assert found_by_words(project, "deploy") == set()
        add(store, project, make_outcome())
        assert found_by_words(project) == set()
        assert found_by_words(project, "zebra") == set()

    def test_scores_are_shares_of_what_a_perfect_match_would_have(self, store: Store, project: Project) -> None:
        both = make_outcome(task_description="Deploy the ledger", strategy_used="")
        one = make_outcome(task_description="Deploy the website", strategy_used="")
        add(store, project, both, one)
        found = shares(project, "deploy", "ledger")
        assert all(0 <= value < 1 for value in found.values())
        assert found[row_of(project, both)] > found[row_of(project, one)] > 0

    def test_a_rare_word_tells_more_than_one_that_is_everywhere(self, store: Store, project: Project) -> None:
        common = [make_outcome(task_description=f"Deploy thing {n}", strategy_used="") for n in range(20)]
        rare = make_outcome(task_description="Ledger thing today", strategy_used="")
        add(store, project, *common, rare)
        found = shares(project, "deploy", "ledger")
        assert found[row_of(project, rare)] > max(found[row_of(project, memory)] for memory in common)

    def test_a_word_is_as_rare_as_it_is_among_the_memories_that_the_reader_sees(self, store: Store, project: Project) -> None:
        mine = [make_outcome(agent="ann", task_description=text, strategy_used="") for text in ("Deploy it", "Paint the fence")]
        add(store, project, *mine)
        alone = shares(project, "deploy", "ledger", owners=["ann"])
        everywhere = [make_outcome(task_description="deploy " * 60 + str(n), strategy_used="") for n in range(100)]
        add(store, project, *everywhere, make_outcome(task_description="Ledger", strategy_used=""))
        assert shares(project, "deploy", "ledger", owners=["ann"]) == alone
        assert list(alone) == [row_of(project, mine[0])]
        assert 0 < alone[row_of(project, mine[0])] < 1

    def test_only_memories_of_the_partitions_are_found(self, store: Store, project: Project) -> None:
        mine, theirs = (make_outcome(agent=agent, task_description="Deploy the ledger") for agent in ("ann", "bob"))
        lab = [make_outcome(agent="ann", task_description="Deploy the ledger") for _ in range(3)]
        add(store, store.project("lab"), *lab)
        add(store, project, mine, theirs)
        for common in (fusion.COMMON, FEW):
            assert list(shares(project, "deploy", owners=["ann"], common=common)) == [row_of(project, mine)]
            assert shares(project, "deploy", owners=["eve"], common=common) == {}
        assert text_scores(project, "deploy", owners=["ann", "bob"]).memories.tolist() == sorted(
            row_of(project, memory) for memory in (mine, theirs)
        )

    def test_a_common_word_is_left_out_where_a_rarer_one_occurs(self, store: Store, project: Project) -> None:
        common = [make_outcome(task_description="Deploy the website", strategy_used="") for _ in range(4)]
        rare = make_outcome(task_description="Deploy the ledger", strategy_used="")
        add(store, project, *common, rare)
        assert list(shares(project, "deploy", "ledger", common=FEW)) == [row_of(project, rare)]
        assert len(shares(project, "deploy", "ledger")) == 5

    def test_where_all_words_are_common_the_newest_memories_with_the_first_of_them_are_found(
        self, store: Store, project: Project
    ) -> None:
        memories = [make_outcome(task_description="Deploy the website", strategy_used="") for _ in range(5)]
        add(store, project, *memories)
        newest = sorted(row_of(project, memory) for memory in memories)[-2:]
        assert list(shares(project, "deploy", "website", "nowhere", common=FEW)) == newest

    def test_what_the_reader_does_not_see_moves_no_score(self, store: Store, project: Project) -> None:
        texts = st.lists(st.sampled_from(["deploy", "ledger", "website", "naïve", "deploying"]), min_size=1, max_size=6)

        @few_examples
        @given(
            mine=st.lists(texts, max_size=3), theirs=st.lists(texts, min_size=1, max_size=8), asked=texts, common=st.booleans()
        )
        def check(mine: list[list[str]], theirs: list[list[str]], asked: list[str], common: bool) -> None:
            def found() -> dict[int, float]:
                return shares(project, *asked, owners=["ann"], common=FEW if common else fusion.COMMON)

            add(store, project, *(make_outcome(agent="ann", task_description=" ".join(words)) for words in mine))
            before = found()
            add(store, project, *(make_outcome(agent="bob", task_description=" ".join(words)) for words in theirs))
            assert found() == before

        check()

    def test_keywords_are_found_too(self, store: Store, project: Project) -> None:
        memory = make_outcome(task_description="Deploy", strategy_used="Canary")
        add(store, project, memory)
        assert found_by_words(project, "canary") == {row_of(project, memory)}

    def test_the_words_of_others_are_found_and_weigh_no_more_than_ones_own(self, store: Store, project: Project) -> None:
        own, others = make_domain_knowledge(), make_domain_knowledge()
        for memory, word in ((own, ("ledger", "website")), (others, ("website", "ledger"))):
            turns = [Passage(text=f"about the {word[0]}"), Passage(text=f"about the {word[1]}", position=1, is_own=False)]
            add(store, project, memory, passages=turns)
        found = shares(project, "ledger")
        assert set(found) == {row_of(project, own), row_of(project, others)}
        assert found[row_of(project, own)] >= found[row_of(project, others)] > 0

    def test_an_archived_memory_is_not_found_until_it_is_brought_back(self, store: Store, project: Project) -> None:
        memory = make_outcome(task_description="Deploy the ledger")
        add(store, project, memory, make_outcome(task_description="Deploy the website"))
        row = row_of(project, memory)
        with project.write(actor="agent", operation="archive", at=AT + 1) as write:
            write.change_memory(memory.id, archived_at=AT + 1)
        assert found_by_words(project, "ledger") == set()
        assert row not in found_by_words(project, "deploy")
        with project.write(actor="agent", operation="restore", at=AT + 2) as write:
            write.change_memory(memory.id, archived_at=None)
        assert found_by_words(project, "ledger") == {row}

    def test_a_replaced_memory_is_found_by_its_new_words_alone(self, store: Store, project: Project) -> None:
        memory = make_outcome(task_description="Deploy the ledger", strategy_used="Canary")
        add(store, project, memory)
        changed = memory.model_copy(update={"task_description": "Deploy the website", "strategy_used": ""})
        with project.write(actor="agent", operation="edit", at=AT + 1) as write:
            write.replace(changed, passages_of(changed), {})
        assert found_by_words(project, "ledger") == found_by_words(project, "canary") == set()
        assert found_by_words(project, "website") == {row_of(project, memory)}

    def test_what_another_process_stored_is_found_at_once(self, store: Store, project: Project, again: Store) -> None:
        assert found_by_words(project, "ledger") == set()
        for number in range(3):
            add(again, again.project("shop"), make_outcome(task_description=f"Ledger {number}"))
            assert len(found_by_words(project, "ledger")) == number + 1

    def test_questions_beside_writes_find_what_a_store_that_is_opened_later_finds(
        self, store: Store, project: Project, again: Store, open_store: OpenStore, tmp_path: Path
    ) -> None:
        writing = again.project("shop")
        memories = [make_outcome(task_description=f"Deploy the ledger {n}", strategy_used="Canary") for n in range(5)]
        changed = memories[1].model_copy(update={"task_description": "Deploy the website, the website", "strategy_used": ""})
        said = [Passage(text="the ledger"), Passage(text="a ledger of the website", position=1, is_own=False)]

        def archive(at: int | None) -> None:
            with writing.write(actor="agent", operation="archive", at=AT + 1) as write:
                write.change_memory(memories[0].id, archived_at=at)

        def reword() -> None:
            with writing.write(actor="agent", operation="edit", at=AT + 1) as write:
                write.replace(changed, passages_of(changed), {})

        asked = ("ledger", "website", "canary")
        add(store, project, *memories)
        for change in (
            lambda: add(store, project, make_outcome(task_description="Canary of the website")),
            lambda: add(again, writing, make_domain_knowledge(), passages=said),
            lambda: archive(AT + 1),
            reword,
            lambda: archive(None),
            lambda: writing.purge([memories[2].id], records=[], actor="agent", at=AT + 2),
            lambda: add(again, writing, make_outcome(task_description="Ledger, ledger")),
        ):
            change()
            later = open_store(tmp_path / "store")
            for common in (fusion.COMMON, FEW):
                mine, anew = (shares(each, *asked, common=common) for each in (project, later.project("shop")))
                assert [*mine.values()] == [*anew.values()]  # by memory, whose rows a store may number anew when it is opened
            later.close()

    def test_other_projects_are_not_searched(self, store: Store, project: Project) -> None:
        add(store, store.project("lab"), make_outcome(task_description="Secret ledger"))
        assert found_by_words(project, "ledger", "secret") == set()
        own = make_outcome(task_description="Own ledger")
        add(store, project, own)
        assert found_by_words(project, "ledger", "secret") == {row_of(project, own)}

    def test_any_text_is_found_by_an_ordinary_word_in_it_and_any_words_are_data(
        self, store: Store, project: Project, tmp_path: Path
    ) -> None:
        add(store, project, make_outcome(task_description="Something else", strategy_used=""))

        @few_examples
        @given(text=storable_texts, asked=st.lists(storable_texts | st.text(max_size=5), max_size=4))
        def check(text: str, asked: list[str]) -> None:
            memory = make_outcome(task_description=f"zebra {text}", strategy_used=text)
            add(store, project, memory)
            assert row_of(project, memory) in found_by_words(project, "zebra")
            found = text_scores(project, *(word for word in asked if "\x00" not in word and word.isprintable()))
            assert ((found.scores >= 0) & (found.scores < 1)).all()
            assert found.memories.tolist() == sorted(set(found.memories.tolist()))

        check()
        assert store.verify().ok
        with pytest.raises(StopIteration):
            next(iter(store.project("lab").rows()))
