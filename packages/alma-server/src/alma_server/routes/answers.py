"""Answers that are no value of ALMA's own: a few values together, pages, receipts."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from alma.types.custom import CustomMemoryType
from alma.types.episodes import EpisodeRecord
from alma.types.kinds import MemoryType
from alma.types.memories import AnyMemory, Outcome
from alma.types.overview import JournalLine
from alma.types.package_records import Artifact
from alma.types.recalled import Contradiction, Explanation, Factors
from alma.types.reports import ForgetReport, PurgeReceipt
from alma.types.slice import MemorySlice
from alma.types.strategies import StrategyRecord


class Answer(BaseModel):
    """Base of the answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Found(Answer):
    """Memory of an answer, with the tag by which the notes cite it, its score and the factors of that. `copies` counts the equal memories that
    it represents. `explanation` has every number behind the score, where the request asks for it; a learned
    rule has none."""

    tag: str
    score: float
    factors: Factors
    copies: int
    memory: AnyMemory
    explanation: Explanation | None = None


class Retrieved(Answer):
    """Memories for a task, best first, and the notes to show an agent.

    `ids` are those of the memories in rank order. `seq` is the newest journal record at the time of the answer.
    """

    memories: list[Found]
    strategies: list[StrategyRecord]
    contradictions: list[Contradiction]
    prompt: str
    ids: list[str]
    total_items: int
    hint: str | None
    relevance: float | None
    retrieval_time_ms: float
    seq: int


class Begun(Answer):
    """Episode that was begun, and what is shown for its task."""

    episode: EpisodeRecord
    memories: list[Found]
    prompt: str
    hint: str | None


class Counts(Answer):
    """Content of a project in numbers, as `alma.types.reports.Stats` has it. `learned_rules` of the `total` follow from outcomes and are not
    stored. `database_bytes` is `None` for a token that reads a part only."""

    project_id: str
    total: int
    learned_rules: int
    by_kind: dict[str, int]
    by_agent: dict[str, dict[str, int]]
    journal_records: int
    database_bytes: int | None
    embedder: str
    oldest: datetime | None
    newest: datetime | None


class Learned(Answer):
    """Outcomes that were stored, in the order of the request."""

    outcomes: list[Outcome]


class Settled(Answer):
    """Episodes whose verdict was set."""

    episodes: list[EpisodeRecord]


class Observed(Answer):
    """Ids of the memories that a text cites."""

    memory_ids: list[str]


class Page(Answer):
    """Page of a list. `next` is the cursor of the next page, null on the last one. `total` is counted on request."""

    memories: list[AnyMemory]
    next: str | None
    total: int | None = None


class Memories(Answer):
    """Memories."""

    memories: list[AnyMemory]


class Released(Answer):
    """Ids of the memories that left the quarantine."""

    memory_ids: list[str]


class Forgotten(Answer):
    """Memories that were archived or erased, or would be.

    `unknown` are ids of no memory that this token may forget. `seqs` are the journal records of the call. `receipts` list every surface that an
    erased memory was on. `confirmation` confirms the erasure of more than 100 memories.
    """

    dry_run: bool
    total: int
    by_kind: dict[str, int]
    memory_ids: list[str]
    unknown: list[str]
    seqs: list[int]
    receipts: list[PurgeReceipt]
    confirmation: str | None = None


class Consolidated(Answer):
    """Memories that became one, or would: of each group the ids, the one that stays first.

    `unsure` are pairs that a person may judge, the nearest 100. `seq` is the journal record; undoing to the one before takes it back.
    """

    dry_run: bool
    memories_processed: int
    merged_count: int
    merged: list[list[str]]
    unsure: list[list[str]]
    seq: int | None


class Journal(Answer):
    """Journal records in order. `after` is where the next page begins; it is null at the end."""

    records: list[JournalLine]
    head: int
    after: int | None


class Merged(Answer):
    """State made of several."""

    state: dict[str, Any]


class Artifacts(Answer):
    """Products of a workflow, oldest first."""

    artifacts: list[Artifact]


class Cleaned(Answer):
    """Number of checkpoints that were erased."""

    erased: int


class Names(Answer):
    """Names in order."""

    names: list[str]


class Kinds(Answer):
    """Kinds of memory: those that every project has, and those that were registered with this one."""

    built_in: list[MemoryType]
    registered: dict[str, CustomMemoryType]


class Job(Answer):
    """Work in the background. `done` of `total` steps are done; `total` is 0 until it is known. `result` is the report of ended work."""

    id: str
    sort: str
    status: Annotated[str, Field(json_schema_extra={"enum": ["waiting", "running", "done", "failed"]})]
    done: int
    total: int
    result: dict[str, Any] | None = None
    problem: str | None = None


def found_in(memories: MemorySlice) -> list[Found]:
    """Returns the memories of a slice, in rank order."""
    return [
        Found(
            tag=item.tag,
            score=item.score,
            factors=item.factors,
            copies=item.copies,
            memory=item.memory,
            explanation=item.explanation,
        )
        for item in memories.recalled
    ]


def forgotten_by(reports: list[ForgetReport], *, unknown: list[str], dry_run: bool, confirmation: str | None = None) -> Forgotten:
    """Returns one answer for the reports of several calls."""
    by_kind: dict[str, int] = {}
    for report in reports:
        for kind, count in report.by_kind.items():
            by_kind[kind] = by_kind.get(kind, 0) + count
    return Forgotten(
        dry_run=dry_run,
        total=sum(report.total for report in reports),
        by_kind=by_kind,
        memory_ids=[each for report in reports for each in report.memory_ids],
        unknown=[*unknown, *(each for report in reports for each in report.unknown)],
        seqs=[report.seq for report in reports if report.seq is not None],
        receipts=[report.receipt for report in reports if report.receipt is not None],
        confirmation=confirmation,
    )


class UnsurePair(Answer):
    """Two memories that may say the same, the older first, and why nobody merged them. `survivor` is the id of the one that a merge would keep."""

    id: str
    memories: list[AnyMemory]
    reason: str
    survivor: str


class UnsurePairs(Answer):
    """Pairs that a person may judge, and how many there are in all."""

    pairs: list[UnsurePair]
    total: int


class JudgedPair(Answer):
    """Journal record of a verdict on a pair."""

    seq: int


class GraphState(Answer):
    """Whether a project has a graph. It has none without the package alma-graph, nor before anything was read or stated."""

    available: bool


class EntityAnswer(Answer):
    """Entity of a graph. `properties` have its other names as `aliases`."""

    id: str
    name: str
    entity_type: str
    properties: dict[str, Any]
    created_at: datetime


class EntityList(Answer):
    """Entities by name."""

    entities: list[EntityAnswer]


class RelationAnswer(Answer):
    """Relation of two entities. `valid_from` and `valid_to` say when it held in the world; `null` is open. `properties` have the names of both
    ends, `source` and `target`, and the memories behind it, `evidence`."""

    id: str
    source_id: str
    target_id: str
    relation_type: str
    properties: dict[str, Any]
    confidence: float
    created_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None


class RelationList(Answer):
    """Relations in the order of the request."""

    relations: list[RelationAnswer]


class PageOfEntity(Answer):
    """What is known of an entity, as lines of text. `left_out` counts the relations and sentences for which there was no room."""

    entity: EntityAnswer
    page: str
    left_out: int


class SelfModelFact(Answer):
    """Attribute of a node: its value, who said it and when, and the values before, newest first."""

    value: str
    by: str
    at: datetime
    former: list[str]


class SelfModelNode(Answer):
    """Node of a self-model. A preference has the id of its memory."""

    type: str
    name: str
    facts: dict[str, SelfModelFact]
    memory_id: str | None


class SelfModelLink(Answer):
    """Directed relation between two nodes, each named `Type:name`."""

    source: str
    relation: str
    target: str
    by: str
    at: datetime


class SelfModelAnswer(Answer):
    """Self-model of a user, or of an agent that works for none."""

    nodes: list[SelfModelNode]
    links: list[SelfModelLink]


class SelfModelNotes(Answer):
    """What is known to a question: lines of the self-model, and memories as notes."""

    lines: list[str]
    prompt: str
