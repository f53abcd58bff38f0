"""The command `python -m alma.mcp`: its arguments, and running the server until its clients are gone."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from alma.errors import AlmaError, ConfigurationError
from alma_access import ANY, NONE, Access
from alma_access.serving.config_file import nearest_config
from alma_mcp.limits import MAX_BODY

PORT = 8765
TOKEN_VARIABLE = "ALMA_MCP_TOKEN"  # noqa: S105 - the name of a variable
USAGE = 2


def main(arguments: Sequence[str] | None = None, *, program: str = "python -m alma.mcp") -> None:
    """Runs the server, or manages its tokens. Errors are one line on standard error, and exit code 2."""
    given = _parser(program).parse_args(arguments)
    try:
        _run(given)
    except (AlmaError, OSError) as error:
        print(f"alma: {error}", file=sys.stderr)
        raise SystemExit(USAGE) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _run(given: argparse.Namespace) -> None:
    config = given.config or nearest_config()
    if given.new_token or given.tokens or given.revoke_token:
        from alma_mcp.managing import bound, manage

        folder, project = _store(config)
        manage(given, folder, bound(_access_of_token(given), project))
        return
    gc.disable()  # what is imported stays: looking for garbage in it takes a tenth of the start
    from alma_mcp import running

    access = Access(agent=given.agent or ANY, user_id=given.user_id or ANY)
    if given.http or given.transport != "stdio":
        folder, project = _store(config)
        running.serve_http(
            config,
            folder=folder,
            project=project,
            profile=given.profile,
            access=access,
            host=given.host,
            port=given.port,
            allowed_hosts=given.allowed_host,
            allowed_origins=given.allowed_origin,
            max_body=given.max_body,
            token=os.environ.get(TOKEN_VARIABLE),
        )
    else:
        if not config.is_file():
            _store(config)  # raises what says so
        running.serve_stdio(config, profile=given.profile, access=access)


def _store(config: Path) -> tuple[Path, str]:
    """Returns the folder of the store and the project that the configuration names."""
    from alma.config import load_settings

    settings = load_settings(config)
    return Path(settings.storage_dir), settings.project_id


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Serves an agent's memory to MCP clients: on standard input and output, or over HTTP.",
        epilog="Without --agent, each call names its agent. docs/guides/mcp.md has the tools, the profiles and the files of clients.",
    )
    parser.add_argument(
        "-c", "--config", type=Path, help="the configuration file (default: .alma/config.yaml, here or in a folder above)"
    )
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp instead of standard input and output")
    parser.add_argument(
        "--transport", choices=("stdio", "http", "streamable-http"), default="stdio", help="the same in other words"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)")
    parser.add_argument("--port", type=int, default=PORT, help=f"the port to listen on (default: {PORT}; 0: any free one)")
    parser.add_argument(
        "--profile", default="core", help="core (default), self, workflow, all, or a list of profiles and tools with commas"
    )
    parser.add_argument("--agent", type=_name, help="bind to this agent: no call can act as another")
    parser.add_argument("--user-id", type=_name, help="bind to this user: no call can name another")
    http = parser.add_argument_group("HTTP")
    http.add_argument(
        "--allowed-host", action="append", default=[], metavar="HOST[:PORT]", help="accept this Host header too; may be repeated"
    )
    http.add_argument(
        "--allowed-origin", action="append", default=[], metavar="ORIGIN", help="accept this Origin header; may be repeated"
    )
    http.add_argument("--max-body", type=_bytes, default=MAX_BODY, metavar="BYTES", help=f"largest request (default: {MAX_BODY})")
    tokens = parser.add_argument_group(
        "tokens",
        f"Over HTTP each client needs a token. {TOKEN_VARIABLE} in the environment is the only one then, bound by --agent and --user-id.",
    )
    tokens.add_argument("--new-token", metavar="NAME", help="make a token for --agent and --user-id, print it once, and exit")
    tokens.add_argument("--no-user", action="store_true", help="with --new-token: the client can name no user")
    tokens.add_argument("--tokens", action="store_true", help="list the tokens by name, and exit")
    tokens.add_argument("--revoke-token", metavar="NAME", help="remove a token, and exit")
    return parser


def _name(value: str) -> str:
    if not value.strip() or value in (ANY, NONE) or len(value) > 200 or not value.isprintable():
        raise argparse.ArgumentTypeError(f"{value!r} is not the name of an agent or a user")
    return value


def _bytes(value: str) -> int:
    if not value.isascii() or not value.isdigit() or len(value) > 18 or int(value) == 0:
        raise argparse.ArgumentTypeError(f"{value[:200]!r} is not a number of bytes, 1 or more")
    return int(value)


def _access_of_token(given: argparse.Namespace) -> Access:
    """Returns what the arguments bind a token to: any agent and any user where they name none."""
    if given.no_user and given.user_id:
        raise ConfigurationError("--no-user and --user-id contradict each other")
    return Access(agent=given.agent or ANY, user_id=NONE if given.no_user else given.user_id or ANY)
