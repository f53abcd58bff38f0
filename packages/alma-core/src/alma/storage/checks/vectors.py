"""The vectors of a project: each against its checksum, and that there is one of every text that is found or compared by it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from alma.storage.checks.expected import Expected, Report
from alma.storage.logical import View
from alma.storage.rows import compared_text, text_hash, vector_checksum

_VECTORS = "SELECT text_hash, embedder, vector, checksum FROM vector WHERE project = ?"
_MOST_NAMED = 3

Missing = Callable[[str], None]
"""Takes a text without a sound vector."""


@dataclass(slots=True)
class _Text:
    """A text that needs a vector, and for what."""

    text: str
    users: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return ", ".join(self.users)


def check_vectors(view: View, wanted: Expected, dimensions: Mapping[int, int], report: Report, missing: Missing) -> int:
    """Compares the vectors with their checksums and with the texts that need one, and returns how many serve.

    `dimensions` are the lengths of vectors by the number of their embedder, the one that serves first.
    """
    serving, newest, needed, held = next(iter(dimensions)), max(dimensions), _needed(wanted), dict[bytes, bool]()
    for digest, embedder, sealed, checksum in view.connection.execute(_VECTORS, (view.project,)):
        if embedder not in dimensions:
            if embedder > newest:
                report(f"vector {digest.hex()}", f"is of embedder {embedder}, and there were {newest}")
            continue
        vector = view.seal.open(sealed, place="vector.vector")
        is_sound = vector_checksum(digest, vector) == checksum and len(vector) == 2 * dimensions[embedder]
        if embedder == serving:
            held[digest] = is_sound
        if not is_sound:
            report(f"vector {digest.hex()}", f"was changed; it belongs to {needed.get(digest, 'no memory')}")
    for digest, text in needed.items():
        if digest not in held:
            report(f"vector {digest.hex()}", f"is missing; it belongs to {text}")
        if not held.get(digest):
            missing(text.text)
    return len(held)


def _needed(wanted: Expected) -> dict[bytes, _Text]:
    """The texts that need a vector, by their hashes: passages that are found by it, and strategies that others are compared with."""
    needed: dict[bytes, _Text] = {}
    for text, user in (*_embedded(wanted), *_compared(wanted)):
        users = needed.setdefault(text_hash(text), _Text(text)).users
        if len(users) < _MOST_NAMED and user not in users:
            users.append(user)
    return needed


def _embedded(wanted: Expected) -> Iterator[tuple[str, str]]:
    for (table, _), row in wanted.rows.items():
        if table == "passage" and row["text_hash"] is not None:
            yield row["text"], f"memory {row['memory']}"


def _compared(wanted: Expected) -> Iterator[tuple[str, str]]:
    """The strategies that there is evidence on: in rows of its own, or, of the only outcome of a class, in the memory's."""
    for (table, _), row in wanted.rows.items():
        is_counted = table == "memory" and ("evidence", row["evidence"]) in wanted.rows
        if not is_counted and (text := compared_text(table, row)):
            yield text, "the evidence on a strategy"
