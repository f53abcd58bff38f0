"""The contract of stores that can change their embedder."""

from collections.abc import Iterable

import pytest

from alma.errors import ConflictError, EmbedderMismatchError
from alma.protocols import NextVectors, Project, Reembeddable, Store, Unembedded
from alma.types.identity import Fingerprint
from alma_testing.builders import make_outcome
from alma_testing.contracts.stored import AT, WithStore, add, found_by_words, rows_of, vector_of

OTHER = Fingerprint(model="other", revision="1", dimension=24, precision="float32", token_limit=0, preparation="none-1")


class ReembeddableContract(WithStore):
    """Promises of an `alma.protocols.Reembeddable` store.

    A test class that inherits this defines a fixture `open_store`, as for `StoreContract`.
    """

    @pytest.fixture
    def filled(self, store: Store, project: Project) -> Store:
        """A store of five texts in two projects, one of them archived, one stored twice."""
        memories = [make_outcome(task_description=f"Task {number}") for number in range(4)]
        add(store, project, *memories, make_outcome(task_description="Task 0"))
        add(store, store.project("lab"), make_outcome(task_description="Task 0"))
        with project.write(actor="agent", operation="archive", at=AT) as write:
            write.change_memory(memories[3].id, archived_at=AT)
        return store

    @pytest.fixture
    def next_vectors(self, filled: Store) -> NextVectors:
        """A new set of vectors, without any vector yet."""
        assert isinstance(filled, Reembeddable)
        return filled.next_vectors(OTHER)

    def test_all_texts_are_missing_at_first_archived_ones_too(self, next_vectors: NextVectors) -> None:
        assert next_vectors.progress() == (0, 5)
        missing = next_vectors.missing(after=0, limit=99)
        assert {each.text for each in missing} == {f"Task {number}" for number in range(4)}
        rows = [each.row for each in missing]
        assert rows == sorted(set(rows))
        assert [each.row for each in next_vectors.missing(after=rows[1], limit=2)] == rows[2:4]

    def test_nothing_is_switched_while_a_vector_is_missing(self, filled: Store, next_vectors: NextVectors) -> None:
        kept = filled.fingerprint
        missing = next_vectors.missing(after=0, limit=99)
        next_vectors.put(made_for(missing[:2]))
        assert not next_vectors.switch()
        assert isinstance(filled, Reembeddable)
        assert filled.renewed().fingerprint == kept

    def test_who_was_interrupted_goes_on(self, filled: Store, again: Store, next_vectors: NextVectors) -> None:
        assert next_vectors.put(made_for(next_vectors.missing(after=0, limit=1))) == 1
        assert isinstance(again, Reembeddable)
        assert again.next_vectors(OTHER).progress() == (1, 5)

    def test_a_set_that_was_given_up_for_another_embedder_is_a_conflict(self, filled: Store, next_vectors: NextVectors) -> None:
        missing = next_vectors.missing(after=0, limit=99)
        assert isinstance(filled, Reembeddable)
        filled.next_vectors(OTHER.model_copy(update={"model": "third"}))
        with pytest.raises(ConflictError):
            next_vectors.put(made_for(missing))

    def test_a_switch_changes_the_vectors_and_nothing_else(
        self, filled: Store, project: Project, next_vectors: NextVectors
    ) -> None:
        before = rows_of(project)
        next_vectors.put(made_for(next_vectors.missing(after=0, limit=99)))
        assert next_vectors.progress() == (5, 5)
        assert not next_vectors.switch()  # strategies are compared by vectors of their own
        next_vectors.put_compared({one: vector_of(one[1], OTHER.dimension) for one in next_vectors.compared()})
        assert next_vectors.switch()
        assert isinstance(filled, Reembeddable)
        renewed = filled.renewed()
        assert (renewed.fingerprint, renewed.id) == (OTHER, filled.id)
        shop = renewed.project("shop")
        assert shop.vectors(["Task 1"]) == {"Task 1": vector_of("Task 1", OTHER.dimension)}
        assert rows_of(shop) == before
        assert len(found_by_words(shop, "task")) == 4
        with pytest.raises(EmbedderMismatchError):
            add(filled, project, make_outcome())
        assert filled.drop_left_over() > 0
        assert filled.drop_left_over() == 0
        assert renewed.verify().ok


def made_for(missing: Iterable[Unembedded]) -> dict[Unembedded, bytes]:
    """Returns vectors of the other embedder."""
    return {each: vector_of(each.text, OTHER.dimension) for each in missing}
