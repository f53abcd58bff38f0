"""For every suite: no network beyond this machine, and `--every-suite-runs`, which makes an empty or skipped suite a failure."""

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LOCAL_NAMES = {None, "", "localhost", b"", b"localhost"}


class NetworkBlockedError(RuntimeError):
    """A test tried to reach another machine."""


def _is_local(host: object) -> bool:
    if host in _LOCAL_NAMES:
        return True
    text = host.decode() if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _check(host: object) -> None:
    if not _is_local(host):
        raise NetworkBlockedError(f"tests may only reach this machine, not {host!r}")


class _LocalSocket(socket.socket):
    """A socket that connects and sends to loopback and Unix addresses only."""

    def _check_address(self, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _check(address[0])

    def connect(self, address: Any, /) -> None:
        self._check_address(address)
        super().connect(address)

    def connect_ex(self, address: Any, /) -> int:
        self._check_address(address)
        return super().connect_ex(address)

    def sendto(self, *arguments: Any) -> int:
        self._check_address(arguments[-1])
        return super().sendto(*arguments)


@pytest.fixture(autouse=True, scope="session")
def only_this_machine() -> Iterator[None]:
    """Blocks connections and name look-ups that leave this machine, for the whole run."""
    look_up = socket.getaddrinfo

    def local_look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        _check(host)
        return look_up(host, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "socket", _LocalSocket)
        patch.setattr(socket, "getaddrinfo", local_look_up)
        yield


class SuiteWatch:
    """Notes which tests ran, and fails the run when a path given on the command line had none."""

    def __init__(self, suites: list[Path]) -> None:
        self.suites = suites
        self.ran: set[Path] = set()
        self.idle: list[Path] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and not report.skipped:
            self.ran.update(suite for suite in self.suites if report.user_properties is not None and _holds(suite, report))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.idle = [suite for suite in self.suites if suite not in self.ran]
        if self.idle and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for suite in self.idle:
            terminalreporter.write_line(f"SUITE DID NOT RUN: {suite} collected nothing or was skipped whole", red=True)


def _holds(suite: Path, report: pytest.TestReport) -> bool:
    return Path(report.fspath).is_relative_to(suite)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-suite-runs", action="store_true", help="fail unless each path given ran at least one test that was not skipped"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--every-suite-runs"):
        config.pluginmanager.register(SuiteWatch([Path(argument) for argument in config.args]))
