"""Keys of users, 32 bytes from a file, the environment or a function, and the data key of a store, which lies in its `store` table, encrypted
with the user's key."""

import base64
import binascii
import json
import logging
import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Mapping

from alma.config import EncryptionKey, Settings
from alma.errors import ConfigurationError, CorruptStoreError
from alma.storage.relational.session import ENCRYPTION, OpenSeal, Seal
from alma.text import quoted

_LOG = logging.getLogger("alma")

KEY_BYTES = 32
LARGEST_FILE = 1024


def generate_key() -> str:
    """Returns a new random key as text: 32 bytes in Base64, as key files and variables of the environment hold it."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def write_key_file(path: str | os.PathLike[str]) -> None:
    """Writes a new key to a file that only its owner may read. `ConfigurationError` if the file is there already or cannot be written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
            file.write(f"{generate_key()}\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise ConfigurationError(
            f"{os.fspath(path)} exists; a key is never overwritten, because what it encrypted would be lost: give another name"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"the key file {os.fspath(path)} cannot be written: {error.strerror or error}") from error


def read_key(source: EncryptionKey, *, name: str = "encryption_key") -> bytes:
    """Returns the 32 bytes of a key. `ConfigurationError` if there is none; no message shows any of it. `name` is what messages call a key
    that is given as bytes."""
    if isinstance(source, bytes | bytearray):
        return _check_key(bytes(source), name)
    if isinstance(source, str | os.PathLike):
        return _of_file(os.fsdecode(source))
    if not callable(source):
        raise ConfigurationError(
            f"encryption_key must be 32 bytes, the path of a key file or a function that returns a key, not a {type(source).__name__}"
        )
    try:
        given = source()
    except Exception as error:
        raise ConfigurationError(f"the function given as encryption_key failed: {type(error).__name__}") from error
    if isinstance(given, str):
        given = given.encode("utf-8", "replace")
    if not isinstance(given, bytes | bytearray):
        raise ConfigurationError(f"the function given as encryption_key returned a {type(given).__name__}, not a key")
    return _check_key(bytes(given), "what the function given as encryption_key returned")


def configured_key(settings: Settings) -> bytes | None:
    """Returns the key that a configuration names, `None` if it names none. `ConfigurationError` if there is none at that place."""
    place = settings.encryption
    return None if place is None else read_key(place.key(), name=f"the variable {place.key_env!r}")


def _of_file(path: str) -> bytes:
    if _as_text(path.encode("utf-8", "replace")) is not None:  # the key itself was given, and a message must not show it
        raise ConfigurationError("encryption_key is a text, which names a file; give a key itself as bytes")
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_FILE)
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no path"
        raise ConfigurationError(
            f"the key file {quoted(path)} cannot be read: {why}; `alma keygen` makes a new one for a new store"
        ) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        _LOG.warning("the key file %s may be read or changed by others; run: chmod 600 %s", path, path)
    return _check_key(content, f"the key file {path}")


def _check_key(content: bytes, what: str) -> bytes:
    """The key in what was read: 32 bytes, or the text of them."""
    key = content if len(content) == KEY_BYTES else _as_text(content)
    if key is None:
        raise ConfigurationError(
            f"{what} is no key: it takes {KEY_BYTES} bytes, or these in Base64 or hexadecimal, as `alma keygen` makes"
        )
    if len(set(key)) == 1:
        _LOG.warning("%s is one byte, %d times, which anybody can guess; `alma keygen` makes a key", what, KEY_BYTES)
    return key


def _as_text(content: bytes) -> bytes | None:
    """The key that a text stands for, `None` if it stands for none."""
    text = content.strip()
    return next((key for key in (_from_hexadecimal(text), _from_base64(text)) if len(key) == KEY_BYTES), None)


def _from_hexadecimal(text: bytes) -> bytes:
    try:
        return binascii.unhexlify(text)
    except ValueError:
        return b""


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text.translate(bytes.maketrans(b"-_", b"+/")), validate=True)
    except ValueError:
        return b""


_CIPHER = "AES-256-GCM by row, AES-SIV of keys"
"""Each value is bound to its row, keys of records and hashes are encrypted, names are stored as they are."""

_HIDDEN_NAMES, _READABLE_NAMES, _UNBOUND = "AES-256-GCM by row, AES-SIV of names", "AES-256-GCM by row", "AES-256-GCM"
_FORMER = (_HIDDEN_NAMES, _READABLE_NAMES, _UNBOUND)
"""Ciphers of earlier versions: the first encrypted names as well; the others permuted hashes in keys; the last did not bind values to their rows."""


def new_envelope(*, key: bytes, store_id: str) -> tuple[str, Seal]:
    """Returns the value for the `store` table that encrypts a store with a new data key, and the seal of that."""
    from alma_encryption.cipher import AESSeal, new_data_key, wrapped

    data_key = new_data_key()
    stored = wrapped(data_key, key=key, store_id=_bound(store_id, _CIPHER))
    return json.dumps({"cipher": _CIPHER, "key": b64encode(stored).decode()}), AESSeal(data_key, store_id)


def opened_seal(values: Mapping[str, str], key: bytes | None, *, name: str) -> Seal:
    """Returns the seal of a store, given the values of its `store` table.

    `ConfigurationError` if it is encrypted and the key is missing or another, if it is not and a key was given, and if an earlier version
    encrypted it.
    """
    seal = any_seal(values, key, name=name)
    if is_former(values):
        raise ConfigurationError(
            f"{name} was encrypted by an earlier ALMA, in another way: end every program that has it open and run `alma encrypt`, "
            "which copies it into a store that this ALMA opens with the same key"
        )
    return seal


def any_seal(values: Mapping[str, str], key: bytes | None, *, name: str) -> Seal:
    """Returns the seal of a store, as `opened_seal` does, also that of an earlier version."""
    if ENCRYPTION not in values:
        if key is not None:
            raise ConfigurationError(
                f"{name} is not encrypted, but a key was given: run `alma encrypt` to encrypt it, or open it without a key"
            )
        return OpenSeal()
    if key is None:
        raise ConfigurationError(
            f"{name} is encrypted: give its key as encryption_key=…, or under `encryption:` in the configuration (key_file or key_env)"
        )
    from alma_encryption.cipher import AESSeal
    from alma_encryption.rows import FormerSeal

    data_key, cipher = _data_key(values, key, name)
    if cipher == _CIPHER:
        return AESSeal(data_key, values["id"])
    return FormerSeal(data_key, values["id"], binds_rows=cipher != _UNBOUND, hides_names=cipher == _HIDDEN_NAMES)


def is_former(values: Mapping[str, str]) -> bool:
    """Returns True if an earlier version encrypted the store."""
    try:
        return json.loads(values[ENCRYPTION])["cipher"] in _FORMER
    except (ValueError, TypeError, KeyError):
        return False


def _data_key(values: Mapping[str, str], key: bytes, name: str) -> tuple[bytes, str]:
    """Returns the data key, and the cipher that the store is encrypted with."""
    from alma_encryption.cipher import unwrapped

    try:
        envelope = json.loads(values[ENCRYPTION])
        cipher, stored = envelope["cipher"], b64decode(envelope["key"], validate=True)
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptStoreError(f"the data key of {name} is damaged; restore the store from a backup") from error
    if cipher not in (_CIPHER, *_FORMER):
        raise ConfigurationError(
            f"{name} is encrypted with {cipher}, which this version of ALMA does not know; upgrade alma-core"
        )
    return unwrapped(stored, key=key, store_id=_bound(values["id"], cipher), name=name), cipher


def _bound(store_id: str, cipher: str) -> str:
    """Returns the text that the data key is bound to: a writer of the file cannot pass a store off as one of a former cipher."""
    return store_id if cipher == _UNBOUND else f"{store_id} {cipher}"
