"""Shared parts of the commands about encryption: the store that they work on, and its key."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alma.errors import ConfigurationError
from alma_cli.options import config_path

if TYPE_CHECKING:
    from alma.encryption import EncryptionKey

KeyFileOption = Annotated[
    Path | None, typer.Option("--key-file", help="The file with the key.", show_default="as the configuration says")
]


@dataclass(frozen=True, slots=True)
class Sealable:
    """A store that can be encrypted, by the configuration that names it."""

    config: Path
    folder: Path
    db_name: str
    key: "EncryptionKey"

    @property
    def database(self) -> str:
        """The path of the database, as messages name it."""
        return str(self.folder / self.db_name)


def sealable(config: Path | None, key_file: Path | None) -> Sealable:
    """Returns the configured store. `ConfigurationError` if it cannot be encrypted, or if there is no key."""
    from alma.config import load_settings
    from alma.encryption import configured_key

    path = config_path(config)
    settings = load_settings(path)
    if settings.storage != "sqlite":
        raise ConfigurationError(f"the store {settings.storage!r} cannot be encrypted by ALMA; only sqlite can")
    key = key_file.expanduser() if key_file is not None else configured_key(settings)
    if key is None:
        raise ConfigurationError(
            f"no key is given: use --key-file, or set `encryption: {{key_file: …}}` in {path}; `alma keygen` makes a key"
        )
    return Sealable(path, settings.storage_dir, settings.db_name, key)
