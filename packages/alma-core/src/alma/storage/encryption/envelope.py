"""The data key of a store, which lies in its `store` table, encrypted with the user's key."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping

from alma.errors import ConfigurationError, CorruptStoreError
from alma.storage.relational.seal import OpenSeal, Seal

ENCRYPTION = "encryption"
"""The key in the `store` table of the cipher and the wrapped data key, as JSON. An open store has none."""

_CIPHER = "AES-256-GCM by row, AES-SIV of keys"
"""Each value is bound to its row, keys of records and hashes are encrypted, names are stored as they are."""

_HIDDEN_NAMES, _READABLE_NAMES, _UNBOUND = "AES-256-GCM by row, AES-SIV of names", "AES-256-GCM by row", "AES-256-GCM"
_FORMER = (_HIDDEN_NAMES, _READABLE_NAMES, _UNBOUND)
"""Ciphers of earlier versions: the first encrypted names as well; the others permuted hashes in keys; the last did not bind values to their rows."""


def new_envelope(*, key: bytes, store_id: str) -> tuple[str, Seal]:
    """Returns the value for the `store` table that encrypts a store with a new data key, and the seal of that."""
    from alma.storage.encryption.cipher import AESSeal, new_data_key, wrapped

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
    from alma.storage.encryption.cipher import AESSeal
    from alma.storage.encryption.former import FormerSeal

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
    from alma.storage.encryption.cipher import unwrapped

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
