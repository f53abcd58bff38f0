"""Hashes in keys as an encrypted store keeps them: permuted under a key, for what was hashed could be guessed.

They are in keys of small records, where names are not encrypted (see `hidden_names`), and in the history of retired counts. An id of these is 16
hexadecimal digits for an owner and a task, a letter, and 16 digits for a strategy. Each group of digits is permuted by itself, and the letter stays:
so ids that begin alike are stored with equal beginnings, and a stored id gives back the id.
"""

from functools import lru_cache
from hashlib import blake2b

from alma.storage.relational.seal import Seal

_ROUNDS = 10
_DIGITS = 16
_HALF = 4
"""Bytes of half a group."""

_HASH_DIGITS = 32
"""Digits of a hash in the key of a small record: that of an idempotency key, of a run, of names."""


def hidden_id(seal: Seal, text: str) -> str:
    """Returns what is stored of an id of retired counts, or of the beginning of one."""
    return _by_groups(text, seal.id_key, is_hiding=True) if seal.id_key else text


def revealed_id(seal: Seal, stored: str) -> str:
    """Returns the id that `hidden_id` was given. Any text of another form, which `verify` reports, is as it is stored."""
    return _by_groups(stored, seal.id_key, is_hiding=False) if seal.id_key else stored


def hidden_hashes(seal: Seal, text: str) -> str:
    """Returns what is stored of parts with slashes between them: those that are hashes are permuted."""
    return _with_hashes(text, seal.id_key, is_hiding=True) if seal.id_key else text


def revealed_hashes(seal: Seal, stored: str) -> str:
    """Returns the text that `hidden_hashes` was given."""
    return _with_hashes(stored, seal.id_key, is_hiding=False) if seal.id_key else stored


def _with_hashes(text: str, key: bytes, *, is_hiding: bool) -> str:
    return "/".join(
        "".join(_permuted(part[at : at + _DIGITS], key, is_hiding) for at in (0, _DIGITS)) if _is_hash(part) else part
        for part in text.split("/")
    )


def _is_hash(part: str) -> bool:
    return len(part) == _HASH_DIGITS and _is_group(part[:_DIGITS]) and _is_group(part[_DIGITS:])


def _by_groups(text: str, key: bytes, *, is_hiding: bool) -> str:
    groups = text[:_DIGITS], text[_DIGITS + 1 :]
    first, second = (_permuted(group, key, is_hiding) if _is_group(group) else group for group in groups)
    return f"{first}{text[_DIGITS : _DIGITS + 1]}{second}"


def _is_group(digits: str) -> bool:
    return len(digits) == _DIGITS and not digits.strip("0123456789abcdef")


@lru_cache(maxsize=20_000)
def _permuted(digits: str, key: bytes, is_hiding: bool) -> str:
    """A balanced Feistel network over 64 bits, with keyed BLAKE2b as its round function (Luby and Rackoff, 1988; ten rounds, as NIST SP 800-38G
    has for FF1)."""
    data = bytes.fromhex(digits)
    left, right = data[:_HALF], data[_HALF:]
    if is_hiding:
        for number in range(_ROUNDS):
            left, right = right, _mixed(left, right, number, key)
    else:
        for number in reversed(range(_ROUNDS)):
            left, right = _mixed(right, left, number, key), left
    return (left + right).hex()


def _mixed(half: bytes, other: bytes, number: int, key: bytes) -> bytes:
    mask = blake2b(bytes((number,)) + other, digest_size=_HALF, key=key).digest()
    return bytes(a ^ b for a, b in zip(half, mask, strict=True))
