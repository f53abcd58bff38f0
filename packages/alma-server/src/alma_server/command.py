"""The command `alma serve`: its arguments, and running the server until it is asked to end."""

import argparse
import gc
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alma.config import load_settings, settings_block
from alma.errors import AlmaError
from alma.files import new_file
from alma_access import TokenFile
from alma_access.serving.config_file import nearest_config
from alma_server.options import PORT, Options, ServerBlock, check_options

KEY_FILE = "server.key"
USAGE = 2


def main(arguments: Sequence[str] | None = None, *, program: str = "alma serve") -> None:
    """Runs the server. Errors are one line on standard error, and exit code 2."""
    given = _parser(program).parse_args(arguments)
    gc.disable()  # until all is imported, which stays
    try:
        options = read_options(given)
        from alma_server.running import serve

        serve(options)
    except (AlmaError, OSError) as error:
        print(f"alma: {error}", file=sys.stderr)
        raise SystemExit(USAGE) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def read_options(given: argparse.Namespace) -> Options:
    """Returns the options of a configuration and a command line; the latter go first. `ConfigurationError` for what cannot be served."""
    config = given.config or nearest_config()
    settings = load_settings(config)
    stated = {name: value for name in ServerBlock.model_fields if (value := getattr(given, name, None)) is not None}
    block = settings_block(ServerBlock, {**(settings.server or {}), **stated}, "server")
    check_options(block)
    folder = Path(settings.storage_dir)
    return Options(
        config=config,
        folder=folder,
        project=settings.project_id,
        profile=given.profile,
        block=block,
        cursor_key=_cursor_key(folder),
        webhooks=settings.webhooks,
    )


def _cursor_key(folder: Path) -> bytes:
    """Returns the key that signs cursors, which is made once beside the store, for its owner only."""
    file = folder / KEY_FILE
    if not file.exists():
        with TokenFile(folder).locked():  # of several first starts at once one makes it
            if not file.exists():
                with new_file(file) as made:
                    made.write(secrets.token_bytes(32))
    return file.read_bytes()


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Serves a memory to agents and programs: the HTTP API at /v1, and the MCP server at /mcp, on one port.",
        epilog="Each option is also a key of the block `server:` of the configuration. docs/guides/server.md has more.",
    )
    add: Any = parser.add_argument
    add("-c", "--config", type=Path, help="the configuration file (default: .alma/config.yaml, here or in a folder above)")
    add("--only", choices=("api", "mcp", "ui"), help="serve this alone")
    add("--host", help="the address to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=int, help=f"the port to listen on (default: {PORT}; 0: any free one)")
    add("--workers", type=int, metavar="N", help="processes that serve the port (default: 1)")
    add("--root-path", metavar="PATH", help="the path under which a proxy shows this server, as /alma")
    add(
        "--allowed-host",
        action="append",
        dest="allowed_hosts",
        metavar="HOST[:PORT]",
        help="accept this Host header too; may be repeated",
    )
    add(
        "--allowed-origin",
        action="append",
        dest="allowed_origins",
        metavar="ORIGIN",
        help="accept pages of this origin; may be repeated",
    )
    add("--certificate", type=Path, metavar="FILE", help="serve TLS with this certificate")
    add("--certificate-key", type=Path, metavar="FILE", help="the key of the certificate")
    add(
        "--insecure-public", action="store_true", default=None, help="listen on an address that other machines reach, without TLS"
    )
    add("--max-body", type=int, metavar="BYTES", help="largest request (default: 1048576)")
    add("--no-legacy", action="store_false", dest="legacy", default=None, help="do not answer clients of alma-memory at POST /")
    add("--profile", default="core", help="tools of the MCP server: core (default), self, workflow, all, or a list with commas")
    return parser
