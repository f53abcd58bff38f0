"""A project as one page for people, which `alma report` and `alma ui --export` write."""

from importlib.util import find_spec
from pathlib import Path

from alma.errors import MissingDependencyError, install_line
from alma_cli.output import printable, write_text
from alma_cli.progress import bar


def require_page() -> None:
    """`MissingDependencyError` where the page is not installed."""
    if find_spec("alma_server") is None:
        raise MissingDependencyError(f"the page belongs to the server, which is not installed: {install_line('server')}")


def read_page(settings: Path, *, is_hidden: bool) -> bytes:
    """Returns the page of a project, and shows the progress unless it `is_hidden`."""
    from alma import ALMA
    from alma_server.snapshot import snapshot_page

    with ALMA.from_config(settings, create=False) as alma, bar("Reading the memory", is_hidden=is_hidden) as progress:
        return snapshot_page(alma, progress)


def is_page(path: Path) -> bool:
    """Returns True for a page that was written before; a link is none."""
    from alma_server.snapshot import is_snapshot

    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return is_snapshot(file.read(500))


def write_page(page: bytes, path: Path) -> None:
    """Writes a page whole or not at all, readable by its owner alone."""
    from alma.files import new_file

    with new_file(path) as file:
        file.write(page)


def tell_page(path: Path, page: bytes) -> None:
    """Says where a page is, and its size."""
    write_text(printable(f"Wrote {path} ({len(page) / 1024:,.0f} kB)\n"))
