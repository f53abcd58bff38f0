"""`alma ui`."""

import sys
import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from alma.errors import ConfigurationError, ValidationError
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json, write_text
from alma_cli.pages import is_page, read_page, require_page, tell_page, write_page


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
    --export, nothing is served: the page in the folder is one file with all that it shows, to be read without a server.

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
    require_page()
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
    from alma.config import load_settings
    from alma.files import checked_target

    settings, path = config_path(config), (folder / "index.html").absolute()
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ConfigurationError(f"{folder} is no folder; name another one")
    if folder.exists() and any(folder.iterdir()) and not is_page(path):
        raise ConfigurationError(f"{folder} holds other files; name a new folder")
    page = read_page(settings, is_hidden=json)
    checked_target(path, load_settings(settings).storage_dir)
    folder.mkdir(mode=0o700, exist_ok=True)
    write_page(page, path)
    if json:
        print_json({"file": str(path), "bytes": len(page)})
    else:
        tell_page(path, page)
