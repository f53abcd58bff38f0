"""The contract of stores."""

from alma_testing.contracts.portable import PortableContract
from alma_testing.contracts.store_journal import StoreRemembers
from alma_testing.contracts.store_lookups import StoreLookups
from alma_testing.contracts.store_reading import StoreFigures, StoreKeeps
from alma_testing.contracts.store_writing import StoreWrites
from alma_testing.contracts.text_scores import TextScoresContract


class StoreContract(StoreKeeps, StoreWrites, StoreLookups, StoreRemembers, StoreFigures, TextScoresContract, PortableContract):
    """Promises of an `alma.protocols.Store` and its projects.

    A test class that inherits this defines a fixture `open_store`: a callable that takes a folder and opens the store there, creating it
    if there is none. Opening the same folder a second time has to give the same store, as it would in another process.
    """
