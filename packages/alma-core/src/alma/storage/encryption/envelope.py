"""The data key of a store, which lies in its `store` table, encrypted with the user's key. To change the user's key is to wrap it anew."""

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Mapping

from alma.errors import ConfigurationError, CorruptStoreError
from alma.storage.relational.seal import OpenSeal, Seal

ENCRYPTION = "encryption"
"""The key in the `store` table of the cipher and the wrapped data key, as JSON. An open store has none."""

_CIPHER = "AES-256-GCM by row, AES-SIV of names"
"""Each value is bound to its row, ids that are hashes of texts are permuted, and names are encrypted."""

_READABLE_NAMES, _UNBOUND = "AES-256-GCM by row", "AES-256-GCM"
"""Those of stores which were encrypted before: names are stored as they are; and values are bound to their table and column alone."""

_SHORTCOMINGS = {
    _READABLE_NAMES: "stored names as they are",
    _UNBOUND: "did not bind values to their rows, and stored names as they are",
}

_LOG = logging.getLogger("alma")


def new_envelope(*, key: bytes, store_id: str) -> tuple[str, Seal]:
    """Returns the value for the `store` table that encrypts a store with a new data key, and the seal of that."""
    from alma.storage.encryption.cipher import AESSeal, new_data_key

    data_key = new_data_key()
    return _value(data_key, key, store_id), AESSeal(data_key, store_id)


def opened_seal(values: Mapping[str, str], key: bytes | None, *, name: str) -> Seal:
    """Returns the seal of a store, given the values of its `store` table.

    `ConfigurationError` if it is encrypted and the key is missing or another, and if it is not and a key was given.
    """
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
    from alma.storage.encryption.cipher import AESSeal

    data_key, cipher = _data_key(values, key, name)
    if cipher in _SHORTCOMINGS:
        _LOG.warning(
            "%s was encrypted by an earlier ALMA, which %s: run `alma encrypt` to encrypt it anew", name, _SHORTCOMINGS[cipher]
        )
    return AESSeal(data_key, values["id"], binds_rows=cipher != _UNBOUND, hides_names=cipher == _CIPHER)


def is_former(values: Mapping[str, str]) -> bool:
    """Returns True if the store was encrypted by an earlier version, which protected less."""
    try:
        return json.loads(values[ENCRYPTION])["cipher"] in _SHORTCOMINGS
    except (ValueError, TypeError, KeyError):
        return False


def rewrapped(values: Mapping[str, str], *, key: bytes, new_key: bytes, name: str) -> str:
    """Returns the value for the `store` table by which the new key opens the store instead of the other one."""
    data_key, cipher = _data_key(values, key, name)
    return _value(data_key, new_key, values["id"], cipher)


def _data_key(values: Mapping[str, str], key: bytes, name: str) -> tuple[bytes, str]:
    """The data key, and how the store is encrypted with it."""
    from alma.storage.encryption.cipher import unwrapped

    try:
        envelope = json.loads(values[ENCRYPTION])
        cipher, stored = envelope["cipher"], b64decode(envelope["key"], validate=True)
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptStoreError(f"the data key of {name} is damaged; restore the store from a backup") from error
    if cipher not in (_CIPHER, *_SHORTCOMINGS):
        raise ConfigurationError(
            f"{name} is encrypted with {cipher}, which this version of ALMA does not know; upgrade alma-core"
        )
    return unwrapped(stored, key=key, store_id=_bound(values["id"], cipher), name=name), cipher


def _value(data_key: bytes, key: bytes, store_id: str, cipher: str = _CIPHER) -> str:
    from alma.storage.encryption.cipher import wrapped

    stored = wrapped(data_key, key=key, store_id=_bound(store_id, cipher))
    return json.dumps({"cipher": cipher, "key": b64encode(stored).decode()})


def _bound(store_id: str, cipher: str) -> str:
    """What the data key is bound to: who can write the file cannot pass a store off as one of the former cipher."""
    return store_id if cipher == _UNBOUND else f"{store_id} {cipher}"
