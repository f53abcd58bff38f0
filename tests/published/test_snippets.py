"""Code and configurations as alma-memory and ALMA were published with run as written, or stand in docs/guides/migrating.md."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from alma import AlmaError

GUIDE = (Path(__file__).parents[2] / "docs/guides/migrating.md").read_text("utf-8")
CONFIG = """alma:
  project_id: "my-project"
  storage: sqlite
  embedding_provider: local
  storage_dir: .alma
  db_name: alma.db
  embedding_dim: 384
"""
OPEN = 'from alma import ALMA\nalma = ALMA.from_config(".alma/config.yaml")\n'
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs code in a folder of its own, beside a configuration, and closes what it leaves open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".alma").mkdir()
    names: dict[str, Any] = {}

    def execute(code: str, config: str = CONFIG) -> dict[str, Any]:
        (tmp_path / ".alma/config.yaml").write_text(config, "utf-8")
        exec(compile(dedent(code), "<snippet>", "exec"), names)
        return names

    yield execute
    for value in names.values():
        if type(value).__name__ == "ALMA":
            value.close()


def test_retrieve_before_and_learn_after_a_task(run: Run) -> None:
    names = run(
        OPEN
        + """
memories = alma.retrieve(task="Deploy auth service", agent="backend-dev")
alma.learn(agent="backend-dev", task="Deploy auth service", outcome="success", strategy_used="Blue-green deployment")
memories = alma.retrieve(task="Deploy the auth service", agent="backend-dev", top_k=5)
prompt = f"## Context from past runs\\n{memories.to_prompt()}\\n\\n## Task\\nDeploy"
"""
    )
    assert "Blue-green deployment" in names["prompt"]


def test_usage_and_feedback_of_ids_that_do_not_exist(run: Run) -> None:
    run(
        OPEN
        + """
from alma.types import FeedbackSignal, MemoryType
alma.record_usage(
    retrieved_memory_ids=["m1", "m2"], used_memory_ids=["m1"], memory_type=MemoryType.HEURISTIC, agent="dev-agent"
)
alma.record_feedback(memory_id="m1", memory_type=MemoryType.HEURISTIC, signal=FeedbackSignal.THUMBS_UP, agent="dev-agent")
"""
    )


SHARING = """  agents:
    senior_dev:
      domain: coding
      can_learn: [architecture, best_practices]
      share_with: [junior_dev, qa_agent]
      min_occurrences_for_heuristic: 3
    junior_dev:
      can_learn: [coding_patterns]
      inherit_from: [senior_dev]
"""


def test_shared_memories_are_marked_with_their_origin(run: Run) -> None:
    names = run(
        OPEN
        + """
alma.add_heuristic("senior_dev", "Implement user authentication", "Use OAuth")
memories = alma.retrieve(task="Implement user authentication", agent="junior_dev", include_shared=True)
shared = [each.metadata.get("shared_from") for each in memories.heuristics]
""",
        CONFIG + SHARING,
    )
    assert names["shared"] == ["senior_dev"]


def test_an_anti_pattern_is_kept_under_rules_at_the_top_of_the_file(run: Run) -> None:
    run(
        OPEN
        + """
alma.add_anti_pattern(
    agent="qa_tester",
    pattern="Using sleep() for async waits",
    why_bad="Causes flaky tests, wastes time",
    better_alternative="Use explicit waits with conditions",
)
""",
        CONFIG + "agents:\n  qa_tester:\n    can_learn: [testing_strategies]\n    cannot_learn: [backend_logic]\n",
    )


def test_a_harness_runs_a_context_of_another_project(run: Run) -> None:
    names = run(
        OPEN
        + """
from alma import Context, create_harness
harness = create_harness("coding", "helena", alma)
result = harness.run(Context(task="Test the login form validation", project_id="my-app"))
"""
    )
    assert "Test the login form validation" in names["result"].prompt


def test_domains_work_items_and_sessions(run: Run) -> None:
    names = run("""
from alma.domains import DomainMemoryFactory, get_research_schema
from alma.progress import ProgressTracker
from alma.session import SessionManager

factory = DomainMemoryFactory()
alma = factory.create_alma(get_research_schema(), "my-research-project")
schema = factory.create_schema("sales", {
    "entity_types": [{"name": "lead", "attributes": ["stage", "value"]}],
    "learning_categories": ["objection_handling", "closing_techniques"],
})
tracker = ProgressTracker("my-project")
item = tracker.create_work_item(
    title="Fix authentication bug", description="Login fails on mobile devices", priority=80, agent="Victor"
)
tracker.update_status(item.id, "in_progress")
next_task = tracker.get_next_item(strategy="priority")
manager = SessionManager("my-project")
context = manager.start_session(agent="Helena", goal="Complete auth testing")
manager.create_handoff("Helena", context.session_id,
    last_action="completed_oauth_tests", last_outcome="success", next_steps=["Test refresh tokens", "Add error cases"])
last = manager.start_session(agent="Helena", goal="Continue").previous_handoff.last_action
""")
    assert names["last"] == "completed_oauth_tests"


def test_confidence_of_a_strategy(run: Run) -> None:
    names = run(
        OPEN
        + """
from alma.confidence import ConfidenceEngine
for i in range(10):
    alma.learn("Helena", f"Testing registration form {i}", i < 8, "Use incremental validation", task_type="form")
signal = ConfidenceEngine(alma).assess_strategy(
    strategy="Use incremental validation", context="Testing a 5-field registration form", agent="Helena"
)
printed = f"Confidence: {signal.confidence_score:.0%}, {signal.recommendation}"
"""
    )
    assert names["printed"].endswith(", yes")


@pytest.mark.parametrize("reducer", ["latest_wins", "merge_lists", "priority_agent"])
def test_checkpoints_and_merged_states(run: Run, reducer: str) -> None:
    names = run(
        OPEN
        + f"""
workflow_id, state, metadata = "deploy-v2", {{"step": 1}}, {{"by": "ci"}}
alma.checkpoint(workflow_id, state, metadata)
alma.checkpoint(workflow_id=workflow_id, state=state)
resumed = alma.resume(workflow_id="deploy-v2").state
alma.cleanup_checkpoints(older_than_days=7)
merged = alma.merge_states(workflow_id, [{{"a": [1]}}, {{"a": [2]}}], "{reducer}")
"""
    )
    assert names["resumed"] == {"step": 1}
    assert names["merged"]["a"]


@pytest.mark.parametrize("kind", ["code", "test", "document", "config", "deployment"])
def test_artifacts(run: Run, kind: str) -> None:
    names = run(f'{OPEN}alma.link_artifact("w", "{kind}", "ref")\nlinked = alma.get_artifacts("w")')
    assert [artifact.artifact_type for artifact in names["linked"]] == [kind]


@pytest.mark.parametrize("scope", ["workflow_only", "agent_only", "project_wide"])
def test_a_scope_of_a_memory_that_is_empty_holds_nothing(run: Run, scope: str) -> None:
    assert run(f'{OPEN}found = alma.retrieve_scoped("Test the form", "{scope}")')["found"].total_items == 0


def test_a_kind_of_ones_own_a_filter_of_times_and_an_explanation(run: Run) -> None:
    names = run(
        OPEN
        + """
from datetime import datetime
from typing import List
from alma import CustomMemoryType, ImportanceDetector, MemoryScope, TemporalFilter

alma.register_memory_type(CustomMemoryType(
    name="meeting_note",
    fields={"title": str, "attendees": List[str], "summary": str, "action_items": List[str], "date": datetime},
    embedding_fields=["summary", "action_items"],
    scoring_weights={"recency": 0.5, "relevance": 0.5},
))
memories = alma.retrieve(query="authentication discussion", agent="dev-agent", temporal_filter=TemporalFilter(
    start=datetime(2026, 1, 20), end=datetime(2026, 1, 27), relative="last_week"))
scope = MemoryScope(agent_name="a", can_learn=["x"], cannot_learn=[], share_with=["b"], inherit_from=["c"])
explanation = alma.explain_retrieval(query="authentication", memory_id="mem_123")
"""
    )
    assert "Not selected because" in str(names["explanation"])


@pytest.mark.parametrize("config", [CONFIG.replace("sqlite", "file"), CONFIG.replace("local", "mock")], ids=["file", "mock"])
def test_other_stores_and_embedders(run: Run, config: str) -> None:
    run(OPEN + 'alma.learn("helena", "Test the form", "success", "Empty fields first")', config)


def block(text: str) -> str:
    return CONFIG + indent(dedent(text), "  ")


def test_callbacks_are_called_with_events(run: Run) -> None:
    names = run(
        OPEN
        + """
from alma.events import get_emitter, MemoryEventType
said = []
def on_memory_created(event):
    said.append(f"Memory created: {event.memory_id} by {event.agent}")
emitter = get_emitter()
emitter.subscribe(MemoryEventType.CREATED, on_memory_created)
emitter.subscribe(MemoryEventType.CONSOLIDATED, print)
made = alma.learn(agent="helena", task="Test the form", outcome="success", strategy_used="Tested empty fields")
emitter.flush()
emitter.clear()
"""
    )
    assert names["said"] == [f"Memory created: {names['made'].id} by helena"]


def test_facts_of_a_conversation_without_a_key(run: Run) -> None:
    names = run(
        OPEN
        + """
from alma.extraction import AutoLearner
results = AutoLearner(alma).learn_from_conversation(
    messages=[
        {"role": "user", "content": "Test the login form"},
        {"role": "assistant", "content": "I used incremental validation which worked well..."},
    ],
    agent="helena",
)
print(f"Extracted {results['extracted_count']} facts")
(outcome,) = alma.list_memories("outcome")
"""
    )
    assert names["results"]["extracted_count"] == 1
    assert names["outcome"].strategy_used == "incremental validation"


NOT_TAKEN = [
    ("from alma.graph import EntityExtractor, create_graph_backend", CONFIG, "`alma.graph`"),
    (OPEN, block("federation: {enabled: true, peers: [{url: 'https://team-alma.example.com'}]}"), "`federation:`"),
    ("from alma import CompressionStrategy", CONFIG, "`CompressionStrategy`"),
    ("from alma import MultiModalMemory", CONFIG, "`MultiModalMemory`"),
    ("from alma import MemoryProvenance", CONFIG, "`from alma import MemoryProvenance`"),
    (OPEN, CONFIG.replace("provider: local", "provider: azure").replace("384", "1536"), "`embedding_provider: azure`"),
    (
        "from alma.testing import MockStorage, create_test_heuristic\nMockStorage().save_heuristic(create_test_heuristic(agent='a'))",
        CONFIG,
        "`storage.save_heuristic(Heuristic(...))`",
    ),
    (
        OPEN + 'alma.learn("helena", "Write the backend", "success", "x", task_type="backend_logic")',
        CONFIG + "  agents:\n    helena:\n      cannot_learn: [backend_logic]\n",
        "`cannot_learn`",
    ),
]


@pytest.mark.parametrize(("code", "config", "named"), NOT_TAKEN, ids=[named.strip("`") for *_, named in NOT_TAKEN])
def test_what_is_not_taken_is_an_error_and_stands_in_the_guide(run: Run, code: str, config: str, named: str) -> None:
    with pytest.raises((AlmaError, AttributeError, ImportError)):
        run(code, config)
    assert named in GUIDE
