"""The parts of an error that stay the same: paths as their last part, classes without modules, in time that grows with the length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_agents.signatures import error_of, masked, words_of

PATH = re.compile(r"(?:(?<![\w.@~+/\\-])[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)")
"""A path, as plainly as it can be said; for a long word it takes time that grows with the square of the length."""

PIECES = ["a", "b", "C", "x", "/", "\\", ":", "~", ".", "@", "+", "-", " ", "_", "é", "(", ")", "Error", "no such "]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("open /srv/app/main.py", "open main.py"),
        (r"open C:\work\main.py", "open main.py"),
        ("push to git@host.example:team/shop.git", "push to git@host.example:shop.git"),
        ("connect to unix:///run/docker.sock", "connect to unix:docker.sock"),
        ("done in 0.37s and 12 ms", "done in N and N ms"),
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


PYTEST = """\
    def test_total():
>       assert total([]) == 0
E       assert None == 0

tests/test_cart.py:12: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert None == 0
"""
ENDS = {
    "pytest": (
        PYTEST + "========== 1 failed, 8 passed in 0.37s ==========",
        "FAILED test_cart.py::test_total - assert None == N",
    ),
    "pytest -q": (PYTEST + "1 failed, 8 passed in 0.10s", "FAILED test_cart.py::test_total - assert None == N"),
    "mypy": (
        "src/api.py:9: error: Missing return statement  [return]\nFound 1 error in 1 file (checked 3 source files)",
        "api.py:N: error: Missing return statement [return]",
    ),
    "ruff": (
        "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n\nFound 1 error.\n[*] 1 fixable with the `--fix` option.",
        "F401 [*] `os` imported but unused",
    ),
    "ruff, concise": ("src/a.py:3:1: F401 `os` imported but unused\nFound 1 error.", "a.py:N: F401 `os` imported but unused"),
    "eslint": (
        "/src/a.js\n  3:1  error  'os' is defined but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)",
        "N error 'os' is defined but never used no-unused-vars",
    ),
    "tsc": (
        "src/a.ts:3:5 - error TS2322: Type 'string' is not assignable to type 'number'.\n\nFound 1 error in src/a.ts:3",
        "a.ts:N - error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    "jest": (
        "FAIL src/cart.test.js\n  ● total › empty\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 8 passed, 9 total\nTime:  0.5 s",
        "● total › empty",
    ),
    "go": ("--- FAIL: TestTotal (0.00s)\n    got nil\nFAIL\nFAIL\texample.com/cart\t0.003s\nFAIL", "--- FAIL: TestTotal (N)"),
    "cargo": (
        "assertion `left == right` failed\ntest result: FAILED. 1 passed; 1 failed; finished in 0.00s\n\nerror: test failed, to rerun pass `--lib`",
        "assertion `left == right` failed",
    ),
    "black": (
        "would reformat src/cart.py\n\n1 file would be reformatted, 3 files would be left unchanged.",
        "would reformat cart.py",
    ),
}


@pytest.mark.parametrize(("output", "error"), ENDS.values(), ids=ENDS)
def test_counts_at_the_end_of_an_output_are_not_its_error(output: str, error: str) -> None:
    assert error_of(output) == error


def test_counts_are_the_error_where_no_other_line_names_one() -> None:
    assert error_of("1 failed, 8 passed in 0.37s") == error_of("1 failed, 8 passed in 1.02s") == "N failed, N passed in N"
