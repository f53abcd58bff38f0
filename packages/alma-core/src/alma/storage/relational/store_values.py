"""The checksum of the `store` table. Nothing else in the file repeats what stands there: the database's id and its embedder."""

import hashlib
import json

from alma.errors import CorruptStoreError
from alma.storage.relational.session import Session

CHECKSUM = "checksum"


def checksum(session: Session) -> str:
    """The checksum of the other values as they are now."""
    values = sorted((key, value) for key, value in session.all("store_values") if key != CHECKSUM)
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def note_checksum(session: Session) -> None:
    """Stores the checksum anew. Every change of the table ends with this."""
    session.run("store_put", {"key": CHECKSUM, "value": checksum(session)})


def check_whole(session: Session) -> None:
    """`CorruptStoreError` if the values are not those that were stored: a checksum made of them anew would hide that."""
    if not is_whole(session):
        raise CorruptStoreError("the database's id or embedder is damaged; nothing was changed, restore it from a backup")


def is_whole(session: Session) -> bool:
    """Returns True if the values are those that were stored."""
    return dict(session.all("store_values")).get(CHECKSUM) == checksum(session)
