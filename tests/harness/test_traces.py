"""Runs that other programs traced with OpenTelemetry become episodes, once."""

import asyncio
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alma import ALMA, AlmaError, AsyncALMA, ConfigurationError, ValidationError, Verdict
from alma.integration import open_records
from facade import ManualClock, held

TRACE = "5b8efff798038103d269b633813fc60c"


def attributes(**values: Any) -> list[dict[str, Any]]:
    return [{"key": name.replace("__", "."), "value": {"stringValue": value}} for name, value in values.items()]


def span(number: int, parent: int, operation: str, *, error: str | None = None, **values: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": f"{operation} {number}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_700_000_001_000_000_000 + number),
        "attributes": attributes(gen_ai__operation__name=operation, **values),
        "status": {"code": 2, "message": error} if error else {},
    }


def tool(number: int, parent: int, way: str, **values: Any) -> dict[str, Any]:
    called = {"gen_ai__tool__name": "deploy", "gen_ai__tool__call__arguments": json.dumps({"way": way})}
    return span(number, parent, "execute_tool", **called, **values)


def document(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def said(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


RUN = span(
    1,
    0,
    "invoke_agent",
    gen_ai__agent__name="dev",
    gen_ai__conversation__id="thread-7",
    gen_ai__input__messages=said("user", "Deploy the auth service"),
    gen_ai__output__messages=said("assistant", "It is live."),
    user__id="ann",
)
TRACES = document(
    RUN,
    span(2, 1, "chat"),
    tool(3, 2, "rolling", error="502 bad gateway"),
    tool(4, 2, "blue-green", gen_ai__tool__call__result="live"),
)


@pytest.mark.parametrize("form", [lambda traces: traces, json.dumps, lambda traces: json.dumps(traces).encode()])
def test_a_run_its_tools_and_its_conversation_become_an_episode(alma: ALMA, form: Any) -> None:
    report = alma.learn_from_spans(form(TRACES), evaluator=lambda run: "live" in run.answer)

    (episode,) = alma.recent_episodes()
    assert report.episode_ids == (episode.id,)
    assert (report.known, report.steps, report.left_out) == (0, 2, 0)
    assert (episode.agent, episode.task, episode.thread_id, episode.user_id) == (
        "dev",
        "Deploy the auth service",
        "thread-7",
        "ann",
    )
    assert (episode.outcome, episode.strategy) == (Verdict.SUCCESS, 'deploy(way="blue-green")')
    assert [(step.ok, step.error) for step in episode.steps] == [(False, "502 bad gateway"), (True, None)]


def test_what_was_learned_from_traces_warns_the_next_run(alma: ALMA) -> None:
    alma.learn_from_spans(TRACES)

    assert 'deploy(way="rolling")' in alma.retrieve("Deploy the auth service", "dev", user_id="ann").to_prompt()


def test_the_same_traces_again_change_nothing(alma: ALMA) -> None:
    alma.learn_from_spans(TRACES)
    before = alma.get_stats().journal_records

    again = alma.learn_from_spans(TRACES)

    assert (again.episode_ids, again.known) == ((), 1)
    assert alma.get_stats().journal_records == before


def test_documents_may_stand_line_by_line(alma: ALMA) -> None:
    other = dict(RUN, traceId="a" * 32)

    assert len(alma.learn_from_spans(f"{json.dumps(TRACES)}\n\n{json.dumps(document(other))}\n").episode_ids) == 2


def test_a_run_that_failed_is_a_failure_with_its_error(alma: ALMA) -> None:
    event = {"name": "exception", "attributes": attributes(exception__type="TimeoutError", exception__message="no answer")}
    broken = {**span(1, 0, "invoke_agent", gen_ai__agent__name="dev"), "status": {"code": 2}, "events": [event]}

    alma.learn_from_spans(document(broken))

    (episode,) = alma.recent_episodes()
    assert (episode.outcome, episode.error, episode.task) == (Verdict.FAILURE, "TimeoutError: no answer", "invoke_agent 1")


def test_agents_below_agents_are_runs_of_their_own(alma: ALMA) -> None:
    inner = span(2, 1, "invoke_agent", gen_ai__agent__name="qa", gen_ai__input__messages=said("user", "Check it"))

    alma.learn_from_spans(document(RUN, inner, tool(3, 2, "rolling"), tool(4, 1, "blue-green")))

    steps = {episode.agent: [step.action for step in episode.steps] for episode in alma.recent_episodes()}
    assert steps == {"dev": ['deploy(way="blue-green")'], "qa": ['deploy(way="rolling")']}


def test_spans_of_no_run_are_left_out_and_counted(alma: ALMA) -> None:
    circle = [tool(5, 6, "rolling"), tool(6, 5, "rolling")]

    report = alma.learn_from_spans(document(tool(3, 9, "rolling"), *circle, span(7, 0, "chat")))

    assert (report.episode_ids, report.left_out) == ((), 3)
    assert not alma.recent_episodes()


def test_a_run_without_a_name_takes_the_given_agent(alma: ALMA) -> None:
    traces = document(span(1, 0, "invoke_agent"))

    with pytest.raises(ValidationError, match="names no agent"):
        alma.learn_from_spans(traces)
    alma.learn_from_spans(traces, agent="dev")

    assert [episode.agent for episode in alma.recent_episodes()] == ["dev"]


def test_secrets_in_traces_are_replaced(alma: ALMA) -> None:
    key = "sk-" + "a1B2" * 12
    alma.learn_from_spans(document(RUN, tool(3, 1, "rolling", error=f"invalid key {key}")))

    assert key not in str(alma.recent_episodes())


def test_asynchronously(alma: ALMA) -> None:
    assert len(asyncio.run(AsyncALMA(alma).learn_from_spans(TRACES)).episode_ids) == 1


TORN = json.dumps(TRACES)[:-40]
HOSTILE: list[tuple[Any, str]] = [
    ("", "no JSON"),
    (TORN, "no JSON"),
    (f"{json.dumps(TRACES)}\n{TORN}", "line 2"),
    (b"\xff\xfe", "UTF-8"),
    ("[" * 100_000, "nested|JSON"),
    ([], "OTLP"),
    (None, "OTLP"),
    ("[]", "object"),
    ("{}", "resourceSpans"),
    ({"resourceSpans": {}}, "list"),
    ({"resourceSpans": [3]}, "object"),
    (document(3), "object"),  # type: ignore[arg-type]  # it is hostile
    (document({**RUN, "spanId": "../x"}), "spanId"),
    (document({**RUN, "traceId": 7}), "traceId"),
    (document({**RUN, "startTimeUnixNano": "soon"}), "nanoseconds"),
    (document({**RUN, "endTimeUnixNano": float("nan")}), "nanoseconds"),
    (document({**RUN, "attributes": [{"value": {}}]}), "key"),
    (document(RUN, span(9, 0, "invoke_agent", gen_ai__agent__name="a\0b")), "gen_ai.agent.name"),
]


@pytest.mark.parametrize(("traces", "expected"), HOSTILE, ids=range(len(HOSTILE)))
def test_what_cannot_be_read_is_a_clear_error_and_nothing_is_stored(alma: ALMA, traces: Any, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected) as caught:
        alma.learn_from_spans(traces)

    assert len(str(caught.value)) < 1_000
    assert not alma.recent_episodes()


def test_invalid_options_are_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="no option"):
        alma.learn_from_spans(TRACES, colour="blue")
    with pytest.raises(ConfigurationError, match="on_error"):
        alma.learn_from_spans(TRACES, on_error="log")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["key", "value", "stringValue", "kvlistValue", "values"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(sorted(RUN)), value=values)
def test_any_value_at_any_place_of_a_span_is_read_or_refused(alma: ALMA, place: str, value: Any) -> None:
    before = held(alma)
    try:
        report = alma.learn_from_spans(document({**RUN, place: value}))
    except AlmaError:
        assert held(alma) == before
    else:
        assert len(report.episode_ids) + report.known <= 1


READER = """
import json, sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="p", embedding_provider="hash") as alma:
    traces = open(sys.argv[2]).read()
    print("ready", flush=True)
    sys.stdin.readline()
    report = alma.learn_from_spans(traces)
    print(json.dumps([len(report.episode_ids), report.known]), flush=True)
"""


@pytest.mark.slow
def test_two_processes_that_read_the_same_traces_at_once_record_each_run_once(alma: ALMA, store: Path, tmp_path: Path) -> None:
    runs = [
        span(
            number, 0, "invoke_agent", gen_ai__agent__name="dev", gen_ai__input__messages=said("user", f"Deploy service {number}")
        )
        for number in range(1, 31)
    ]
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(document(*runs)))
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(store), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    for reader in readers:
        assert reader.stdin is not None
        reader.stdin.write("go\n")
        reader.stdin.flush()
    found = [json.loads(reader.communicate(timeout=120)[0]) for reader in readers]

    assert sum(new for new, _ in found) == 30
    assert [new + known for new, known in found] == [30, 30]
    assert len(alma.recent_episodes(100)) == 30
    assert alma.learn_from_spans(path.read_text()).known == 30


def test_a_run_whose_reader_died_before_it_recorded_it_is_recorded_ten_minutes_later(alma: ALMA, clock: ManualClock) -> None:
    claims = open_records(alma, "traces.claim")
    claims.put(hashlib.sha256(f"{TRACE}:{1:016x}".encode()).hexdigest(), {"at": clock.now.isoformat()})
    clock.advance(minutes=10)
    assert alma.learn_from_spans(TRACES).episode_ids == ()
    clock.advance(seconds=1)
    assert len(alma.learn_from_spans(TRACES).episode_ids) == 1
    assert claims.listed() == []


def test_a_claim_of_a_former_version_has_no_time_and_holds_nothing(alma: ALMA) -> None:
    key = hashlib.sha256(f"{TRACE}:{1:016x}".encode()).hexdigest()
    open_records(alma, "traces.claim").put(key, {"holder": "0" * 32})
    assert len(alma.learn_from_spans(TRACES).episode_ids) == 1
