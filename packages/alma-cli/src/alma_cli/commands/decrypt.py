"""`alma decrypt`."""

from alma_cli.options import ConfigOption, JsonOption
from alma_cli.output import console, print_json, printable
from alma_cli.sealing import KeyFileOption, sealable


def decrypt(key_file: KeyFileOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Decrypt the whole store, all its projects. Nothing may have it open.

    \b
    Examples:
      alma decrypt
      alma decrypt --key-file ~/.config/alma.key
    """
    from alma.encryption import decrypt_store

    store = sealable(config, key_file)
    decrypt_store(store.folder, store.key, db_name=store.db_name)
    if json:
        print_json({"database": store.database, "encrypted": False})
        return
    out = console()
    out.print(printable(f"Decrypted {store.database}"), soft_wrap=True)
    out.print(printable(f"Next: remove `encryption:` from {store.config}, if it is there"), soft_wrap=True)
