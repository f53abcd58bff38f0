"""Rebuilds a damaged store from its journals."""

from alma.errors import ConfigurationError
from alma.memory.room import OpenStore
from alma.protocols import Rebuildable
from alma.types.identity import to_micros
from alma.types.reports import VerifyReport


def verify(store: OpenStore, *, rebuild: bool = False) -> VerifyReport:
    """Returns the problems of the store; with `rebuild`, those fixed and those that remain."""
    return _rebuilt(store) if rebuild else store.storage.verify()


def _rebuilt(store: OpenStore) -> VerifyReport:
    storage = store.storage
    if not isinstance(storage, Rebuildable):
        raise ConfigurationError("this storage cannot be rebuilt; restore it from a backup")
    texts = storage.unembedded()
    vectors = dict(zip(texts, store.texts.embedded(texts), strict=True))
    report = storage.rebuild(vectors, at=to_micros(store.clock()))
    store.drop_snapshots()
    for room in list(store.projects.values()):
        room.projections.drop()
    return report
