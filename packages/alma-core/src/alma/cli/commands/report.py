"""`alma report`."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from alma.cli.options import ConfigOption, JsonOption, config_path
from alma.cli.output import print_json, printable


def report(
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - for standard output.")] = "alma-report.html",
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    top: Annotated[int, typer.Option(help="So many of the memories with the most evidence.")] = 20,
    recent: Annotated[int, typer.Option(help="So many of the newest episodes and journal records.")] = 20,
    verify: Annotated[bool, typer.Option(help="Check the store as well, as `alma verify` does.")] = True,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Write what the project remembers as one HTML page, for people.

    The page loads nothing and runs nothing: it can be kept, mailed, printed.

    \b
    Examples:
      alma report
      alma report --output memory.html --open
      alma report --no-verify --json
    """
    from alma import ALMA
    from alma.report import html_report

    with ALMA.from_config(config_path(config)) as alma:
        view = alma.overview(top=top, recent=recent, verify=verify)
    page = html_report(view)
    if output == "-" and not json:
        sys.stdout.write(page)
        return
    path = _written(page, output) if output != "-" else None
    if json:
        print_json({"file": str(path) if path else None, "overview": view.model_dump(mode="json")})
    else:
        print(printable(f"Wrote {path} ({len(page.encode()) / 1024:,.0f} kB)"))
    if open_it and path:
        webbrowser.open(path.as_uri())


def _written(page: str, output: str) -> Path:
    path = Path(output).resolve()
    path.write_text(page, encoding="utf-8")
    return path
