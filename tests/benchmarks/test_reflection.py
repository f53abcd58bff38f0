"""The worlds of the benchmark of reflection: what is planted is found, and seldom anything where nothing is."""

from benchmarks import reflection

WORLDS = 40


def test_a_world_is_drawn_alike_each_time() -> None:
    assert reflection.draw(3, is_planted=True) == reflection.draw(3, is_planted=True)
    assert reflection.draw(3).kinds != reflection.draw(4).kinds


def test_what_is_planted_is_found_in_most_worlds() -> None:
    found = [reflection.find_planted(reflection.draw(seed, is_planted=True)) for seed in range(WORLDS)]
    assert sum(found) >= reflection.LEAST_FOUND * WORLDS


def test_little_is_found_where_nothing_is_planted() -> None:
    found = [bool(reflection.find_false(reflection.draw(seed))) for seed in range(WORLDS)]
    assert sum(found) <= 2 * reflection.MOST_FALSE * WORLDS
