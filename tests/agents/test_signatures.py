"""The parts of an error that stay the same: paths as their last part, classes without modules, in time that grows with the length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_agents.signatures import masked, words_of

PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)")
"""A path, as plainly as it can be said; for a long word it takes time that grows with the square of the length."""

PIECES = ["a", "b", "C", "x", "/", "\\", ":", "~", ".", "@", "+", "-", " ", "_", "é", "(", ")", "Error", "no such "]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("open /srv/app/main.py", "open main.py"),
        (r"open C:\work\main.py", "open main.py"),
        ("in ./build/ and ../x/", "in build/ and x/"),
        ("a/b/~c", "b/~c"),
        ("line 12 of lib/x.py:30", "line N of x.py:N"),
    ],
)
def test_a_path_is_its_last_part(text: str, kept: str) -> None:
    assert masked(text) == kept


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_paths_are_those_of_the_plain_pattern(text: str) -> None:
    assert masked(text) == " ".join(PATH.sub(r"\1", text).split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sqlalchemy.exc.NoSuchTableError", {"nosuchtableerror"}),
        ("os.path.join() failed", {"os.path.join", "join"}),
        ("a.b.C.d.ClassName", {"a.b.c.classnam"}),
    ],
)
def test_a_class_stands_without_its_modules(text: str, words: set[str]) -> None:
    assert words <= set(words_of(text))


@pytest.mark.parametrize("unit", ["a", "A", "aB", "a.", "a.B", "a_", "a-", "can", "0x", "1.", "\\", "-", "@", "a/", "a:"])
def test_a_line_of_any_length_is_read(unit: str) -> None:
    assert isinstance(words_of(unit * 400_000), dict)  # at quadratic cost this would not end
