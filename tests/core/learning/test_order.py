"""What learning joins depends on what was said, not on the order in which rows or texts came."""

import io
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma import ALMA
from alma.embedding import create_embedder
from alma.learning.known_texts import TRIED, KnownTexts
from alma.learning.matching import least_for_task, same_task
from facade import OpenStore

MODEL = create_embedder("hash")
SERVICES = [f"Restart service {letter}" for letter in "abcdefghijklmnopqrst"]

Again = Callable[[ALMA, OpenStore], ALMA]


def reopened(alma: ALMA, open_store: OpenStore) -> ALMA:
    alma.close()
    return open_store()


def imported(alma: ALMA, open_store: OpenStore) -> ALMA:
    file = io.BytesIO()
    alma.export(file)
    file.seek(0)
    other = open_store("another")
    other.import_from(file)
    return other


def unchanged(alma: ALMA, open_store: OpenStore) -> ALMA:
    return alma


def classes(alma: ALMA) -> dict[str, str]:
    """The class that each task was counted in."""
    rows = [stored.row for stored in alma._room.project.rows() if stored.table == "memory" and stored.row]
    return {row["body"]["task_description"]: row["evidence"][:16] for row in rows if row["kind"] == "outcome"}


@pytest.mark.parametrize("again", [unchanged, reopened, imported])
def test_a_class_is_known_by_the_task_that_names_it_not_by_one_whose_steps_it_counts(open_store: OpenStore, again: Again) -> None:
    alma = open_store()
    named, joined, other = "Deploy the billing queue", "Deploy the billing cache worker", "Deploy a worker on Friday"
    alma.learn("dev", named, "success", "by hand")
    with alma.episode("dev", joined) as episode:
        episode.step("Start it", ok=False, error="out of memory")
        episode.abandon()
    alma.learn("dev", named, "success", "by hand")
    alma = again(alma, open_store)
    alma.learn("dev", other, "success", "by hand")
    found = classes(alma)
    assert found[joined] == found[named] != found[other]


def vector(text: str) -> bytes:
    row: bytes = MODEL.embed([text])[0].astype("<f2").tobytes()
    return row


def known(texts: Sequence[str], told_alike: str) -> KnownTexts:
    """Each text under itself, all with one vector."""
    result = KnownTexts(same_task, capacity=256, least=least_for_task)
    for text in texts:
        result.add(text, text, vector(told_alike), keep=False)
    return result


@given(order=st.permutations(SERVICES))
def test_of_texts_that_are_equally_near_those_are_tried_whose_keys_come_first(order: Sequence[str]) -> None:
    assert len(SERVICES) > TRIED
    asked = "Restart service z"
    assert known(order, asked).best(asked, vector(asked)) == min(SERVICES)
