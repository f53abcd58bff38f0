"""`alma keygen`."""

from pathlib import Path
from typing import Annotated

import typer

from alma_cli.options import JsonOption
from alma_cli.output import console, print_json, printable


def keygen(
    path: Annotated[Path, typer.Argument(help="The file to write the key to. An existing file is never overwritten.")],
    json: JsonOption = False,
) -> None:
    """Write a new key for an encrypted store to a file that only you may read.

    \b
    Keep a copy in another place, and apart from backups of the store: without the key the store cannot be read.

    \b
    Examples:
      alma keygen ~/.config/alma.key
    """
    from alma.encryption import write_key_file

    file = path.expanduser().absolute()
    write_key_file(file)
    if json:
        print_json({"key_file": str(file)})
        return
    out = console()
    out.print(printable(f"Wrote {file}. Keep a copy elsewhere: without it, what it encrypts is lost."), soft_wrap=True)
    out.print(
        "Next: set `encryption: {key_file: …}` in .alma/config.yaml, and run `alma encrypt` if there is a store", soft_wrap=True
    )
