"""Vector search: inside the process, exact in numpy and by codes of FAISS above, with snapshots; or by a search outside and stored vectors."""

from alma.vectors.codes import codes_layout
from alma.vectors.columns import ascending
from alma.vectors.composed import ComposedIndex
from alma.vectors.in_process import InProcessSearch
from alma.vectors.index import ProjectIndex
from alma.vectors.kind import SavedKind
from alma.vectors.snapshot import SnapshotIdentity, load, save
from alma.vectors.stored import StoredScorer

AnyIndex = ProjectIndex | ComposedIndex
"""What retrieval searches."""

__all__ = [
    "AnyIndex",
    "ComposedIndex",
    "InProcessSearch",
    "ProjectIndex",
    "SavedKind",
    "SnapshotIdentity",
    "StoredScorer",
    "ascending",
    "codes_layout",
    "load",
    "save",
]
