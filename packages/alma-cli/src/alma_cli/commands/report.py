"""`alma report`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import print_json, printable, write_text
from alma_cli.writing import checked_output


def report(
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - for standard output.")] = "alma-report.html",
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    top: Annotated[int, typer.Option(help="Number of memories shown, those used and tried most.")] = 20,
    recent: Annotated[int, typer.Option(help="Number of the newest episodes and journal records shown.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file that is no report of ALMA.")] = False,
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
    from alma.config import load_settings
    from alma.files import checked_target
    from alma_cli.report import html_report

    settings = config_path(config)
    path = None if output == "-" else checked_output(output, settings, may_replace=force or _is_report(output))
    if path:
        path = checked_target(path.absolute(), load_settings(settings).storage_dir)
    with ALMA.from_config(settings, create=False) as alma:
        view = alma.overview(top=top, recent=recent, verify=verify)
    page = html_report(view)
    if path:
        _write(page, path)
    elif not json:
        write_text(page)
        return
    if json:
        print_json({"file": str(path) if path else None, "overview": view.model_dump(mode="json")})
    else:
        write_text(printable(f"Wrote {path} ({len(page.encode()) / 1024:,.0f} kB)\n"))
    if open_it and path:
        webbrowser.open(path.as_uri())


def _is_report(output: str) -> bool:
    from alma_cli.report import is_report

    path = Path(output)
    if path.is_symlink() or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return is_report(file.read(1000))


def _write(page: str, path: Path) -> None:
    from alma.files import new_file

    with new_file(path) as file:
        file.write(page.encode())
