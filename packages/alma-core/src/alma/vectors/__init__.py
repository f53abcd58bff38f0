"""Vector search inside the process: exact in numpy, flat FAISS above, and snapshots of both."""

from alma.vectors.index import ProjectIndex
from alma.vectors.snapshot import SnapshotIdentity, load, save

__all__ = ["ProjectIndex", "SnapshotIdentity", "load", "save"]
