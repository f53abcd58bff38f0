"""The commands under one name, and the handling of errors."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer

from alma import __version__
from alma.errors import AlmaError
from alma.text import one_line
from alma_cli.exits import EXIT_CODES, Exit, exit_code
from alma_cli.options import asks_for_json
from alma_cli.output import discard_rest, print_failure

_PIPE_CLOSED = 141
"""Exit code of programs that a closed pipe ends. The output was cut off, so no other code would be true."""

_CONNECT = "Connect agents"
"""Group of `alma serve` and of the commands that other packages add."""

_JSON = "alma.json"
"""Context key that holds whether JSON was requested. It is set before the arguments are parsed, so that wrong ones are reported as JSON
too."""


_MODULES = {
    "Begin": "init demo doctor help_",
    "Learn and ask": "learn add retrieve strategies check assess explain wakeup",
    "Look after it": "ui list_ show stats report review history undo forget maintain quarantine redact",
    "Around a task": "sessions work workflow ingest_traces",
    "Files and stores": "verify backup compact export import_ migrate pg_setup reindex keygen encrypt decrypt rotate_key",
    _CONNECT: "serve token webhooks",
}
"""The modules of the commands by group, in the order of the help. Each has a function of its own name, or an `app` of several commands."""

_GROUPS = {
    module.rstrip("_").replace("_", "-"): (module, group) for group, modules in _MODULES.items() for module in modules.split()
}
"""Module and group of each command."""


class _OwnCommands(Mapping[str, Any]):
    """The commands of this package by name. Each is imported and made when it is looked up: a call needs one of them."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            module, group = _GROUPS[name]
            found = import_module(f"alma_cli.commands.{module}")
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            if hasattr(found, "app"):
                alone.add_typer(found.app, name=name, rich_help_panel=group)
                self._made[name] = vars(typer.main.get_command(alone))["commands"][name]
            else:
                settings = getattr(found, "PASSED_ON", None)
                alone.command(name, context_settings=settings, rich_help_panel=group)(getattr(found, module))
                self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_GROUPS)

    def __len__(self) -> int:
        return len(_GROUPS)


class _Commands(typer.core.TyperGroup):
    """Reports an error in one line on standard error, and with `--json` as JSON on standard output. The exit code depends on the kind of
    error."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _OwnCommands()  # type: ignore[assignment] # typer only reads it

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_JSON] = asks_for_json(args)
        with _reported(ctx):
            return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands, *sorted(set(_of_packages()) - set(self.commands))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns a command of this package, else one that another package adds by an entry point of the group `alma.commands`."""
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name not in (added := _of_packages()):
            return known
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name, rich_help_panel=_CONNECT)(added[cmd_name].load())
        return typer.main.get_command(single)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands in their groups, each with its whole sentence. typer has groups in its boxes for terminals alone."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            groups.setdefault(command.rich_help_panel, []).append((name, command.get_short_help_str(limit=1_000)))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        with _reported(ctx):
            return super().invoke(ctx)


def _of_packages() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="alma.commands")}


@contextmanager
def _reported(ctx: Any) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError as error:
        discard_rest(sys.stdout)
        raise typer.Exit(_PIPE_CLOSED) from error
    except Exception as error:
        _advise(error)
        if ctx.meta[_JSON]:
            print_failure(error)
        if not isinstance(error, AlmaError | OSError) or ctx.params.get("debug"):
            raise
        print(f"alma: {one_line(str(error))}", file=sys.stderr)
        raise typer.Exit(exit_code(error)) from error


def _advise(error: Exception) -> None:
    """Adds to the message of typer about words that are left over why they are."""
    if "extra argument" in (said := getattr(error, "message", "")):
        vars(error)["message"] = f"{said.rstrip('.')}; put a text of several words in quotes"


app = typer.Typer(
    name="alma",
    cls=_Commands,
    no_args_is_help=True,
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
      alma learn -a helena -t "Test the login form" -o success
      alma retrieve "Test the sign-up form" -a helena
      alma help retrieve       show its options, with examples
    """


def run() -> None:
    """Runs the command line of the process."""
    _check_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code: object = Exit.PROBLEM
    try:
        app(prog_name="alma")
    except SystemExit as ended:
        code = ended.code
        raise
    finally:
        if not _is_flushed() and not code:
            raise SystemExit(Exit.STORAGE)


def _check_streams() -> None:
    """Ends the process if standard output is closed, because nothing could be reported; nothing is read or written then.

    Closed standard input and error are replaced by a null device. Python has `None` for a closed stream, and `print` would write to
    standard output instead.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        print("alma: standard output is closed", file=sys.stderr)
        raise SystemExit(_PIPE_CLOSED)


def _is_flushed() -> bool:
    """Flushes standard output. Returns False if that failed, as on a full disk; a missing reader is no failure, because the work is
    done."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_rest(sys.stdout)
    except OSError as error:
        discard_rest(sys.stdout)
        print(f"alma: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return False
    return True
