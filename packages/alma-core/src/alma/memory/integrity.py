"""Whether what is stored is what was written."""

from alma.memory.room import Store
from alma.storage import verifying
from alma.types.reports import VerifyReport


def verify(store: Store) -> VerifyReport:
    """What is wrong with the store. Reads only."""
    return verifying.verify(store.storage)
