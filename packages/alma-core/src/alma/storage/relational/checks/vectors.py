"""The vectors of a project: each against its checksum, and that there is one of every text that is found by it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from alma.storage.relational.checks.expected import Expected, Report
from alma.storage.relational.logical import View
from alma.storage.relational.rows import TEXT, compared_text, text_hash, vector_checksum
from alma.storage.relational.seal import revealed_hash

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
    """Compares the vectors with their checksums and with the texts that need one, and returns how many serve. A strategy may have none: it is
    embedded when it is compared.

    `dimensions` are the lengths of vectors by the number of their embedder, the one that serves first.
    """
    serving, needed = next(iter(dimensions)), _texts(_embedded(wanted))
    known = _texts(_compared(wanted)) | needed
    held: dict[bytes, bool] = {}
    for vector in stored_vectors(view, dimensions):
        if vector.embedder == serving:
            held[vector.text_hash] = vector.fault is None
        if vector.fault is not None:
            users = known.get(vector.text_hash, "no memory")
            report(f"vector {vector.text_hash.hex()}", f"{vector.fault}; it belongs to {users}")
    for digest, text in known.items():
        if digest not in held and digest in needed:
            report(f"vector {digest.hex()}", f"is missing; it belongs to {text}")
        if not held.get(digest, digest not in needed):
            missing(text.text)
    return len(held)


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector's row, without the vector, and what is wrong with it."""

    row: int
    text_hash: bytes
    embedder: int
    fault: str | None


def stored_vectors(view: View, dimensions: Mapping[int, int]) -> Iterator[StoredVector]:
    """The vectors of the project. Those of embedders that were given up are left over, and none of them is looked at."""
    for row, hidden, embedder, sealed, checksum in view.session.all("vector_rows", {"project": view.project}):
        fault, digest = None, revealed_hash(view.seal, hidden, place=TEXT)
        if embedder in dimensions:
            if (
                vector_checksum(hidden, sealed) != checksum
                or _size(view, sealed, (view.project, hidden, embedder)) != 2 * dimensions[embedder]
            ):
                fault = "was changed"
        elif embedder > max(dimensions):
            fault = f"is of embedder {embedder}, and the newest is {max(dimensions)}"
        yield StoredVector(row, digest, embedder, fault)


def _size(view: View, sealed: bytes, row: tuple[object, ...]) -> int | None:
    """The number of bytes of a vector; `None` if it cannot be opened, or is another row's."""
    try:
        return len(view.seal.open(sealed, place="vector.vector", row=row))
    except ValueError:
        return None


def _texts(found: Iterable[tuple[str, str]]) -> dict[bytes, _Text]:
    """Texts by their hashes, each with some of its users."""
    texts: dict[bytes, _Text] = {}
    for text, user in found:
        users = texts.setdefault(text_hash(text), _Text(text)).users
        if len(users) < _MOST_NAMED and user not in users:
            users.append(user)
    return texts


def _embedded(wanted: Expected) -> Iterator[tuple[str, str]]:
    for (table, _), row in wanted.rows.items():
        if table == "passage" and row["text_hash"] is not None:
            yield row["text"], f"memory {row['memory']}"


def _compared(wanted: Expected) -> Iterator[tuple[str, str]]:
    """The texts by which the strategies of outcomes are compared."""
    for (table, key), row in wanted.rows.items():
        if text := compared_text(table, row):
            yield text, f"memory {key}"
