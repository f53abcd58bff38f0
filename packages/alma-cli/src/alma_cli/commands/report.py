"""`alma report`."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json
from alma_cli.pages import is_page, read_page, require_page, tell_page, write_page
from alma_cli.writing import checked_output


def report(
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - for standard output.")] = "alma-report.html",
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    top: Annotated[int, typer.Option(help="With --json: number of memories listed, those used and tried most.")] = 20,
    recent: Annotated[int, typer.Option(help="With --json: number of the newest episodes and journal records listed.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file that is no report of ALMA.")] = False,
    verify: Annotated[bool, typer.Option(help="With --json: check the store as well, as `alma verify` does.")] = True,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Write what the project remembers as one HTML page, for people.

    It is the page of `alma ui` with all that it shows, in one file: it loads nothing and can be read without a server, kept and mailed.
    --json prints figures of the project besides; with `--output -`, nothing but them.

    \b
    Examples:
      alma report
      alma report --output memory.html --open
      alma report --output - --no-verify --json
    """
    settings = config_path(config)
    path = None if output == "-" else _checked_path(output, settings, force=force)
    figures = _figures(settings, top=top, recent=recent, verify=verify) if json else None
    if path is not None:
        page = read_page(settings, is_hidden=json)
        write_page(page, path)
    if figures is not None:
        print_json({"file": str(path) if path else None, "overview": figures})
    elif path is not None:
        tell_page(path, page)
    else:
        require_page()
        sys.stdout.buffer.write(read_page(settings, is_hidden=True))
    if open_it and path:
        webbrowser.open(path.as_uri())


def _checked_path(output: str, settings: Path, *, force: bool) -> Path:
    from alma.config import load_settings
    from alma.files import checked_target

    require_page()
    path = checked_output(output, settings, may_replace=force or is_page(Path(output)))
    return checked_target(path.absolute(), load_settings(settings).storage_dir)


def _figures(settings: Path, *, top: int, recent: int, verify: bool) -> object:
    from alma import ALMA

    with ALMA.from_config(settings, create=False) as alma:
        return alma.overview(top=top, recent=recent, verify=verify).model_dump(mode="json")
