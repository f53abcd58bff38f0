"""Whose memories are, and how long their texts: what is remembered of that between questions."""

import pytest

from alma.storage.relational.text_table import SCOPES_KEPT, TextScope, TextTable


def lengths(scope: TextScope) -> dict[int, float]:
    return dict(zip(scope.memories.tolist(), scope.lengths.tolist(), strict=True))


def figures(scope: TextScope) -> tuple[int, float]:
    return scope.count, scope.total_length


def test_the_parts_of_a_memory_add_up_in_any_order() -> None:
    table = TextTable()
    assert table.take([(3, 1, 200.0), (7, 1, 100.0), (7, 1, 50.5), (5, 1, 0.0), (7, 1, 1.0)], upto=4)
    scope = table.scope((1,))
    assert lengths(scope) == {3: 200.0, 5: 0.0, 7: 151.5}
    assert figures(scope) == (2, 351.5)
    assert table.upto == 4


def test_a_memory_that_changed_has_its_new_length_and_one_whose_text_is_gone_counts_no_more() -> None:
    table = TextTable()
    table.take([(2_000, 1, 80.0), (1, 1, 40.0)], upto=1)
    assert table.take([(1, 1, 0.0), (2_000, 1, 90.0)], upto=2)
    assert table.take([], upto=3)
    assert lengths(table.scope((1,))) == {1: 0.0, 2_000: 90.0}
    assert figures(table.scope((1,))) == (1, 90.0)
    assert table.upto == 3


def test_a_scope_counts_its_own_partitions_alone() -> None:
    table = TextTable()
    table.take([(1, 4, 10.0), (2, 9, 20.5), (3, 4, 30.0), (4, 6, 0.5)], upto=1)
    assert [figures(table.scope(some)) for some in ((4,), (9,), (4, 6), (), (77,))] == [
        (2, 40.0),
        (1, 20.5),
        (3, 40.5),
        (0, 0.0),
        (0, 0.0),
    ]
    scope = table.scope((4, 6))
    assert scope.is_open is not None
    assert scope.is_open[scope.slots].tolist() == [True, False, True, True]
    assert table.scope((4, 6, 9)).is_open is None


def test_a_memory_that_moves_to_another_owner_counts_there() -> None:
    table = TextTable()
    table.take([(1, 4, 10.0), (2, 4, 20.0)], upto=1)
    table.take([(1, 5, 10.0)], upto=2)
    assert [figures(table.scope((number,))) for number in (4, 5)] == [(1, 20.0), (1, 10.0)]


def test_a_partition_that_is_new_is_part_of_the_scopes_that_name_it() -> None:
    table = TextTable()
    table.take([(1, 4, 10.0)], upto=1)
    assert figures(table.scope((4, 5))) == (1, 10.0)
    table.take([(2, 5, 20.0), (3, 6, 1.0)], upto=2)
    assert figures(table.scope((4, 5))) == (2, 30.0)


@pytest.mark.parametrize("memory", [1, 4])
def test_a_memory_that_is_neither_known_nor_the_newest_is_refused_and_nothing_taken(memory: int) -> None:
    table = TextTable()
    table.take([(2, 1, 10.0), (5, 1, 10.0)], upto=1)
    assert not table.take([(memory, 1, 3.0), (9, 1, 3.0)], upto=2)
    assert lengths(table.scope((1,))) == {2: 10.0, 5: 10.0}
    assert table.upto == 1


def test_a_scope_stays_as_it_is_while_memories_are_added() -> None:
    table = TextTable()
    table.take([(1, 1, 10.0)], upto=1)
    scope = table.scope((1,))
    table.take([(number, 1, 1.0) for number in range(2, 3_000)], upto=2)
    assert (figures(scope), lengths(scope)) == ((1, 10.0), {1: 10.0})
    assert table.scope((1,)).count == 2_999


def test_the_table_remembers_a_bounded_number_of_scopes() -> None:
    table = TextTable()
    table.take([(1, 1, 10.0)], upto=1)
    for number in range(5 * SCOPES_KEPT):
        assert table.scope((1, number + 2)).count == 1
    assert len(table._scopes) <= SCOPES_KEPT
