"""The small contracts between the rooms. Every implementation passes the contract tests in `alma.testing`.

Row numbers (`memory`, `passage`, `partition`) are handles of one database: opaque, never shown to users, never used to break a tie.
"""

from typing import TYPE_CHECKING

from alma.protocols.models import LLM as LLM
from alma.protocols.models import Clock as Clock
from alma.protocols.models import Embedder as Embedder
from alma.protocols.models import FindContradictions as FindContradictions
from alma.protocols.models import WordEmbedder as WordEmbedder
from alma.protocols.project import Erasable as Erasable
from alma.protocols.project import Figures as Figures
from alma.protocols.project import Journaled as Journaled
from alma.protocols.project import JournalWrites as JournalWrites
from alma.protocols.project import Log as Log
from alma.protocols.project import Lookups as Lookups
from alma.protocols.project import Memories as Memories
from alma.protocols.project import MemoryWrites as MemoryWrites
from alma.protocols.project import NextWrite as NextWrite
from alma.protocols.project import Outcomes as Outcomes
from alma.protocols.project import Portable as Portable
from alma.protocols.project import Project as Project
from alma.protocols.project import Records as Records
from alma.protocols.project import RecordWrites as RecordWrites
from alma.protocols.project import Searchable as Searchable
from alma.protocols.project import Snapshot as Snapshot
from alma.protocols.project import VectorWrites as VectorWrites
from alma.protocols.project import Write as Write
from alma.protocols.stores import CachesVectors as CachesVectors
from alma.protocols.stores import Copyable as Copyable
from alma.protocols.stores import Encryptable as Encryptable
from alma.protocols.stores import ListsProjects as ListsProjects
from alma.protocols.stores import Maintained as Maintained
from alma.protocols.stores import Movable as Movable
from alma.protocols.stores import NextVectors as NextVectors
from alma.protocols.stores import Rebuildable as Rebuildable
from alma.protocols.stores import Reembeddable as Reembeddable
from alma.protocols.stores import SearchesVectors as SearchesVectors
from alma.protocols.stores import StorageFactory as StorageFactory
from alma.protocols.stores import Store as Store
from alma.protocols.vectors import CandidateFactory as CandidateFactory
from alma.protocols.vectors import CandidateSearch as CandidateSearch
from alma.protocols.vectors import ExactScorer as ExactScorer
from alma.protocols.vectors import Snapshotable as Snapshotable
from alma.protocols.vectors import StoredVectors as StoredVectors
from alma.protocols.vectors import VectorIndex as VectorIndex
from alma.text import CommonWords as CommonWords
from alma.types.prompt import TokenCounter as TokenCounter  # one method, so a callable; its home is beside its only user
from alma.types.recalled import Disputes as Disputes
from alma.types.stored import Candidate as Candidate
from alma.types.stored import Copied as Copied
from alma.types.stored import DayCount as DayCount
from alma.types.stored import Entry as Entry
from alma.types.stored import Erased as Erased
from alma.types.stored import JournalEntry as JournalEntry
from alma.types.stored import Moved as Moved
from alma.types.stored import PartitionCount as PartitionCount
from alma.types.stored import PartitionDay as PartitionDay
from alma.types.stored import PassageScores as PassageScores
from alma.types.stored import Place as Place
from alma.types.stored import RecordedOutcome as RecordedOutcome
from alma.types.stored import Sizes as Sizes
from alma.types.stored import StoredRow as StoredRow
from alma.types.stored import StoreRequest as StoreRequest
from alma.types.stored import TextLists as TextLists
from alma.types.stored import TextScores as TextScores
from alma.types.stored import Unembedded as Unembedded
from alma.types.stored import UsageTotals as UsageTotals
from alma.types.stored import VectorChanges as VectorChanges
from alma.types.stored import VectorsRequest as VectorsRequest

if TYPE_CHECKING:
    from alma.types.stored import Integers as Integers
    from alma.types.stored import Matrix as Matrix
    from alma.types.stored import Vector as Vector
