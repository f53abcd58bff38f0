"""`alma encrypt`."""

from alma_cli.options import ConfigOption, JsonOption
from alma_cli.output import console, print_json, printable
from alma_cli.sealing import KeyFileOption, sealable


def encrypt(key_file: KeyFileOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Encrypt the whole store, all its projects. Nothing may have it open.

    \b
    After a crash the store is as it was before, or encrypted: whole either way. Backups and exports that you made before stay readable.
    A store that an earlier version encrypted in another way opens again after this, with the same key.

    \b
    Examples:
      alma keygen ~/.config/alma.key
      alma encrypt --key-file ~/.config/alma.key
      alma encrypt                        with the key that the configuration names
    """
    from alma.encryption import encrypt_store

    store = sealable(config, key_file)
    encrypt_store(store.folder, store.key, db_name=store.db_name)
    if json:
        print_json({"database": store.database, "encrypted": True})
        return
    out = console()
    out.print(printable(f"Encrypted {store.database}"), soft_wrap=True)
    if key_file is not None:
        out.print(printable(f"Next: set `encryption: {{key_file: …}}` in {store.config}"), soft_wrap=True)
