"""What a session teaches: verdicts from exit statuses, and failures paired with their repair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alma_agents import shell
from alma_agents.attempts import attempts
from alma_agents.events import TOOL, Event
from alma_agents.signatures import error_of, nearness, words_of


def ran(command: str, ok: bool | None, call: str = "", output: str = "") -> Event:
    return Event(TOOL, "claude-code", "s", call=call, tool="shell", command=command, ok=ok, output=output)


def edited(path: str, old: str, new: str) -> Event:
    return Event(TOOL, "claude-code", "s", tool="edit", path=path, old=old, new=new, ok=True)


def test_a_failure_and_the_same_command_passing_are_one_attempt() -> None:
    events = [ran("pytest -q", False, output="KeyError: 'x'"), edited("shop.py", "a", "b"), ran("uv run pytest -v", True)]
    (one,) = attempts(events)
    assert (one.passed, one.strategy, one.error) == (True, "edit shop.py: a -> b", "KeyError: 'x'")


def test_an_edit_that_was_taken_back_is_no_part_of_the_strategy() -> None:
    events = [ran("make", False), edited("a.c", "x", "y"), edited("a.c", "y", "x"), edited("b.c", "1", "2"), ran("make", True)]
    assert attempts(events)[0].strategy == "edit b.c: 1 -> 2"


def test_what_ends_without_a_pass_is_unverified_and_waits_while_the_session_runs() -> None:
    events = [ran("npm test", False), edited("a.js", "x", "y")]
    assert [one.passed for one in attempts(events)] == [False]
    assert attempts(events, is_over=False) == []


def test_a_failure_that_stayed_has_tried_only_what_was_changed_before_it_failed_again() -> None:
    mended_another = [ran("pytest", False), ran("npm test", False), ran("docker compose up -d", True), ran("npm test", True)]
    repaired, stayed = attempts(mended_another)
    assert (repaired.command, repaired.strategy) == ("npm test", "run docker compose up -d")
    assert (stayed.command, stayed.strategy) == ("pytest", "")
    (tried,) = attempts([*mended_another, ran("pytest", False), edited("a.py", "x", "y")])[1:]
    assert tried.strategy == "run docker compose up -d"


def test_an_interrupt_is_neutral() -> None:
    assert attempts([ran("pytest", None), ran("pytest", True)]) == []
    assert [shell.verdict(code) for code in (0, 1, 127, 124, 130, 137, -1, None)] == [True, False, False, *[None] * 5]


@pytest.mark.parametrize(
    ("line", "ok", "judged"),
    [
        ("pytest -q", False, "pytest -q"),
        ("cd app && FOO=1 timeout 60 uv run pytest tests", False, "pytest tests"),
        ("pytest | tail -5", True, None),
        ("pytest || true", True, None),
        ("pytest; echo done", True, None),
        ("grep error log.txt", False, None),
        ("make && pytest", False, None),
        ("pytest &", True, None),
        ("! pytest", True, None),
        ("python -m mypy src", False, "mypy src"),
        ("npm run build", False, "npm run build"),
    ],
)
def test_an_exit_status_judges_a_command_only_where_it_is_its_own(line: str, ok: bool, judged: str | None) -> None:
    found = shell.judged(line, ok)
    assert (found.shown if found else None) == judged


def test_a_pass_of_all_covers_a_part_but_not_the_reverse() -> None:
    part, whole = (shell.judged(line, False) for line in ("pytest tests/a.py::test_x -x", "pytest -q"))
    assert part is not None
    assert whole is not None
    assert whole.covers(part)
    assert not part.covers(whole)


def test_the_same_error_with_another_module_is_another_error() -> None:
    one, other = words_of("No module named 'flask'"), words_of("No module named 'redis'")
    assert nearness(one, words_of("no modules named 'flask'")) > 0.9
    assert nearness(one, other) < 0.5


@given(st.text(max_size=200))
def test_no_command_line_breaks_the_reader(line: str) -> None:
    failed = shell.judged(line, False)
    assert [one.shown for one in shell.settled(line, False)] == ([failed.shown] if failed else [])
    assert all(passed.covers(passed) for passed in shell.settled(line, True))


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("kubectl get pods", "kubectl --context kind-shop get pods"),
        ("stack test", "stack test --system-ghc"),
        ("sbt test", "sbt -J-Xmx4g test"),
        ("mvn -q test", "mvn -q -f backend/pom.xml test"),
        ("ansible-playbook site.yml", "ansible-playbook site.yml -u deploy --private-key deploy.key"),
        ("xcodebuild test -scheme Shop", "xcodebuild test -scheme Shop -destination 'platform=iOS,name=iPhone 15'"),
        ("npm test", "npm --prefix app test"),
    ],
)
def test_the_same_command_with_a_place_added_is_a_repair(failing: str, passing: str) -> None:
    (one,) = attempts([ran(failing, False, output="no such place"), ran(passing, True)])

    assert (one.passed, one.strategy) == (True, f"run it as `{passing.replace(chr(39), '')}`")


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest", "pytest -k one"),
        ("pytest", "pytest --lf"),
        ("pytest", "pytest tests/a.py"),
        ("mvn test", "mvn -DskipTests test"),
        ("mypy src", "mypy --ignore-missing-imports src"),
        ("make", "make -n"),
        ("jest", "jest --passWithNoTests"),
        ("terraform apply", "terraform apply --help"),
        ("kubectl get pods", "kubectl --context kind-shop get nodes"),
        ("npm test", "npm --prefix app run lint"),
    ],
)
def test_the_same_command_that_does_less_or_something_else_is_none(failing: str, passing: str) -> None:
    assert [one.passed for one in attempts([ran(failing, False), ran(passing, True)])] == [False]


def test_what_was_changed_and_where_it_then_worked_are_both_the_repair() -> None:
    events = [ran("mvn test", False), edited("backend/pom.xml", "1", "2"), ran("mvn -f backend/pom.xml test", True)]

    assert attempts(events)[0].strategy == "edit backend/pom.xml: 1 -> 2; run it as `mvn -f backend/pom.xml test`"


@pytest.mark.parametrize(
    "asked", ["java -version", "bazel query //lib:all", "xcrun simctl list devices", "kubectl get pods", "dotnet --info"]
)
def test_what_only_asks_is_no_part_of_a_repair(asked: str) -> None:
    events = [ran("./gradlew test", False), ran(asked, True), ran("JAVA_HOME=/jdk17 ./gradlew test", True)]

    assert attempts(events)[0].strategy == "set JAVA_HOME"


@pytest.mark.parametrize(
    ("failing", "mending"),
    [
        ("ruff check src", "ruff check src --fix"),
        ("eslint src", "npx eslint src --fix"),
        ("prettier --check .", "prettier --write ."),
        ("black --check .", "black ."),
        ("ruff format --check", "ruff format"),
        ("cargo fmt --check", "cargo fmt"),
        ("npm run lint", "npm run lint:fix"),
        ("npm run lint", "npm run lint -- --fix"),
    ],
)
def test_a_linter_that_rewrites_is_the_repair_of_what_it_found_and_of_no_test(failing: str, mending: str) -> None:
    events = [ran("pytest", False), ran(failing, False), ran(mending, True), ran(failing, True), ran("pytest", True)]
    assert [one.strategy for one in attempts(events)] == [f"run {mending}", ""]


@pytest.mark.parametrize(
    "checking", ["ruff check src", "black --check .", "ruff format --diff", "cargo fmt --check", "eslint src"]
)
def test_a_linter_that_only_looks_repairs_nothing(checking: str) -> None:
    events = [ran("mypy src", False), ran(checking, True), ran("mypy src", True)]
    assert [one.strategy for one in attempts(events)] == [""]


def test_a_tidied_or_locked_list_of_packages_is_a_repair() -> None:
    for mend in ("go mod tidy", "poetry lock", "flutter pub get"):
        (one,) = attempts([ran("go test ./...", False), ran(mend, True), ran("go test ./...", True)])
        assert (one.passed, one.strategy) == (True, f"run {mend}")


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("ERROR: no such target '//lib:money'\nERROR: Build did NOT complete successfully", "ERROR: no such target 'lib:money'"),
        ("Could not determine java version from 'x'.\nBUILD FAILED in 1s", "Could not determine java version from 'x'."),
        (
            "Could not find rails in locally installed gems\nRun `bundle install` to install missing gems.",
            "Could not find rails in locally installed gems",
        ),
        ("error: could not compile `shop`", "error: could not compile `shop`"),
        ("make: *** [all] Error 2", "make: *** [all] Error 2"),
    ],
)
def test_the_error_is_neither_advice_nor_a_conclusion_where_another_line_says_more(output: str, error: str) -> None:
    assert error_of(output) == error
