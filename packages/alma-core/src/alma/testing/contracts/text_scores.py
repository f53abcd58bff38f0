"""The contract of full text."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma.protocols import Project, Store
from alma.testing.builders import make_domain_knowledge, make_outcome
from alma.testing.contracts.stored import AT, WithStore, add, found_by_words, row_of
from alma.testing.contracts.texts import few_examples, storable_texts
from alma.types.passages import Passage, passages_of


def shares(project: Project, *words: str, within: Iterable[int] | None = None) -> dict[int, float]:
    """What each memory that is found scores; with `within`, when those alone matter."""
    found = project.text_scores(words, within=None if within is None else np.array(sorted(within), dtype=np.int64))
    return dict(zip(found.memories.tolist(), found.scores.tolist(), strict=True))


class TextScoresContract(WithStore):
    """What `text_scores` of an `alma.protocols.Project` promises.

    A test class that inherits this defines a fixture `open_store`: a callable that takes a folder and opens the store there, making it if there
    is none.
    """

    def test_every_memory_with_one_of_the_words_is_found_ascending(self, store: Store, project: Project) -> None:
        memories = [make_outcome(task_description=f"Deploy service number {n}", strategy_used="") for n in range(30)]
        other = make_outcome(task_description="Paint the fence", strategy_used="")
        add(store, project, *memories, other)
        found = project.text_scores(["deploy", "nothing"]).memories.tolist()
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

    def test_a_word_that_is_everywhere_counts_for_the_few_memories_that_matter(self, store: Store, project: Project) -> None:
        everywhere = [make_outcome(task_description="deploy " * 60 + str(n), strategy_used="") for n in range(100)]
        mine = [make_outcome(agent="ann", task_description=text, strategy_used="") for text in ("Deploy it", "Paint the fence")]
        rare = make_outcome(task_description="Ledger", strategy_used="")
        add(store, project, *everywhere, *mine, rare)
        rows = [row_of(project, memory) for memory in mine]
        found = shares(project, "deploy", "ledger", within=rows)
        assert 0 < found[rows[0]] < 1
        assert rows[1] not in found
        assert shares(project, "deploy", within=rows)[rows[0]] > 0

    def test_of_the_few_memories_that_matter_those_with_a_word_are_scored(self, store: Store, project: Project) -> None:
        texts = ("Paint the fence", "Deploy the website", "Deploy the ledger", "Ledger of yesterday")
        memories = [make_outcome(task_description=text, strategy_used="") for text in texts]
        lab = [make_outcome(task_description="Deploy the ledger") for _ in range(3)]
        add(store, store.project("lab"), *lab)
        add(store, project, *memories, *(make_outcome(task_description=f"Task {n}", strategy_used="") for n in range(20)))
        with project.write(actor="agent", operation="archive", at=AT + 1) as write:
            write.change_memory(memories[3].id, archived_at=AT + 1)
        fence, website, both, archived = (row_of(project, memory) for memory in memories)
        others = [row_of(store.project("lab"), memory) for memory in lab]
        found = shares(project, "deploy", "ledger", within=[fence, website, both, archived, *others])
        assert list(found) == sorted([website, both])
        assert 1 > found[both] > found[website] > 0
        assert fence not in shares(project, "deploy", within=[fence])
        assert all(0 <= value < 1 for value in shares(project, "deploy", within=[]).values())

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
            found = project.text_scores([word for word in asked if "\x00" not in word and word.isprintable()])
            assert ((found.scores >= 0) & (found.scores < 1)).all()
            assert found.memories.tolist() == sorted(set(found.memories.tolist()))

        check()
        assert store.verify().ok
        with pytest.raises(StopIteration):
            next(iter(store.project("lab").rows()))
