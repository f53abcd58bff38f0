"""A short memory waits for the full text until there are more of them; until then it is found by its words all the same."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from alma import ALMA
from alma.protocols import CommonWords
from alma.retrieval.bm25 import COMMON
from alma.storage import waiting
from alma.testing.contracts.stored import text_scores
from alma.types import Passage
from stores import open_alma, rows

FACTS = ("Deploy the gateway", "Deploy the gateway to the gateway host", "Water the plants")


def add(alma: ALMA, facts: Sequence[str] = FACTS, agent: str = "helena") -> list[str]:
    return [alma.add_domain_knowledge(agent, "deploy slowly", fact).id for fact in facts]


def held_back(alma: ALMA) -> list[int]:
    ((found,),) = rows(alma._store.storage.path, "SELECT unindexed FROM project")
    return list(json.loads(found))


def in_full_text(alma: ALMA) -> int:
    return len(rows(alma._store.storage.path, "SELECT DISTINCT id >> 1 FROM text_1_docsize"))


def scored(alma: ALMA, *words: str, owners: Sequence[str] | None = None, common: CommonWords = COMMON) -> list[tuple[int, float]]:
    found = text_scores(alma._room.project, *words, owners=owners, common=common)
    return list(zip(found.memories.tolist(), found.scores.tolist(), strict=True))


def by_words(alma: ALMA, task: str) -> list[str]:
    return sorted(memory.text for memory in alma.retrieve(task, "helena", arms=("text",)))


@pytest.mark.parametrize("owners", [None, ["helena"], ["victor"]])
@pytest.mark.parametrize("common", [COMMON, CommonWords(number=1, share=0.0, newest=2)])
def test_scores_are_the_same_before_and_after_it_is_taken_in(
    tmp_path: Path, owners: Sequence[str] | None, common: CommonWords
) -> None:
    with open_alma(tmp_path) as alma:
        add(alma)
        add(alma, FACTS[1:], agent="victor")
        alma.compact()
        add(alma, FACTS[:1], agent="victor")
        add(alma)
        assert (in_full_text(alma), len(held_back(alma))) == (5, 4)
        queries = (["gateway"], ["gateway", "plants"], ["deploy", "host"], ["slowly"], ["nothing"])
        before = [scored(alma, *words, owners=owners, common=common) for words in queries]

        alma.compact()
        assert (in_full_text(alma), held_back(alma)) == (9, [])
        assert [scored(alma, *words, owners=owners, common=common) for words in queries] == before
        assert any(before)


def test_another_process_finds_what_waits_and_what_waits_since(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma, open_alma(tmp_path) as other:
        add(alma, FACTS[:2])
        assert by_words(other, "gateway") == sorted(FACTS[:2])

        add(alma, FACTS[2:])
        assert by_words(other, "plants") == [FACTS[2]]

        alma.compact()
        add(alma, ["Water the garden"])
        assert by_words(other, "water") == ["Water the garden", FACTS[2]]


def test_all_are_taken_in_when_there_are_enough(tmp_path: Path) -> None:
    facts = [f"Fact {number}" for number in range(waiting.MOST_WAITING + 1)]
    with open_alma(tmp_path) as alma:
        add(alma, facts[:-1])
        assert (in_full_text(alma), len(held_back(alma))) == (0, waiting.MOST_WAITING)

        add(alma, facts[-1:])
        assert (in_full_text(alma), held_back(alma)) == (len(facts), [])
        assert alma.verify().ok


def test_a_long_memory_does_not_wait_and_takes_the_others_with_it(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        add(alma)
        add(alma, ["long " * waiting.LONGEST_WAITING])

        assert (in_full_text(alma), held_back(alma)) == (4, [])


def test_words_of_others_weigh_less_while_they_wait_too(tmp_path: Path) -> None:
    passages = [Passage(text="Mine alone"), Passage(text="Theirs alone", position=1, is_own=False)]
    with open_alma(tmp_path) as alma:
        alma.add_domain_knowledge("helena", "zoo", "Fact", passages=passages)
        (own,), (theirs,) = scored(alma, "mine"), scored(alma, "theirs")

        assert own[1] > theirs[1] > 0


def archive(alma: ALMA, ids: Sequence[str]) -> None:
    alma.forget(memory_ids=ids[:1])


def purge(alma: ALMA, ids: Sequence[str]) -> None:
    alma.purge(memory_ids=ids[:1])


def undo(alma: ALMA, ids: Sequence[str]) -> None:
    alma.undo(to=0)
    add(alma, FACTS[1:])


@pytest.mark.parametrize("take_away", [archive, purge, undo])
def test_what_goes_while_it_waits_is_not_found_again(tmp_path: Path, take_away: Callable[[ALMA, Sequence[str]], None]) -> None:
    with open_alma(tmp_path) as alma:
        ids = add(alma)
        assert by_words(alma, "gateway") == sorted(FACTS[:2])

        take_away(alma, ids)
        assert by_words(alma, "gateway") == [FACTS[1]]
        assert alma.verify().ok


def test_what_comes_back_is_found_again(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        ids = add(alma)
        alma.forget(memory_ids=ids[:1])
        alma.undo(to=len(ids))

        assert by_words(alma, "gateway") == sorted(FACTS[:2])
        assert alma.verify().ok


def test_what_waits_in_one_project_is_not_found_in_another(tmp_path: Path) -> None:
    with open_alma(tmp_path) as alma:
        add(alma)

        assert by_words(alma.for_project("other"), "gateway") == []
