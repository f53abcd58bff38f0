"""Vector search: inside the process, exact in numpy and by codes of FAISS above, with snapshots; or by a search outside and stored vectors."""

from alma.vectors.arrays import ascending
from alma.vectors.codes import codes_layout
from alma.vectors.composed import ComposedIndex, StoredScorer
from alma.vectors.index import ProjectIndex, select_added
from alma.vectors.snapshot import SnapshotIdentity, load, save

AnyIndex = ProjectIndex | ComposedIndex
"""The index that retrieval searches."""

__all__ = [
    "AnyIndex",
    "ComposedIndex",
    "ProjectIndex",
    "SnapshotIdentity",
    "StoredScorer",
    "ascending",
    "codes_layout",
    "load",
    "save",
    "select_added",
]
