"""Tables that cannot grow for ever."""

from concurrent.futures import ThreadPoolExecutor

from alma.integration import Bounded


def test_the_oldest_entry_is_dropped_for_a_new_one_and_one_that_is_set_again_is_new() -> None:
    table = Bounded[str, int](2)
    table["a"] = table["b"] = 1
    table["a"] = 2
    table["c"] = 3
    assert table == {"a": 2, "c": 3}


def test_of_threads_that_set_one_entry_all_get_the_first() -> None:
    table = Bounded[int, object](1000)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: table.kept(number % 4, object()), range(200)))
    assert set(map(id, found)) == set(map(id, table.values()))
    assert len(table) == 4
