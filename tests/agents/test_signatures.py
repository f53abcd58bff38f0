"""The parts of an error that stay the same: paths as their last part, classes without modules, in time that grows with the length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_agents.signatures import error_of, masked, nearness, words_of

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
    assert masked(error_of(output)) == error


def test_counts_are_the_error_where_no_other_line_names_one() -> None:
    error, again = error_of("1 failed, 8 passed in 0.37s"), error_of("1 failed, 8 passed in 1.02s")
    assert masked(error) == masked(again) == "N failed, N passed in N"
    assert error == "1 failed, 8 passed in 0.37s"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            'connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused',
            "Error 111 connecting to localhost:6379. Connection refused.",
        ),
        ("dial tcp 127.0.0.1:5432: connect: connection refused", "dial tcp 127.0.0.1:6379: connect: connection refused"),
        ("Error: connect ECONNREFUSED db.internal:5432", "Error: connect ECONNREFUSED db.internal:9200"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "Error: listen EADDRINUSE: address already in use :::8080"),
        (
            "ConnectionError: HTTPConnectionPool(host='localhost', port=8080): Max retries exceeded",
            "ConnectionError: HTTPConnectionPool(host='localhost', port=9000): Max retries exceeded",
        ),
        (
            "RequestError: request to http://localhost:8080/api/items failed with status 401",
            "RequestError: request to http://localhost:8080/api/items failed with status 503",
        ),
        ("error: package shop requires python >=3.11", "error: package shop requires python >=3.13"),
        ("OSError: [Errno 28] cannot write shop.db", "OSError: [Errno 30] cannot write shop.db"),
    ],
)
def test_errors_that_give_other_numbers_to_one_thing_are_two(one: str, other: str) -> None:
    words, others = words_of(error_of(one)), words_of(error_of(other))
    assert nearness(words, words) >= 0.62
    assert nearness(words, others) == nearness(others, words) == 0.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/shop/cart.py:12: error: Name 'total' is not defined", "lib/shop/cart.py:98: error: Name 'total' is not defined"),
        ("Makefile:12: unexpected name 'shop'", "Makefile:31: unexpected name 'shop'"),
        ("TimeoutError: no answer of 'shop' after 30 seconds", "TimeoutError: no answer of 'shop' after 31 seconds"),
        ("E   assert total == 5, 'cart'", "E   assert total == 7, 'cart'"),
        ("fatal: 'shop' failed in 0.37s, pid 812", "fatal: 'shop' failed in 1.02s, pid 90"),
    ],
)
def test_numbers_of_one_run_make_no_other_error(one: str, other: str) -> None:
    assert nearness(words_of(error_of(one)), words_of(error_of(other))) >= 0.9


RUNNERS = [
    "[test] ERROR task failed", "[lint:go] ERROR task failed", 'task: Failed to run task "test": exit status 1',
    "error: Recipe `test` failed on line 3 with exit code 1", "npm ERR! Lifecycle script `test` failed with error:",
    " ELIFECYCLE  Command failed with exit code 1.", "error Command failed with exit code 1.", 'error: script "test" exited with code 1',
    "Error: Process completed with exit code 1.", "nox > Session tests failed.", "make: *** [Makefile:12: test] Error 2",
    "Execution failed for task ':app:test'.",
]  # fmt: skip


@pytest.mark.parametrize("last", RUNNERS)
def test_the_last_line_of_a_runner_is_no_error(last: str) -> None:
    assert error_of(f"src/a.go:4:2: undefined: greet\n{last}\n") == "a.go:4:2: undefined: greet"


@pytest.mark.parametrize("label", ["[test] ", "web-1  | ", "[app:lint] "])
def test_the_name_of_a_task_before_each_line_hides_no_error(label: str) -> None:
    output = (
        f"{label}$ pytest\n{label}ModuleNotFoundError: No module named 'flask'\n{label}1 error in 0.1s\n{label}ERROR task failed"
    )
    assert error_of(output) == "ModuleNotFoundError: No module named 'flask'"


@pytest.mark.parametrize(
    "line",
    [
        "Connection to the message queue failed",
        "error: unknown command",
        "KeyError: status",
        "permission denied",
        "ValueError: exit code",
    ],
)
def test_a_short_error_is_none_of_a_runner(line: str) -> None:
    assert words_of(line)
