"""`alma token`: the tokens with which clients reach a server of this memory."""

import re
import sys
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import MissingDependencyError, ValidationError, install_line
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable, table, write_text
from alma_cli.server_options import (
    DEFAULT_RIGHTS,
    ExpiresOption,
    NoUserOption,
    OnlyAgentOption,
    OnlyUserOption,
    ProjectsOption,
    RightsOption,
    SourceOption,
)

if TYPE_CHECKING:
    from alma.config import Settings
    from alma_access import Access, Token, TokenFile

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SESSION = "page-"
_LONGEST = timedelta(days=3650)

NameArgument = Annotated[str, typer.Argument(help="The name of the token, as in `alma token list` and in logs.")]


@app.callback()
def token() -> None:
    """Make, list and revoke the tokens of clients that reach this memory over MCP or HTTP. `alma token create --help` has the options.

    \b
    Examples:
      alma token create laptop --agent helena
      alma token create web --agent helena --user maria --expires 30d
      alma token create nightly --agent tests --right write --source tool
      alma token list --json
      alma token revoke laptop
    """


@app.command()
def create(
    name: NameArgument,
    project: ProjectsOption = None,
    agent: OnlyAgentOption = None,
    user: OnlyUserOption = None,
    no_user: NoUserOption = False,
    right: RightsOption = None,
    source: SourceOption = "agent",
    expires: ExpiresOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Make a token and print it. It is shown only now: a hash of it is kept.

    \b
    Examples:
      alma token create laptop --agent helena
      alma token create web --agent helena --user maria --expires 30d
      alma token create operator --project '*' --right read --right admin --json
    """
    file, settings = _opened(config)
    if name.startswith(_SESSION):
        raise ValidationError(f"names that begin with {_SESSION} are those of sessions of `alma ui`; choose another one")
    if user is not None and no_user:
        raise ValidationError("--user and --no-user contradict each other")
    access = _access(
        agent=agent, user=user, no_user=no_user, projects=project or [settings.project_id], rights=right, source=source
    )
    secret = file.add(name, access, expires=_end(expires))
    made = file.tokens()[name]
    if json:
        print_json({"secret": secret, "token": _shown(made)})
        return
    write_text(f"{secret}\n")
    if sys.stdout.isatty():
        console(stderr=True).print(
            printable(f"Token {name!r} for {access} in {_projects(made)}; shown only now."), soft_wrap=True
        )


@app.command("list")
def list_(config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the tokens without their secrets.

    Shows what each is bound to, when it expires, when it was last used.

    \b
    Examples:
      alma token list
      alma token list --json
    """
    tokens = list(_opened(config)[0].tokens().values())
    if json:
        print_json({"tokens": [_shown(each) for each in tokens]})
        return
    if not tokens:
        console().print("There is no token. `alma token create NAME` makes one.", soft_wrap=True)
        return
    columns = ("name", "id", "projects", "for", "rights", "source", "expires (UTC)", "last used (UTC)")
    console().print(table(columns, [_row(each) for each in tokens]))


@app.command()
def revoke(name: NameArgument, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Remove a token. A running server refuses it from the next request on.

    \b
    Examples:
      alma token revoke laptop
    """
    _opened(config)[0].revoke(name)
    if json:
        print_json({"revoked": name})
    else:
        console().print(printable(f"Revoked {name!r}: a running server refuses it from now on."), soft_wrap=True)


def _opened(config: Path | None) -> "tuple[TokenFile, Settings]":
    if find_spec("alma_access") is None:
        raise MissingDependencyError(f"no server is installed that takes tokens: {install_line('server')}")
    from alma.config import load_settings
    from alma_access import TokenFile

    settings = load_settings(config_path(config))
    return TokenFile(Path(settings.storage_dir)), settings


def _access(
    *, agent: str | None, user: str | None, no_user: bool, projects: list[str], rights: list[str] | None, source: str
) -> "Access":
    from alma_access import ANY, NONE, Access

    for option, given in (("--agent", agent), ("--user", user), *(("--project", each) for each in projects if each != ANY)):
        if given is not None and (not given.strip() or given == ANY or len(given) > 200 or not given.isprintable()):
            raise ValidationError(f"{option} needs a name of 1 to 200 printable characters")
    return Access(
        agent=ANY if agent is None else agent,
        user_id=NONE if no_user else ANY if user is None else user,
        projects=tuple(dict.fromkeys(projects)),
        rights=frozenset(rights or DEFAULT_RIGHTS),
        source=source,
    )


def _end(expires: str | None) -> int | None:
    """Returns when a token ends that is valid for a time such as `30d` from now on, in microseconds since 1970."""
    if expires is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,4})([mhdw])", expires.strip())
    if found is None or (length := timedelta(**{_UNITS[found[2]]: int(found[1])})) > _LONGEST:
        raise ValidationError("--expires is a number and a unit, m, h, d or w, such as 30d; at most ten years")
    return int((datetime.now(UTC) + length).timestamp() * 1_000_000)


def _shown(token: "Token") -> dict[str, Any]:
    return {
        "name": token.name,
        "id": token.id,
        "projects": list(token.access.projects),
        "agent": token.access.agent,
        "user_id": token.access.user_id,
        "rights": sorted(token.access.rights),
        "source": token.access.source,
        "expires": _time(token.expires),
        "expired": token.is_expired(),
        "last_used": _time(token.last_used),
    }


def _row(token: "Token") -> tuple[str, ...]:
    end = "never" if token.expires is None else f"{_minute(token.expires)}{' (expired)' if token.is_expired() else ''}"
    used = "never" if token.last_used is None else _minute(token.last_used)
    rights = ", ".join(sorted(token.access.rights))
    return (token.name, token.id, _projects(token), str(token.access), rights, token.access.source, end, used)


def _projects(token: "Token") -> str:
    return ", ".join("all projects" if each == "*" else each for each in token.access.projects)


def _time(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1_000_000, UTC).isoformat()


def _minute(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1_000_000, UTC):%Y-%m-%d %H:%M}"
