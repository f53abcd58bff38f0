"""AES-256-GCM per record, and deterministic AES-SIV for what rows are found by. The only module that imports `cryptography`."""

import os

from alma.errors import ConfigurationError, CorruptStoreError, missing_for
from alma.storage.relational.session import RowName

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as error:
    raise missing_for("Encryption needs", error, "encryption") from error

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
_HIDING_KEY_BYTES = 64


class DamagedRecordError(CorruptStoreError, ValueError):
    """Sealed bytes were changed, or belong to another place or another store. A `ValueError` as well, as other damage is where rows are decoded."""


class AESSeal:
    """The `Seal` of one store, by its data key. Thread-safe.

    Each place, a table and column, has a key of its own, derived from the data key by HKDF. A nonce is 96 bits from the operating system for each
    record, so processes, forks and restored copies have no state to repeat; that is safe for 2^32 records of a place. The store's id, the place
    and the row are authenticated with every record.
    """

    is_secret = True
    overhead = NONCE_BYTES + TAG_BYTES

    def __init__(self, data_key: bytes, store_id: str) -> None:
        self._data_key = data_key
        self._store_id = store_id
        self._sealing: dict[str, tuple[AESGCM, bytes]] = {}
        self._hiding: dict[str, tuple[AESSIV, list[bytes]]] = {}

    def seal(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the nonce, the ciphertext and its tag."""
        cipher, bound = self._sealing.get(place) or self._sealing_of(place)
        nonce = os.urandom(NONCE_BYTES)
        return nonce + cipher.encrypt(nonce, data, _authenticated_name(bound, row))

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the plain bytes. `DamagedRecordError` if they are not those that were sealed for this place and row of this store."""
        cipher, bound = self._sealing.get(place) or self._sealing_of(place)
        try:
            return cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], _authenticated_name(bound, row))
        except (InvalidTag, ValueError) as error:
            raise _damaged_error(place) from error

    def hide(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the synthetic nonce and the ciphertext; nothing stays nothing."""
        if not data:
            return data
        cipher, bound = self._hiding.get(place) or self._hiding_of(place)
        return cipher.encrypt(data, bound)

    def reveal(self, data: bytes, /, *, place: str) -> bytes:
        """Returns the plain bytes. `DamagedRecordError` if they are not those that were hidden for this place of this store."""
        if not data:
            return data
        cipher, bound = self._hiding.get(place) or self._hiding_of(place)
        try:
            return cipher.decrypt(data, bound)
        except (InvalidTag, ValueError) as error:
            raise _damaged_error(place) from error

    def _sealing_of(self, place: str) -> tuple[AESGCM, bytes]:
        made = AESGCM(self._derive(f"seal {place}", KEY_BYTES)), f"{self._store_id} {place}".encode()
        return self._sealing.setdefault(place, made)

    def _hiding_of(self, place: str) -> tuple[AESSIV, list[bytes]]:
        made = AESSIV(self._derive(f"hide {place}", _HIDING_KEY_BYTES)), [f"{self._store_id} {place}".encode()]
        return self._hiding.setdefault(place, made)

    def _derive(self, purpose: str, size: int) -> bytes:
        return HKDF(SHA256(), size, salt=None, info=f"alma {purpose}".encode()).derive(self._data_key)


def new_data_key() -> bytes:
    """Returns a random data key."""
    return os.urandom(KEY_BYTES)


def wrapped(data_key: bytes, *, key: bytes, store_id: str) -> bytes:
    """Returns the data key of a store, encrypted with the user's key."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, data_key, _wrapping_context(store_id))


def unwrapped(stored: bytes, *, key: bytes, store_id: str, name: str) -> bytes:
    """Returns the data key of a store. `ConfigurationError` if this is not the user's key."""
    try:
        return AESGCM(key).decrypt(stored[:NONCE_BYTES], stored[NONCE_BYTES:], _wrapping_context(store_id))
    except (InvalidTag, ValueError) as error:
        raise ConfigurationError(
            f"{name} is encrypted with another key than the one given; open it with the key that it was encrypted with"
        ) from error


def _authenticated_name(bound: bytes, row: RowName) -> bytes:
    """Returns the bytes that are authenticated with a record: the parts of a row's name, each after its length, behind the store and the place."""
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in row]
    return b"".join([bound, *(b" %d:%b" % (len(part), part) for part in parts)])


def _wrapping_context(store_id: str) -> bytes:
    return f"alma data key {store_id}".encode()


def _damaged_error(place: str) -> DamagedRecordError:
    return DamagedRecordError(f"an encrypted value ({place}) was changed or belongs elsewhere")
