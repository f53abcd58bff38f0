"""Encryption at rest: making keys, and encrypting, decrypting and re-keying a store that exists. See `docs/guides/security.md`."""

from os import PathLike
from pathlib import Path

from alma.config import check_db_name, resolve_storage_dir
from alma.types.stored import EncryptionKey
from alma_encryption.keys import configured_key, generate_key, read_key, write_key_file

__all__ = ["EncryptionKey", "configured_key", "decrypt_store", "encrypt_store", "generate_key", "rotate_key", "write_key_file"]


def encrypt_store(storage_dir: str | PathLike[str], key: EncryptionKey, *, db_name: str = "alma.db") -> None:
    """Encrypts the store in a folder, which nothing may have open, into a new one that takes its place. One that an earlier version encrypted with
    this key is encrypted in today's way.

    After a crash the folder holds the former store or the new one, whole. Backups and exports that were made before stay readable.
    `ConfigurationError` if it is encrypted already, `StorageError` if it is in use, `CorruptStoreError` if it is damaged.
    """
    from alma_encryption.resealing import encrypt_file

    encrypt_file(_file(storage_dir, db_name), key=read_key(key))


def decrypt_store(storage_dir: str | PathLike[str], key: EncryptionKey, *, db_name: str = "alma.db") -> None:
    """Decrypts the store in a folder, which nothing may have open. Errors and crashes are as with `encrypt_store`."""
    from alma_encryption.resealing import decrypt_file

    decrypt_file(_file(storage_dir, db_name), key=read_key(key))


def rotate_key(storage_dir: str | PathLike[str], key: EncryptionKey, new_key: EncryptionKey, *, db_name: str = "alma.db") -> None:
    """Encrypts the store in a folder, which nothing may have open, with a new key into a new one that takes its place.

    Copies of the store that were made before open with the former key. Errors and crashes are as with `encrypt_store`.
    """
    from alma_encryption.resealing import change_key

    change_key(_file(storage_dir, db_name), key=read_key(key), new_key=read_key(new_key))


def _file(storage_dir: str | PathLike[str], db_name: str) -> Path:
    return resolve_storage_dir(Path(storage_dir), Path()) / check_db_name(db_name)
