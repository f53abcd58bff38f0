"""Names as an encrypted store keeps them: encrypted under a key, equal names equal, so that rows are still found by them.

All names that rows have in a column or in their key pass here: of projects, owners, kinds, actors, operations and small records. What has parts
is encrypted part by part, so that what begins with whole parts is still found by its beginning. There is no order among stored names: what needs
one sorts after it has read them. The five kinds of ALMA itself stay as they are, for statements name them.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import lru_cache

from alma.errors import CorruptStoreError
from alma.storage.relational.hidden_ids import hidden_hashes, hidden_id, revealed_hashes, revealed_id
from alma.storage.relational.seal import Seal
from alma.types.memories import MEMORY_CLASSES
from alma.types.partition import SEPARATOR

_PROJECT, _OWNER, _KIND = "project.name", "owner", "partition.kind"
_ACTOR, _OPERATION, _PART = "journal.actor", "journal.operation", "record"
_RECORD, _EVIDENCE = "record/", "evidence/"
"""Prefixes of keys of small records and of evidence in the list of what journal records touched; see `journal.entity`."""

_BETWEEN = "/"
_QUAD = 4
"""Base64 is padded to a multiple of this."""


class DamagedNameError(CorruptStoreError, ValueError):
    """Stored text that is no encrypted name of this store. A `ValueError` as well, as other damage is where rows are decoded."""


def hidden_project(seal: Seal, name: str) -> str:
    """Returns what is stored of the name of a project."""
    return _hidden(seal, name, _PROJECT) if seal.hides_names else name


def revealed_project(seal: Seal, stored: str) -> str:
    """Returns the name of a project; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return _revealed_or_stored(seal, stored, _PROJECT) if seal.hides_names else stored


def hidden_owner(seal: Seal, owner: str) -> str:
    """Returns what is stored of an agent, a user, or an agent and its user; of an agent and a separator, the beginning of all of its users."""
    return _by_parts(_hidden, seal, owner, SEPARATOR, _OWNER) if seal.hides_names else owner


def revealed_owner(seal: Seal, stored: str) -> str:
    """Returns the owner. `DamagedNameError` if it is none."""
    return _by_parts(_revealed, seal, stored, SEPARATOR, _OWNER) if seal.hides_names else stored


def hidden_kind(seal: Seal, kind: str) -> str:
    """Returns what is stored of a kind of memories."""
    return _hidden(seal, kind, _KIND) if seal.hides_names and kind not in MEMORY_CLASSES else kind


def revealed_kind(seal: Seal, stored: str) -> str:
    """Returns the kind. `DamagedNameError` if it is none."""
    return _revealed(seal, stored, _KIND) if seal.hides_names and stored not in MEMORY_CLASSES else stored


def hidden_actor(seal: Seal, actor: str) -> str:
    """Returns what is stored of the name under which a journal record was written."""
    return _hidden(seal, actor, _ACTOR) if seal.hides_names else actor


def revealed_actor(seal: Seal, stored: str) -> str:
    """Returns the actor; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return _revealed_or_stored(seal, stored, _ACTOR) if seal.hides_names else stored


def hidden_operation(seal: Seal, operation: str) -> str:
    """Returns what is stored of the call that wrote a journal record."""
    return _hidden(seal, operation, _OPERATION) if seal.hides_names else operation


def revealed_operation(seal: Seal, stored: str) -> str:
    """Returns the operation; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    return _revealed_or_stored(seal, stored, _OPERATION) if seal.hides_names else stored


def hidden_record_key(seal: Seal, key: str) -> str:
    """Returns what is stored of the kind or the key of a small record, or of the beginning of a key up to a slash."""
    if seal.hides_names:
        return _by_parts(_hidden, seal, key, _BETWEEN, _PART)
    return hidden_hashes(seal, key)


def revealed_record_key(seal: Seal, stored: str) -> str:
    """Returns the kind or key that `hidden_record_key` was given; a damaged one, which `verify` reports, as it is stored, behind a separator."""
    if not seal.hides_names:
        return revealed_hashes(seal, stored)
    return _by_parts(_revealed_or_stored, seal, stored, _BETWEEN, _PART)


def hidden_key(seal: Seal, key: str) -> str:
    """Returns what the list of touched rows stores of a key."""
    if key.startswith(_RECORD):
        return f"{_RECORD}{hidden_record_key(seal, key[len(_RECORD) :])}"
    return f"{_EVIDENCE}{hidden_id(seal, key[len(_EVIDENCE) :])}" if key.startswith(_EVIDENCE) else key


def revealed_key(seal: Seal, stored: str) -> str:
    """Returns the key that `hidden_key` was given."""
    if stored.startswith(_RECORD):
        return f"{_RECORD}{revealed_record_key(seal, stored[len(_RECORD) :])}"
    return f"{_EVIDENCE}{revealed_id(seal, stored[len(_EVIDENCE) :])}" if stored.startswith(_EVIDENCE) else stored


def forget_names() -> None:
    """Empties the caches of names, which may hold one that was purged."""
    _hidden.cache_clear()
    _revealed.cache_clear()


@lru_cache(maxsize=20_000)
def _hidden(seal: Seal, name: str, place: str) -> str:
    return _as_text(seal.hide(name.encode(), place=place))


@lru_cache(maxsize=20_000)
def _revealed(seal: Seal, stored: str, place: str) -> str:
    try:
        data = urlsafe_b64decode(stored + "=" * (-len(stored) % _QUAD))
        if _as_text(data) == stored:  # other texts decode to the same, and are not found by it
            return seal.reveal(data, place=place).decode()
    except ValueError as error:
        raise _damaged(place) from error
    raise _damaged(place)


def _as_text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _damaged(place: str) -> DamagedNameError:
    return DamagedNameError(f"an encrypted name ({place}) was changed or belongs elsewhere")


def _revealed_or_stored(seal: Seal, stored: str, place: str) -> str:
    try:
        return _revealed(seal, stored, place)
    except DamagedNameError:
        return f"{SEPARATOR}{stored}"  # which no name is


def _by_parts(change: Callable[[Seal, str, str], str], seal: Seal, text: str, between: str, place: str) -> str:
    return between.join(change(seal, part, place) for part in text.split(between))
