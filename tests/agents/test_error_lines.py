"""How well errors are told from the last lines of runners, and telling numbers from others, on lines that the rules were not made from.

`lines/` has last lines of some fifty runners, lines that name an error, and lines with numbers, as public issues, logs and manuals of other tools
than those of the rules show them; a few ids and hosts are made up. In `numbers.txt` a number that tells one thing from another stands in {}, any
other in <>; its last twenty lines were collected when the rules were done, the others beside them.
"""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from alma_agents.signatures import error_of, masked, words_of


def lines(name: str) -> list[str]:
    return (Path(__file__).parent / "lines" / f"{name}.txt").read_text().splitlines()


def test_the_error_of_an_output_is_the_line_that_names_one_and_not_the_last_of_the_runner() -> None:
    """Of all pairs .91; a list of eighty words of runners had .77, and counts at the end alone .62."""
    named = [line for line in lines("errors") if error_of(f"{line}\nok\n") == error_of(line)]
    pairs = list(product(named, lines("runners")))
    found = sum(error_of(f"$ ./task\n{error}\n{last}\n") == error_of(error) for error, last in pairs)
    assert len(pairs) > 6_000
    assert found / len(pairs) >= 0.88


def test_the_last_line_of_most_runners_has_no_fix() -> None:
    """47 of 75; 29 with the list of words."""
    ended = lines("runners")
    assert sum(not words_of(error_of(line)) for line in ended) / len(ended) >= 0.6


def test_a_line_that_names_an_error_keeps_its_fix() -> None:
    """10 of 118 have none: seven are as bare as `Import failed`."""
    named = lines("errors")
    assert sum(not words_of(error_of(line)) for line in named) / len(named) <= 0.1


MARKED = re.compile(r"\{(?P<telling>[^{}]+)\}|<(?P<other>[^<>]+)>")


def kept(marked: list[str]) -> Iterator[tuple[bool, bool]]:
    """Yields for each number if it is a telling one, and if it is kept. It is told from the others of its line by a zero that is added."""
    for line in marked:
        for number in MARKED.finditer(line):
            plain = MARKED.sub(lambda found: found["telling"] or found["other"], line)
            start = len(MARKED.sub(lambda found: found["telling"] or found["other"], line[: number.start()]))
            end = start + len(number["telling"] or number["other"])
            yield (
                number["telling"] is not None,
                masked(plain) != masked(f"{plain[: end - 1]}{(int(plain[end - 1]) + 1) % 10}{plain[end:]}"),
            )


@pytest.mark.parametrize(("first", "last"), [(0, -20), (-20, None)], ids=["beside the rules", "after them"])
def test_numbers_that_tell_one_thing_from_another_stay_and_others_are_masked(first: int, last: int | None) -> None:
    """Kept are 37 of 43 telling numbers and 6 of 91 others, of the later lines 11 of 11 and 1 of 13. Without a rule about places in a file 13 of
    91 others are kept, with a list of words before numbers that tell nothing 20 of 91 and 7 of 13."""
    numbers = list(kept(lines("numbers")[first:last]))
    telling = [is_kept for is_telling, is_kept in numbers if is_telling]
    others = [is_kept for is_telling, is_kept in numbers if not is_telling]
    assert sum(telling) / len(telling) >= 0.8
    assert sum(others) / len(others) <= 0.1
