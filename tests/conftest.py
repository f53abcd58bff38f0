"""For every suite: no network beyond this machine, temporary files in memory, a limit of time for each test, and `--every-suite-runs`, which makes
an idle suite a failure."""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest

from memory_folder import keep_temporary_files_in_memory
from offline import block_network
from time_limit import time_limit


class SuiteWatch:
    """Fails the run when a path given on the command line collected nothing or was skipped whole."""

    def __init__(self, root: Path, suites: list[Path]) -> None:
        self.root = root
        self.suites = suites
        self.busy: set[Path] = set()

    @property
    def idle(self) -> list[Path]:
        return [suite for suite in self.suites if suite not in self.busy]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and not report.skipped:
            test_file = self.root / report.fspath
            self.busy.update(suite for suite in self.suites if test_file.is_relative_to(suite))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_worker = hasattr(session.config, "workerinput")  # of pytest-xdist: each runs a part, the controller hears of all
        if self.idle and not is_worker and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for suite in self.idle:
            terminalreporter.write_line(f"IDLE SUITE: {suite} collected nothing or was skipped whole", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every-suite-runs", action="store_true", help="fail unless every path given ran a test")
    parser.addoption(
        "--limit",
        type=float,
        default=100,
        metavar="SECONDS",
        help="after which a test fails; one marked `slow` has twice the time",
    )
    parser.addoption(
        "--api-examples", type=int, default=300, metavar="N", help="requests made up for each kind of token of the HTTP API"
    )
    parser.addoption(
        "--store", choices=("sqlite", "file", "postgres"), default="sqlite", help="the store of façade tests; see store_fixtures"
    )


def pytest_configure(config: pytest.Config) -> None:
    block_network()
    keep_temporary_files_in_memory()
    if config.getoption("--every-suite-runs"):
        start = config.invocation_params.dir
        suites = [(start / argument.partition("::")[0]).resolve() for argument in config.args]
        config.pluginmanager.register(SuiteWatch(config.rootpath, suites))


def pytest_collection_finish() -> None:
    """Spares the garbage collector the walk through all that was imported and collected, which stays anyway."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with time_limit(_seconds_for(item)):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with time_limit(_seconds_for(item)):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with time_limit(_seconds_for(item)):
        return (yield)


def _seconds_for(item: pytest.Item) -> float:
    seconds: float = item.config.getoption("--limit")
    return 2 * seconds if item.get_closest_marker("slow") else seconds
