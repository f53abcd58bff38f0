"""Which commands are the same, and which fix belongs to which error: where in doubt, neither."""

import pytest

from alma_agents import index
from alma_agents.attempts import attempts
from alma_agents.events import TOOL, Event
from alma_agents.signatures import error_of, words_of


def are_one(failing: str, passing: str) -> bool:
    ran = [
        Event(TOOL, "codex", "s", cwd="/p", tool="shell", command=line, ok=ok) for line, ok in ((failing, False), (passing, True))
    ]
    changed = Event(TOOL, "codex", "s", cwd="/p", tool="edit", path="/p/a.py", old="x", new="y", ok=True)
    return any(one.passed for one in attempts([ran[0], changed, ran[1]]))


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest tests/a.py -q", "pytest tests/a.py -x"),
        ("pytest tests/a.py 2>&1", "pytest tests/a.py"),
        ("pytest tests/a.py &> out.txt", "pytest tests/a.py"),
        ("pytest -n 4", "pytest"),
        ("cd /p && pytest", "uv run pytest -v"),
        ("PYTHONPATH=. timeout 60 pytest tests/a.py", "pytest"),
        ("npm test", "npm run test"),
        ("pytest ./tests/a.py", "pytest tests/a.py"),
        ("./run_tests.sh", "bash -c true && ./run_tests.sh"),
        ("make", "make -j4"),
        ("make", "make -j 4"),
        ("npm run build", "npm run build && npm test"),
    ],
)
def test_the_same_command_in_other_words_is_the_same(failing: str, passing: str) -> None:
    assert are_one(failing, passing)


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("pytest", "pytest tests/a.py"),
        ("pytest -k foo", "pytest -k bar"),
        ("pytest", "pytest --collect-only"),
        ("pytest", "pytest --ignore=tests/a.py"),
        ("pytest", "pytest --lf"),
        ("npm test", "npm run build"),
        ("npm run test:unit", "npm run test:e2e"),
        ("make", "make -n"),
        ("make test", "make build"),
        ("mypy src", "mypy src --ignore-missing-imports"),
        ("tox -e py311", "tox -e py312"),
        ("go test ./a", "go test ./b"),
        ("git push", "git push --force"),
        ("docker build .", "docker ps"),
    ],
)
def test_a_weaker_or_another_command_is_no_repair(failing: str, passing: str) -> None:
    assert not are_one(failing, passing)


def fix(known: str, asked: str, *, of: str = "pytest tests/a.py", when: str = "pytest tests/a.py") -> bool:
    """Whether the only known fix is given for an error."""
    known_fix = {"command": of, "strategy": "the fix", "words": words_of(error_of(known))}
    return index.fix_for({"fixes": [known_fix]}, error_of(asked), when) is not None


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("ModuleNotFoundError: No module named 'shop'", "ModuleNotFoundError: No module named 'numpy'"),
        ("AttributeError: 'Cart' object has no attribute 'total'", "AttributeError: 'Cart' object has no attribute 'items'"),
        ("AttributeError: 'Cart' object has no attribute 'total'", "AttributeError: 'User' object has no attribute 'total'"),
        ("ImportError: cannot import name 'load' from 'shop.cart'", "ImportError: cannot import name 'save' from 'shop.cart'"),
        ("sqlite3.OperationalError: no such table: orders", "sqlite3.OperationalError: no such table: users"),
        ("fatal: Could not resolve host: a.example", "fatal: Could not resolve host: b.example"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "Error: connect ECONNREFUSED 127.0.0.1:5432"),
        ("KeyError: 'user_id'", "ValidationError: field 'user_id' is missing"),
        # that a task of a runner failed says nothing of why, so nothing is answered, for its own command either
        ("make: *** [Makefile:3: test] Error 1", "make: *** [Makefile:9: test] Error 1"),
        ("[test] ERROR task failed", "[test] ERROR task failed"),
        ("expected 3 to be 4\n[test] ERROR task failed", "expected the cart to be empty\n[test] ERROR task failed"),
        (
            'a.go:3:2: "io" imported and not used\n[test] ERROR task failed',
            "b.go:9:4: undefined: greet\n[test] ERROR task failed",
        ),
        (
            "src/a.css: unexpected '}'\nscons: building terminated because of errors.",
            "src/b.css: missing '{'\nscons: building terminated because of errors.",
        ),
        ("curl: (7) Failed to connect to localhost port 9200", "curl: (7) Failed to connect to localhost port 5601"),
        ("Error: Request failed with status code 401", "Error: Request failed with status code 429"),
        ("error: Recipe `test` failed on line 3 with exit code 1", "error: Recipe `test` failed on line 3 with exit code 1"),
        (
            'connection to server at "localhost", port 5432 failed: Connection refused',
            "Error 111 connecting to localhost:6379. Connection refused.",
        ),
    ],
)
def test_the_fix_of_another_thing_is_not_given(known: str, asked: str) -> None:
    assert not fix(known, asked)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("AssertionError: assert 1 == 2", "AssertionError: assert 3 == 4"),
        ("TypeError: 'NoneType' object is not subscriptable", "TypeError: 'NoneType' object is not subscriptable"),
        ("npm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
        ("Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
    ],
)
def test_an_error_that_fits_everything_is_answered_for_its_own_command_only(known: str, asked: str) -> None:
    assert fix(known, asked)
    assert not fix(known, asked, when="pytest tests/other.py")


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (
            "ModuleNotFoundError: No module named 'shop'",
            "ImportError while importing t.py\nE   ModuleNotFoundError: No module named 'shop'",
        ),
        ("/p/a.py:12: error: Name 'x_total' is not defined", "/q/b/a.py:99: error: Name 'x_total' is not defined"),
        (
            "Error: Cannot find module 'left-pad'",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /p/i.js",
        ),
        ("sqlite3.OperationalError: no such table: orders", "OperationalError: (sqlite3.OperationalError) no such table: orders"),
    ],
)
def test_a_reworded_error_finds_its_fix(known: str, asked: str) -> None:
    assert fix(known, asked, when="pytest tests/other.py")


def test_a_command_is_shown_as_it_was_run() -> None:
    failed = Event(TOOL, "codex", "s", tool="shell", command="go test ./cart 2>&1", ok=False)
    assert attempts([failed])[0].command == "go test ./cart"
