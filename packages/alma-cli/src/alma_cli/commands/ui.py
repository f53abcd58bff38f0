"""`alma ui`."""

import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from alma.errors import ConfigurationError, MissingDependencyError, ValidationError, install_line
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json, printable, write_text
from alma_cli.progress import bar


def ui(
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="The agent whose memory is shown first.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="The port to listen on; 0: any free one.", show_default="8765")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Open the page of a server that runs already on this memory, as http://127.0.0.1:8765."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the page with what it shows to a folder, to keep or to send.")
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """See what this memory holds, in the browser, and mend it.

    Serves the page on this machine until it is stopped by Ctrl-C. The address that it prints lets one browser in, within a minute. With
    --export, nothing is served: the folder has all that the page needs to be read, also from a disk, and no more.

    \b
    Examples:
      alma ui
      alma ui --agent helena --port 0
      alma ui --no-browser
      alma ui --server http://127.0.0.1:8765
      alma ui --export memory-page
    """
    if export is not None and (server is not None or port is not None):
        raise ValidationError("--export serves nothing; leave out --server and --port")
    if server is not None and port is not None:
        raise ValidationError("--server has a port of its own; leave out --port")
    if find_spec("alma_server") is None:
        raise MissingDependencyError(f"the page belongs to the server, which is not installed: {install_line('server')}")
    if export is not None:
        _export(config, export, json=json)
        return
    from alma_server.command import show_page

    def show(address: str) -> None:
        print_json({"address": address}) if json else write_text(f"{address}\n")
        sys.stdout.flush()
        if browser:  # in a thread, as a browser within the terminal returns only when it is closed
            Thread(target=webbrowser.open, args=(address,), daemon=server is None).start()

    show_page(config, show, port=port, server=server, agent=agent)


def _export(config: Path | None, folder: Path, *, json: bool) -> None:
    """Writes the page to a new folder, an empty one, or that of a former export."""
    from alma import ALMA
    from alma.config import load_settings
    from alma.files import checked_target, new_file
    from alma_server.snapshot import snapshot_files

    settings = config_path(config)
    _check_folder(folder)
    with ALMA.from_config(settings, create=False) as alma, bar("Reading the memory", is_hidden=json) as progress:
        files = snapshot_files(alma, progress)
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, content in files.items():
        with new_file(checked_target((folder / name).absolute(), load_settings(settings).storage_dir)) as file:
            file.write(content)
    size = sum(map(len, files.values()))
    if json:
        print_json({"folder": str(folder.absolute()), "files": list(files), "bytes": size})
    else:
        write_text(
            printable(f"Wrote {folder.absolute() / 'index.html'} and {len(files) - 1} files beside it ({size / 1024:,.0f} kB)\n")
        )


def _check_folder(folder: Path) -> None:
    from alma_server.snapshot import BEGINNING, DATA

    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ConfigurationError(f"{folder} is no folder; name another one")
    if not folder.exists() or not any(folder.iterdir()):
        return
    data = folder / DATA
    if data.is_symlink() or not data.is_file() or not data.read_bytes().startswith(BEGINNING.encode()):
        raise ConfigurationError(f"{folder} holds other files; name a new folder")
