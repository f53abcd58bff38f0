"""`alma rotate-key`."""

from pathlib import Path
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption
from alma_cli.output import console, print_json, printable
from alma_cli.sealing import KeyFileOption, sealable


def rotate_key(
    to: Annotated[Path, typer.Option("--to", help="The file with the new key; `alma keygen` writes one.")],
    key_file: KeyFileOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Encrypt the store with a new key; the former key opens it no more. Nothing may have it open.

    \b
    After a crash the store opens with the former key or with the new one: whole either way.
    Copies of the store that were made before open with the former key: keep it as long as you keep them.

    \b
    Examples:
      alma keygen ~/.config/alma-2.key
      alma rotate-key --to ~/.config/alma-2.key
    """
    from alma.encryption import rotate_key as rotated

    store = sealable(config, key_file)
    rotated(store.folder, store.key, to.expanduser(), db_name=store.db_name)
    if json:
        print_json({"database": store.database, "encrypted": True})
        return
    out = console()
    out.print(printable(f"{store.database} opens with the new key alone"), soft_wrap=True)
    out.print(printable(f"Next: name the new key under `encryption:` in {store.config}"), soft_wrap=True)
