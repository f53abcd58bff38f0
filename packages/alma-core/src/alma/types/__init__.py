"""The values that ALMA takes and returns."""

from typing import TYPE_CHECKING

from alma.extensions import extension
from alma.types.custom import CustomMemoryType
from alma.types.episodes import EpisodeRecord, EpisodeStatus, Exposure, Forecast, Step
from alma.types.exported import ExportReport, ImportReport
from alma.types.identity import Fingerprint, MemoryScope
from alma.types.kinds import FeedbackSignal, MemoryType, Verdict
from alma.types.memories import (
    AntiPattern,
    AnyMemory,
    Conversation,
    CustomMemory,
    DomainKnowledge,
    Draft,
    Heuristic,
    Memory,
    Outcome,
    Passage,
    Turn,
    UserPreference,
    memory_from_json,
)
from alma.types.package_records import Artifact, Checkpoint
from alma.types.provenance import MemoryProvenance
from alma.types.recalled import Contradiction, Explanation, Factors, Reason, Recalled, RetrievalExplanation, TurnHit
from alma.types.reports import (
    BackupReport,
    CompactReport,
    FeedbackReport,
    ForgetReport,
    HistoryEntry,
    MigratedKind,
    MigrationReport,
    PurgeReceipt,
    Remark,
    ReviewItem,
    ReviewReport,
    Revision,
    Stats,
    StoreProblem,
    Surface,
    UndoReport,
    UsageReport,
    VerifyReport,
)
from alma.types.slice import MemorySlice
from alma.types.strategies import ActionCheck, Assessment, StrategyRecord, StrategyTable
from alma.types.timeline import DatedEvent, Relation, TemporalFilter, Timeline

if TYPE_CHECKING:
    from alma_harness.importance import Importance as Importance
    from alma_harness.importance import ImportanceDetector as ImportanceDetector
else:

    def __getattr__(name: str) -> object:
        if name in ("Importance", "ImportanceDetector"):
            return getattr(extension("alma_harness.importance", "harness", "importance is"), name)
        raise AttributeError(f"module 'alma.types' has no attribute {name!r}")


__all__ = [
    "ActionCheck",
    "AntiPattern",
    "AnyMemory",
    "Artifact",
    "Assessment",
    "BackupReport",
    "Checkpoint",
    "CompactReport",
    "Contradiction",
    "Conversation",
    "CustomMemory",
    "CustomMemoryType",
    "DatedEvent",
    "DomainKnowledge",
    "Draft",
    "EpisodeRecord",
    "EpisodeStatus",
    "Explanation",
    "ExportReport",
    "Exposure",
    "Factors",
    "FeedbackReport",
    "FeedbackSignal",
    "Fingerprint",
    "Forecast",
    "ForgetReport",
    "Heuristic",
    "HistoryEntry",
    "ImportReport",
    "Memory",
    "MemoryProvenance",
    "MemoryScope",
    "MemorySlice",
    "MemoryType",
    "MigratedKind",
    "MigrationReport",
    "Outcome",
    "Passage",
    "PurgeReceipt",
    "Reason",
    "Recalled",
    "Relation",
    "Remark",
    "RetrievalExplanation",
    "ReviewItem",
    "ReviewReport",
    "Revision",
    "Stats",
    "Step",
    "StoreProblem",
    "StrategyRecord",
    "StrategyTable",
    "Surface",
    "TemporalFilter",
    "Timeline",
    "Turn",
    "TurnHit",
    "UndoReport",
    "UsageReport",
    "UserPreference",
    "Verdict",
    "VerifyReport",
    "memory_from_json",
]
