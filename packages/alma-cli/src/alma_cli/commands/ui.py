"""`alma ui`."""

import sys
import webbrowser
from importlib.util import find_spec
from threading import Thread
from typing import Annotated

import typer

from alma.errors import MissingDependencyError, ValidationError, install_line
from alma_cli.options import ConfigOption, JsonOption
from alma_cli.output import print_json, write_text


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
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """See what this memory holds, in the browser, and mend it.

    Serves the page on this machine until it is stopped by Ctrl-C. The address that it prints lets one browser in, within a minute.

    \b
    Examples:
      alma ui
      alma ui --agent helena --port 0
      alma ui --no-browser
      alma ui --server http://127.0.0.1:8765
    """
    if server is not None and port is not None:
        raise ValidationError("--server has a port of its own; leave out --port")
    if find_spec("alma_server") is None:
        raise MissingDependencyError(f"the page belongs to the server, which is not installed: {install_line('server')}")
    from alma_server.command import show_page

    def show(address: str) -> None:
        print_json({"address": address}) if json else write_text(f"{address}\n")
        sys.stdout.flush()
        if browser:  # in a thread, as a browser within the terminal returns only when it is closed
            Thread(target=webbrowser.open, args=(address,), daemon=server is None).start()

    show_page(config, show, port=port, server=server, agent=agent)
