"""Bodies of requests. A field has the name of the argument of ALMA that it becomes; an unknown field is an error."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema, field_validator

from alma.types.kinds import FeedbackSignal, MemoryType, Verdict

LARGEST_BATCH = 1_000

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=200_000)]
Line = Annotated[str, Field(min_length=1, max_length=4_000)]
"""Text in an address."""
Entity = Annotated[str, Field(min_length=1, max_length=300)]
Names = Annotated[list[Name], Field(max_length=LARGEST_BATCH)]
Metadata = dict[str, Any] | None
Moment = datetime | None
Count = Annotated[int, Field(ge=1, le=1_000)]
Tokens = Annotated[int, Field(ge=0, le=1_000_000)]
Milliseconds = Annotated[float, Field(ge=0, lt=2**53, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, le=365_000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Judged = Annotated[
    Verdict,
    BeforeValidator(Verdict.checked),
    WithJsonSchema({"anyOf": [{"enum": [each.value for each in Verdict], "type": "string"}, {"type": "boolean"}]}),
]
"""A verdict: one of four words in any case, or true or false."""


class Body(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(extra="forbid")


class Scoped(Body):
    """Base of the bodies that name an agent and a user. A token that is bound to one needs no name."""

    agent: Name | None = None
    user_id: Name | None = None


class Retrieve(Scoped):
    """Question to a memory, as `task` or `query`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"task": "Deploy auth service", "agent": "backend-dev", "top_k": 5}]}
    )

    task: Text | None = None
    query: Text | None = None
    task_type: Name | None = None
    top_k: Count = 5
    profile: Literal["recall"] | None = None
    include_shared: bool = True
    verified: bool = False
    since: Moment = None
    until: Moment = None
    as_of: Moment = None
    explain: Annotated[bool, Field(description="State every number behind each score.")] = False
    max_tokens: Tokens = 2_000
    min_seq: Annotated[int, Field(ge=0, description="Answer 409 if the journal has no such record yet.")] = 0


class Learn(Scoped):
    """Outcome of a task. The token says who judged it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "agent": "helena",
                    "task": "Test login form",
                    "outcome": "success",
                    "strategy_used": "Tested empty fields, invalid email, valid submission",
                }
            ]
        }
    )

    task: Text
    outcome: Judged
    strategy_used: Text | None = None
    task_type: Name | None = None
    task_id: Name | None = None
    difficulty: Name | None = None
    duration_ms: Milliseconds | None = None
    error_message: Text | None = None
    feedback: Text | None = None
    metadata: Metadata = None
    timestamp: Moment = None


class LearnBatch(Body):
    """Outcomes that are stored in one transaction, all or none."""

    items: Annotated[list[Learn], Field(min_length=1, max_length=LARGEST_BATCH)]


class AddPreference(Scoped):
    """Preference of a user."""

    kind: Literal["user_preference"]
    category: Name
    preference: Text
    source: Name | None = None
    metadata: Metadata = None


class AddKnowledge(Scoped):
    """Fact."""

    kind: Literal["domain_knowledge"]
    domain: Name
    fact: Text
    source: Name | None = None
    metadata: Metadata = None


class AddAntiPattern(Scoped):
    """Way that fails, and why."""

    kind: Literal["anti_pattern"]
    pattern: Text
    why_bad: Text
    better_alternative: Text | None = None
    metadata: Metadata = None


class AddHeuristic(Scoped):
    """Strategy that a person or a program states."""

    kind: Literal["heuristic"]
    condition: Text
    strategy: Text
    metadata: Metadata = None


class Message(Body):
    """Message of a conversation."""

    role: Name
    content: Text


class AddConversation(Scoped):
    """Conversation, or its newest messages."""

    kind: Literal["conversation"]
    session_id: Name
    messages: Annotated[list[Message], Field(min_length=1, max_length=10_000)]
    at: Moment = None
    metadata: Metadata = None


class AddOwn(Scoped):
    """Memory of a kind that was registered with the project, with its fields."""

    kind: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
    fields: Annotated[dict[str, Any], Field(max_length=64)]
    metadata: Metadata = None

    @field_validator("kind")
    @classmethod
    def _is_no_other(cls, kind: str) -> str:
        if kind.lower() == MemoryType.OUTCOME:
            raise ValueError("an outcome is learned: POST …/learn")
        return kind


class Edit(Body):
    """New texts of a stated memory: those of its kind, or the `fields` of a registered kind. Others stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"fact": "The token lives 15 minutes"}]})

    category: Name | None = None
    preference: Text | None = None
    domain: Name | None = None
    fact: Text | None = None
    source: Name | None = None
    pattern: Text | None = None
    why_bad: Text | None = None
    better_alternative: Text | None = None
    condition: Text | None = None
    strategy: Text | None = None
    fields: Annotated[dict[str, Any], Field(max_length=64)] | None = None


def _sort_of(given: Any) -> str:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return kind if isinstance(kind, str) and kind in set(MemoryType) - {MemoryType.OUTCOME} else "own"


Add = Annotated[
    Annotated[AddPreference, Tag("user_preference")]
    | Annotated[AddKnowledge, Tag("domain_knowledge")]
    | Annotated[AddAntiPattern, Tag("anti_pattern")]
    | Annotated[AddHeuristic, Tag("heuristic")]
    | Annotated[AddConversation, Tag("conversation")]
    | Annotated[AddOwn, Tag("own")],
    Discriminator(_sort_of),
]
"""Memory to add, of any kind but an outcome, which is learned."""


class Check(Scoped):
    """Action to check before it is done."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent": "qa_tester", "action": "sleep(5000)"}]})

    action: Text
    task: Text | None = None
    task_type: Name | None = None


class Assess(Scoped):
    """Strategy to assess for a task, the `context`; without a strategy, the task itself."""

    context: Text
    strategy: Text | None = None
    task_type: Name | None = None


class Usage(Scoped):
    """Which of the memories shown were used."""

    retrieved_memory_ids: Names
    used_memory_ids: Names | None = None


class Feedback(Scoped):
    """Signal about one memory."""

    memory_id: Name
    signal: FeedbackSignal


class Settle(Scoped):
    """Verdict of an episode, or of all episodes of a run, that have ended."""

    outcome: Judged
    episode_id: Name | None = None
    run_id: Name | None = None
    reason: Text | None = None


class Begin(Scoped):
    """Attempt at a task."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agent": "backend-dev", "task": "Deploy auth service"}]})

    task: Text
    task_type: Name | None = None
    episode_id: Name | None = None
    run_id: Name | None = None
    thread_id: Name | None = None
    top_k: Count = 5
    max_tokens: Tokens = 2_000


class Act(Body):
    """Step of an attempt. `ok` left out is a step that was not judged."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"action": "kubectl apply", "ok": False, "error": "ImagePullBackOff"}]}
    )

    action: Text
    ok: bool | None = None
    error: Text | None = None
    output: Text | None = None
    duration_ms: Milliseconds | None = None
    tool: Text | None = None
    feedback: Text | None = None


class Observe(Body):
    """Text of an agent, in which the tags of notes are found."""

    text: Annotated[str, Field(max_length=200_000)]


class End(Body):
    """End of an attempt. An `outcome` that is null abandons it."""

    outcome: Judged | None = Verdict.UNVERIFIED
    strategy: Text | None = None
    error: Text | None = None
    feedback: Text | None = None
    used_memory_ids: Names | None = None


class Forget(Scoped):
    """Memories to archive: those of `memory_ids`, or those that the limits select. Nothing is done unless `dry_run` is false.

    `purge` erases those of `memory_ids` for good. More than 100 of them need the `confirmation` of a dry run.
    """

    memory_ids: Names | None = None
    older_than_days: Days | None = None
    below_confidence: Share | None = None
    purge: bool = False
    confirmation: Name | None = None
    dry_run: bool = True


class ForgetUser(Body):
    """Nothing is erased unless `dry_run` is false."""

    dry_run: bool = True


class Release(Body):
    """Memories in quarantine that a person has read."""

    memory_ids: Annotated[Names, Field(min_length=1)]


class JudgePair(Body):
    """Verdict of a person on two memories that may say the same."""

    memory_ids: Annotated[Names, Field(min_length=2, max_length=2)]
    verdict: Literal["merge", "keep"]


class Undo(Body):
    """Journal record to go back to. Nothing is undone unless `dry_run` is false."""

    to: Annotated[int, Field(ge=0, lt=2**53)]
    actor: Annotated[Name | None, Field(description="Only changes of this agent.")] = None
    expected_head: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    dry_run: bool = True


class Consolidate(Body):
    """Memories of an agent to compare, of one kind or of all. Nothing is merged unless `dry_run` is false."""

    agent: Name | None = None
    kind: Name | None = None
    threshold: Annotated[float, Field(gt=0, le=1, description="Least cosine of two memories that are compared.")] = 0.85
    dry_run: bool = True


class SaveState(Body):
    """State of a workflow, at most 1 MiB as JSON."""

    state: dict[str, Any]
    metadata: Metadata = None
    branch: Name = "main"
    node: Name | None = None
    name: Name | None = None
    user_id: Name | None = None


class Merge(Body):
    """States to merge, oldest first; the newest of each branch if left out."""

    states: Annotated[list[dict[str, Any]], Field(max_length=1_000)] | dict[str, dict[str, Any]] | None = None
    reducer: Name | dict[str, Name] = "latest_wins"
    user_id: Name | None = None


class LinkArtifact(Body):
    """Product of a workflow, by reference: a path, a URL or an id, which is never opened."""

    artifact_type: Name
    ref: Text
    checksum: Name | None = None
    metadata: Metadata = None
    user_id: Name | None = None


class LearnWorkflow(Scoped):
    """Result of a whole workflow."""

    result: Literal["success", "failure", "partial", "timeout", "cancelled"]
    summary: Text
    strategies_used: Annotated[list[Text], Field(max_length=100)] = Field(default_factory=list)
    task_type: Name | None = None
    duration_seconds: Milliseconds | None = None
    error_message: Text | None = None
    metadata: Metadata = None


class RetrieveScoped(Scoped):
    """Question to what is known of one workflow, of the agent alone, or of all that it may read."""

    query: Text
    scope: Literal["workflow_only", "agent_only", "project_wide"]
    top_k: Count = 5
    max_tokens: Tokens = 2_000


class Export(Scoped):
    """Content to export: all, or that of one agent or one user."""

    vectors: bool = False


class Relate(Scoped):
    """Relation to state. Without `valid_from` it begins with the newest memory of its `evidence`, else now."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "Ann", "type": "works_for", "target": "Acme", "agent": "helena"}]}
    )

    source: Entity
    type: Annotated[str, Field(min_length=1, max_length=60)]
    target: Entity
    valid_from: Moment = None
    valid_to: Moment = None
    evidence: Annotated[list[Name], Field(max_length=100)] = []
    source_type: Annotated[str | None, Field(max_length=60)] = None
    target_type: Annotated[str | None, Field(max_length=60)] = None
    replaces: bool = False
    confidence: Share = 1.0
    properties: Metadata = None


class UpdateSelfModel(Scoped):
    """Nodes, edges or sentences to merge into a self-model."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"new_data": "User prefers concise replies.", "agent": "claude", "user_id": "ann"}]}
    )

    new_data: Text | dict[str, Any] | Annotated[list[Any], Field(max_length=LARGEST_BATCH)]


class QueryMemory(Scoped):
    """Question to the self-model and the memories."""

    query: Text
    top_k: Count = 10
