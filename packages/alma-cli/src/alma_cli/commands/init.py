"""`alma init`."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from alma.errors import ConfigurationError
from alma_cli.clients import CLIENTS, Entry, entry_for
from alma_cli.confirming import YesOption, confirm
from alma_cli.options import CONFIG_FILE, JsonOption
from alma_cli.output import console, print_json, printable
from alma_cli.template import config_text, hide_from_git, write_config


def init(
    project_id: Annotated[
        str | None, typer.Option("--project-id", "-p", show_default="the folder's name", help="Name of the project.")
    ] = None,
    agent: Annotated[list[str] | None, typer.Option("--agent", "-a", help="An agent to configure; may be repeated.")] = None,
    embedder: Annotated[str, typer.Option("--embedder", "-e", help="auto, minilm or hash.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Write over an existing configuration. Memories are kept.")] = False,
    client: Annotated[
        str | None, typer.Option("--client", help=f"Enter the MCP server at a client, after showing how: {', '.join(CLIENTS)}.")
    ] = None,
    yes: Annotated[bool, YesOption] = False,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Encrypt the new database, with a new key.")] = False,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            show_default="~/.config/alma/PROJECT.key",
            help="With --encrypt: the file of the key. One that is there is used, else a new key is written to it.",
        ),
    ] = None,
    config: Annotated[Path, typer.Option("--config", "-c", help="Where to write the configuration.")] = CONFIG_FILE,
    json: JsonOption = False,
) -> None:
    """Make a memory for this project: .alma/config.yaml and its database.

    With --client, an existing configuration is kept, and the file of that client gets an entry for the MCP server. With one --agent, the server
    is bound to it. With --json there is no question: without --yes it only reports.

    \b
    Examples:
      alma init
      alma init --project-id my-app --agent helena --agent victor
      alma init --embedder hash --force
      alma init --encrypt
      alma init --client claude-code --agent helena
    """
    _check_encryption(encrypt=encrypt, key_file=key_file, client=client)
    if client is not None:
        _enter(client, config, project_id=project_id, agents=agent or [], embedder=embedder, force=force, yes=yes, json=json)
        return
    if config.exists() and not force:
        raise ConfigurationError(f"{config} exists already; use --force to write a new one over it (memories are kept)")
    made = make_project(config, project_id=project_id, agents=agent or [], embedder=embedder, encrypt=encrypt, key_file=key_file)
    if json:
        print_json(made)
        return
    _report(made)
    console().print('Next: alma learn --agent helena --task "…" --outcome success --strategy "…"', soft_wrap=True)


def _check_encryption(*, encrypt: bool, key_file: Path | None, client: str | None) -> None:
    if key_file is not None and not encrypt:
        raise ConfigurationError("--key-file is for --encrypt")
    if encrypt and client is not None:
        raise ConfigurationError("give --encrypt first, then --client in a second call")


def _report(made: dict[str, str]) -> None:
    out = console()
    out.print(f"Wrote {made['config']}", soft_wrap=True)
    out.print(f"Database {made['database']}, project {made['project_id']!r}, embedder {made['embedder']}", soft_wrap=True)
    if "key_file" in made:
        out.print(
            printable(f"Encrypted with the key in {made['key_file']}. Keep a copy elsewhere: without it, all is lost."),
            soft_wrap=True,
        )


def _enter(
    client: str,
    config: Path,
    *,
    project_id: str | None,
    agents: list[str],
    embedder: str,
    force: bool,
    yes: bool,
    json: bool,
) -> None:
    """Adds the server to a client's file, and makes the project first if there is none."""
    entry = entry_for(client, config, agent=agents[0] if len(agents) == 1 else None)
    is_new = force or not config.exists()
    if not json:
        _show(entry)
        if not entry.is_there:
            confirm(f"Write {entry.file}?", yes=yes)
    is_written = not entry.is_there and (yes or not json)
    if is_new and (is_written or entry.is_there):
        made = make_project(config, project_id=project_id, agents=agents, embedder=embedder)
        if not json:
            _report(made)
    elif not is_new and not json:
        console().print(f"Kept {config} as it is", soft_wrap=True)
    if is_written:
        entry.write()
    if json:
        print_json({"client": client, "file": str(entry.file), "content": entry.after, "written": is_written})
    elif is_written:
        console().print(f"Wrote {entry.file}; restart {CLIENTS[client].title}, or reload its servers", soft_wrap=True)


def _show(entry: Entry) -> None:
    out = console()
    if entry.is_there:
        out.print(f"{entry.file} has the server already", soft_wrap=True)
        return
    out.print(f"{entry.file}{' as it will be' if entry.before is not None else ', a new file'}:", soft_wrap=True)
    out.print(printable(entry.after), soft_wrap=True)


def make_project(
    config: Path, *, project_id: str | None, agents: list[str], embedder: str, encrypt: bool = False, key_file: Path | None = None
) -> dict[str, str]:
    """Writes the configuration and creates the database. A configuration that does not load is removed again, and so is a key made for it."""
    from alma import ALMA
    from alma.config import load_settings, project_folder

    name = project_id if project_id is not None else project_folder(config, ".alma").name or "my-project"
    old = config.read_bytes() if config.is_file() else None
    key, is_new_key = _key_for(name, key_file) if encrypt else (None, False)
    try:
        write_config(config, config_text(project_id=name, agents=agents, embedder=embedder, key_file=key))
        settings = load_settings(config)
        with ALMA.from_config(config) as alma:
            chosen = alma.get_stats().embedder
    except BaseException:
        _put_back(config, old)
        if key is not None and is_new_key:
            key.unlink(missing_ok=True)  # nothing was encrypted with it
        raise
    hide_from_git(settings.storage_dir)
    made = {} if key is None else {"key_file": str(key)}
    return made | {
        "config": str(config),
        "database": str(settings.storage_dir / settings.db_name),
        "project_id": settings.project_id,
        "embedder": chosen,
    }


def _key_for(name: str, file: Path | None) -> tuple[Path, bool]:
    """Returns the file of the key, and whether it was made now."""
    from alma.encryption import write_key_file

    words = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name).strip(".-")
    key = (file or Path("~/.config/alma") / f"{words or 'project'}.key").expanduser().absolute()
    if key.exists():
        if file is None:
            raise ConfigurationError(f"{key} exists; name it with --key-file to use it, or another file for a new key")
        return key, False
    try:
        key.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{key.parent} cannot be made: {error.strerror or error}") from error
    write_key_file(key)
    return key, True


def _put_back(config: Path, old: bytes | None) -> None:
    with suppress(OSError):  # the error that is on its way says more
        if old is None:
            config.unlink(missing_ok=True)
        else:
            config.write_bytes(old)
