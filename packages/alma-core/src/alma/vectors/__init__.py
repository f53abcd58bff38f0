"""Vector search: inside the process, exact in numpy and flat FAISS above, with snapshots of codes; or by a search outside and stored vectors."""

from alma.vectors.composed import ComposedIndex
from alma.vectors.flat_faiss import codes_layout
from alma.vectors.in_process import InProcessSearch
from alma.vectors.index import ProjectIndex
from alma.vectors.snapshot import SnapshotIdentity, load, save
from alma.vectors.stored import StoredScorer

AnyIndex = ProjectIndex | ComposedIndex
"""What retrieval searches."""

__all__ = [
    "AnyIndex",
    "ComposedIndex",
    "InProcessSearch",
    "ProjectIndex",
    "SnapshotIdentity",
    "StoredScorer",
    "codes_layout",
    "load",
    "save",
]
