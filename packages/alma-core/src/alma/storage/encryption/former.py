"""Rows as earlier versions encrypted them, in clear. Only a change of key or state reads such a store; see `alma.storage.sqlite.resealing`.

The last of them encrypted names as well, by AES-SIV. The ones before stored names as they are and permuted the hashes in keys; the first did not
bind values to their rows.
"""

from collections.abc import Mapping
from functools import partial
from hashlib import blake2b

from alma.storage.encryption.cipher import KEY_BYTES, AESSeal
from alma.storage.relational.hidden_keys import KEY, OPERATION, reveal_text
from alma.storage.relational.rows import CONTENT, TEXT, Row
from alma.storage.relational.seal import RowName
from alma.types.memories import MEMORY_CLASSES
from alma.types.scope import SEPARATOR

_NAMES: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    "project": {"name": ("project.name", None)},
    "partition": {"owner": ("owner", SEPARATOR), "kind": ("partition.kind", None)},
    "memory": {"agent": ("owner", SEPARATOR)},
    "journal": {"actor": ("journal.actor", None), "operation": (OPERATION, None)},
    "record": {"kind": (KEY, "/"), "key": (KEY, "/")},
}
"""Encrypted names by table and column: the place in the seal, and what stands between parts that were encrypted one by one."""

_HASHES = {"memory": ("content_hash", CONTENT), "passage": ("text_hash", TEXT), "vector": ("text_hash", TEXT)}
_ROUNDS, _HALF, _DIGITS = 10, 4, 16
_ID = slice(0, 16), slice(16, 17), slice(17, None)
"""Parts of an id of retired counts: a group of digits, a letter, a group of digits."""

_HASH = slice(0, 16), slice(16, 32)


class FormerSeal(AESSeal):
    """The seal of a store that an earlier version encrypted."""

    def __init__(self, data_key: bytes, store_id: str, *, binds_rows: bool, hides_names: bool) -> None:
        super().__init__(data_key, store_id)
        self.binds_rows, self.hides_names = binds_rows, hides_names
        self.id_key = self._derived("ids", KEY_BYTES) if binds_rows else b""

    def open(self, data: bytes, /, *, place: str, row: RowName) -> bytes:
        """Returns the plain bytes, as `AESSeal` does; digests were sealed beside encrypted names only."""
        if place == "journal.digest" and not self.hides_names:
            return data
        return super().open(data, place=place, row=row if self.binds_rows else ())


def reveal_former(table: str, row: Row, seal: FormerSeal) -> Row:
    """Returns the columns that rows were found by, in clear. `ValueError` if one is damaged."""
    clear: Row = {}
    if table in _HASHES:
        name, place = _HASHES[table]
        clear[name] = None if row[name] is None else seal.reveal(row[name], place=place)
    if table == "touched":
        clear["key"] = _reveal_touched(seal, row["key"])
    elif seal.hides_names:
        for name, (place, between) in _NAMES.get(table, {}).items():
            if place != "partition.kind" or row[name] not in MEMORY_CLASSES:
                parts = row[name].split(between) if between else [row[name]]
                clear[name] = (between or "").join(reveal_text(seal, part, place) for part in parts)
    elif table == "record":
        clear["key"] = _reveal_hashes(seal, row["key"])
    return clear


def _reveal_touched(seal: FormerSeal, stored: str) -> str:
    table, slash, rest = stored.partition("/")
    if f"{table}{slash}" == "evidence/":
        return f"{table}/{_permute_back(seal, rest, _ID)}"
    if f"{table}{slash}" != "record/":
        return stored
    if seal.hides_names:
        return "/".join([table, *map(partial(reveal_text, seal, place=KEY), rest.split("/"))])
    return f"{table}/{_reveal_hashes(seal, rest)}"


def _reveal_hashes(seal: FormerSeal, stored: str) -> str:
    parts = stored.split("/")
    return "/".join(_permute_back(seal, part, _HASH) if _is_digits(part, 2 * _DIGITS) else part for part in parts)


def _permute_back(seal: FormerSeal, text: str, parts: tuple[slice, ...]) -> str:
    """Returns a text whose groups of digits were permuted."""
    groups = (text[part] for part in parts)
    return "".join(_unmix(group, seal.id_key) if seal.id_key and _is_digits(group, _DIGITS) else group for group in groups)


def _is_digits(text: str, count: int) -> bool:
    return len(text) == count and not text.strip("0123456789abcdef")


def _unmix(digits: str, key: bytes) -> str:
    """Takes back a balanced Feistel network over 64 bits, with keyed BLAKE2b as its round function."""
    data = bytes.fromhex(digits)
    left, right = data[:_HALF], data[_HALF:]
    for number in reversed(range(_ROUNDS)):
        mask = blake2b(bytes((number,)) + left, digest_size=_HALF, key=key).digest()
        left, right = bytes(a ^ b for a, b in zip(right, mask, strict=True)), left
    return (left + right).hex()
