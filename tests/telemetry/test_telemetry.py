"""Spans and metrics of memory operations, read from OpenTelemetry's own exporters in memory."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from alma import ALMA, Context, StorageError, ValidationError, create_harness
from alma.telemetry import instrument

TASK = "Deploy the auth service"
SECRET = "Ann never works on Sundays"


class Seen:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])

    @property
    def spans(self) -> list[tuple[str, dict[str, Any]]]:
        return [(span.name, dict(span.attributes or {})) for span in self.exporter.get_finished_spans()]

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [point for scope in scopes for metric in scope.metrics if metric.name == name for point in metric.data.data_points]

    def all_text(self) -> str:
        return "".join(span.to_json() for span in self.exporter.get_finished_spans())


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as opened:
        yield opened


def switched_on(alma: ALMA, seen: Seen, **how: Any) -> Any:
    return instrument(alma, tracer_provider=seen.tracers, meter_provider=seen.meters, **how)


def test_each_operation_is_a_span_by_the_conventions(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)
    preference = alma.add_user_preference("ann", "time", SECRET)
    alma.learn("dev", TASK, "failure", "rolling")
    found = alma.retrieve(TASK, "dev", user_id="ann")
    alma.admin.forget(memory_ids=[preference.id])

    assert [name for name, _ in seen.spans] == ["create_memory", "upsert_memory", "search_memory", "delete_memory"]
    assert all(about["gen_ai.operation.name"] == name for name, about in seen.spans)
    assert {about["gen_ai.memory.store.id"] for _, about in seen.spans} == {"shop"}
    created, learned, searched, deleted = (about for _, about in seen.spans)
    assert created["gen_ai.memory.record.id"] == deleted["gen_ai.memory.record.id"] == preference.id
    assert (learned["alma.verdict"], learned["alma.verdict.source"]) == ("failure", "caller")
    assert searched["gen_ai.memory.record.count"] == found.total_items > 0
    assert searched["gen_ai.agent.name"] == "dev"
    assert {span.kind for span in seen.exporter.get_finished_spans()} == {trace.SpanKind.INTERNAL}


def test_no_content_is_emitted_unless_it_is_wanted(alma: ALMA, seen: Seen) -> None:
    stop = switched_on(alma, seen)
    alma.add_user_preference("ann", "time", SECRET)
    alma.retrieve(TASK, "dev", user_id="ann")
    with pytest.raises(ValidationError):
        alma.learn("dev", TASK, SECRET, "rolling")
    assert "Sundays" not in seen.all_text()
    assert TASK not in seen.all_text()
    stop()

    switched_on(alma, seen, capture_content=True)
    alma.retrieve(TASK, "dev", user_id="ann")
    (_, about) = seen.spans[-1]
    assert about["gen_ai.memory.query.text"] == TASK
    assert SECRET in json.loads(about["gen_ai.memory.records"])[0]["content"]


def test_an_error_is_named_and_raised(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)
    with pytest.raises(ValidationError):
        alma.retrieve("", "dev")
    (span,) = seen.exporter.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "ValidationError"
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description is None


def test_metrics_count_durations_records_and_verdicts(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)
    for outcome in ("success", "success", "failure"):
        alma.learn("dev", TASK, outcome, "blue-green")
    alma.retrieve(TASK, "dev")

    durations = {point.attributes["gen_ai.operation.name"]: point for point in seen.points("alma.memory.operation.duration")}
    assert (durations["upsert_memory"].count, durations["search_memory"].count) == (3, 1)
    assert durations["upsert_memory"].sum > 0
    records = {point.attributes["gen_ai.operation.name"]: point.value for point in seen.points("alma.memory.records")}
    assert records["upsert_memory"] == 3
    verdicts = {point.attributes["alma.verdict"]: point.value for point in seen.points("alma.verdicts")}
    assert verdicts == {"success": 2, "failure": 1}


def test_the_lesson_of_a_step_is_a_span_and_a_step_without_one_is_none(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)
    with alma.episode("dev", TASK) as episode:
        failed = episode.step("kubectl apply", ok=False, error=SECRET)
        episode.step("kubectl apply", ok=False, error=SECRET)
        episode.step("git status", ok=True)
        repaired = episode.step("kubectl apply", ok=True)
        episode.succeed(source="tool")

    assert [about["alma.method"] for _, about in seen.spans] == ["episode", "episode.step", "episode.step", "episode.end"]
    steps = [about for name, about in seen.spans if name == "upsert_memory"][:2]
    assert [about["gen_ai.memory.record.id"] for about in steps] == [failed.memory_id, repaired.memory_id]
    assert [about["gen_ai.memory.record.count"] for about in steps] == [1, 1]
    assert [(about["alma.verdict"], about["alma.step.number"]) for about in steps] == [("failure", 1), ("success", 4)]
    assert {(about["gen_ai.agent.name"], about["alma.episode.id"]) for about in steps} == {("dev", episode.id)}
    assert SECRET not in seen.all_text()
    verdicts = {point.attributes["alma.verdict"]: point.value for point in seen.points("alma.verdicts")}
    assert verdicts == {"success": 1}  # the task's; steps are no tasks


def test_a_step_that_cannot_be_stored_is_a_span_with_its_error(alma: ALMA, seen: Seen) -> None:
    episode = alma.episode("dev", TASK)
    switched_on(alma, seen)
    alma.close()
    with pytest.raises(StorageError):
        episode.step("kubectl apply", ok=False, error="ImagePullBackOff")
    ((name, about),) = seen.spans
    assert (name, about["error.type"]) == ("upsert_memory", "StorageError")
    assert "alma.verdict" not in about


def test_a_harness_and_other_projects_are_seen_too_and_spans_nest_below_the_programs_own(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)
    harness = create_harness("general", "dev", alma, run=lambda prompt: "It is live.", evaluator=lambda run: True)
    with trace.get_tracer("program", tracer_provider=seen.tracers).start_as_current_span("request"):
        harness.run(Context(task=TASK, project_id="other"))

    spans = seen.exporter.get_finished_spans()
    assert [span.name for span in spans] == ["search_memory", "upsert_memory", "request"]
    assert {span.attributes["gen_ai.memory.store.id"] for span in spans[:2] if span.attributes} == {"other"}
    assert (spans[1].attributes or {})["alma.verdict"] == "success"
    assert {span.parent.span_id for span in spans[:2] if span.parent} == {spans[2].context.span_id}


def test_after_it_is_switched_off_nothing_is_emitted(alma: ALMA, seen: Seen) -> None:
    switched_on(alma, seen)()
    alma.retrieve(TASK, "dev")
    assert seen.spans == []


def test_nothing_of_opentelemetry_is_imported_before_it_is_switched_on(tmp_path: Path) -> None:
    program = """
import sys
from alma import ALMA
import alma.telemetry
with ALMA.open(sys.argv[1], project_id="p", embedding_provider="hash") as memory:
    memory.learn("dev", "a task", True, "a way")
    memory.retrieve("a task", "dev")
    assert not [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]
    alma.telemetry.instrument(memory)
    assert "opentelemetry" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=True, timeout=120)
