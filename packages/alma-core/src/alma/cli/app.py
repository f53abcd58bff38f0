"""The commands under one name, and what happens to errors."""

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from alma import __version__
from alma.cli.commands import (
    add,
    assess,
    check,
    compact,
    demo,
    doctor,
    explain,
    export,
    forget,
    history,
    import_,
    init,
    learn,
    list_,
    maintain,
    reindex,
    report,
    retrieve,
    show,
    stats,
    strategies,
    undo,
    verify,
)
from alma.cli.exits import EXIT_CODES, exit_code
from alma.cli.output import stop_telling
from alma.errors import AlmaError
from alma.text import one_line

_NOBODY_READS = 141
"""As of programs that a closed pipe ends: the command was not told to its end, so no other code would be true."""


class _Commands(typer.core.TyperGroup):
    """Tells an error in one line on standard error; the exit code says which kind it was."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (AlmaError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                stop_telling(sys.stdout)
                raise typer.Exit(_NOBODY_READS) from error
            if ctx.params.get("debug"):
                raise
            print(f"alma: {one_line(str(error))}", file=sys.stderr)
            raise typer.Exit(exit_code(error)) from error


app = typer.Typer(
    name="alma",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"alma {__version__}")
        raise typer.Exit


@app.callback()
def alma(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
) -> None:
    """ALMA: a memory from which agents learn by outcomes.

    \b
    Start here:
      alma demo                watch it learn from real runs
      alma init                make a memory for this project
      alma learn --agent helena --task "Test the login form" --outcome success --strategy "Empty fields first"
      alma retrieve "Test the sign-up form" --agent helena
    """


for command in (
    init.init,
    demo.demo,
    learn.learn,
    retrieve.retrieve,
    explain.explain,
    strategies.strategies,
    check.check,
    assess.assess,
    stats.stats,
    history.history,
    undo.undo,
    forget.forget,
    maintain.maintain,
    compact.compact,
    reindex.reindex,
    report.report,
    verify.verify,
    doctor.doctor,
):
    app.command()(command)
_NAMED: dict[str, Callable[..., None]] = {
    "list": list_.list_,
    "show": show.show,
    "add": add.add,
    "export": export.export,
    "import": import_.import_,
}
for name, named in _NAMED.items():
    app.command(name)(named)


def run() -> None:
    """Runs the command that the process was started with."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="alma")
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:  # all was done, and nobody wants to read it: the command's own code stays
            stop_telling(sys.stdout)
