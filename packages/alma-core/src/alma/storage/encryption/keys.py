"""Keys of users: 32 bytes from a file, the environment or a function."""

import base64
import binascii
import logging
import os
import stat
from collections.abc import Callable

from alma.errors import ConfigurationError
from alma.text import quoted

_LOG = logging.getLogger("alma")

KEY_BYTES = 32
LARGEST_FILE = 1024

EncryptionKey = bytes | str | os.PathLike[str] | Callable[[], bytes | str]
"""A key of 32 bytes, the path of a file that holds one, or a function that returns one, from a keyring or a KMS say."""


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
        return _checked(bytes(source), name)
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
    return _checked(bytes(given), "what the function given as encryption_key returned")


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
        _LOG.warning("the key file %s may be read by others; run: chmod 600 %s", path, path)
    return _checked(content, f"the key file {path}")


def _checked(content: bytes, what: str) -> bytes:
    """The key in what was read: 32 bytes, or the text of them."""
    key = content if len(content) == KEY_BYTES else _as_text(content)
    if key is None:
        raise ConfigurationError(
            f"{what} is no key: it takes {KEY_BYTES} bytes, or these in Base64 or hexadecimal, as `alma keygen` makes"
        )
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
