"""A transaction pooler of the tests' own: PgBouncer between clients and a server, on loopback."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from postgres_server import NOBODY, SUPERUSER, PostgresServer

PROGRAM = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = 4
logfile = {folder}/log
pidfile = {folder}/pid
"""
"""Fewer connections to the server than clients have, so that clients take turns on each."""


class Pooler:
    """PgBouncer in the mode `transaction`. It has the URL and the options of the server behind it, with a port of its own."""

    def __init__(self, server: PostgresServer) -> None:
        assert PROGRAM is not None
        self._server = server
        self._folder = Path(tempfile.mkdtemp(prefix="pgbouncer"))
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port = int(listening.getsockname()[1])
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server.port, user=SUPERUSER, port=self.port, folder=self._folder))
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(self._folder, NOBODY, NOBODY)
        self._process = subprocess.Popen(
            [PROGRAM, "-q", str(settings)],
            stdin=subprocess.DEVNULL,
            user=NOBODY if is_root else None,
            group=NOBODY if is_root else None,
            extra_groups=[] if is_root else None,
        )
        self._wait()

    def _wait(self) -> None:
        """Returns when it listens."""
        while True:
            if self._process.poll() is not None:
                raise RuntimeError(f"pgbouncer ended: {(self._folder / 'log').read_text()[-2000:]}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=0.1).close()
            except OSError:
                continue
            return

    @property
    def options(self) -> dict[str, object]:
        return {**self._server.options, "port": self.port}

    @property
    def url(self) -> str:
        return f"postgres://{SUPERUSER}@127.0.0.1:{self.port}/postgres"

    def stop(self) -> None:
        """Ends the program and deletes its folder."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
