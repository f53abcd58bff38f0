"""How a task went is what a guardrail, an evaluator, a tool or CrewAI itself said of it, and nothing else."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from crewai import TaskOutput
from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
from crewai.tasks.conditional_task import ConditionalTask

from alma import ALMA
from alma.integration import RunView
from alma_crewai import ALMACrewListener, ALMAMemory
from crews import ScriptedLLM, agent, bad_tool, crew, good_tool, task, tool, use

DEPLOY = "Deploy the auth service"
REJECTED = "a zebra ate the release"


def broken_callback(output: TaskOutput) -> None:
    raise OSError("disk full")


def only_episode(alma: ALMA):
    (record,) = alma.recent_episodes()
    return record


def texts(alma: ALMA) -> str:
    return "\n".join(memory.model_dump_json() for memory in alma.list_memories())


def test_a_task_that_nobody_judged_is_unverified(alma: ALMA, memory: ALMAMemory) -> None:
    crew(task(DEPLOY, agent(ScriptedLLM("all done"))), memory=memory).kickoff()
    assert only_episode(alma).outcome == "unverified"
    assert "all done" not in texts(alma)


def test_what_a_guardrail_accepts_is_a_success(alma: ALMA, memory: ALMAMemory) -> None:
    crew(task(DEPLOY, agent(ScriptedLLM("done")), guardrail=lambda output: (True, output.raw)), memory=memory).kickoff()
    assert only_episode(alma).outcome == "success"


@pytest.mark.parametrize(
    ("evaluated", "is_guarded", "outcome"),
    [("failure", True, "failure"), ("success", False, "success"), (None, True, "success"), (None, False, "unverified")],
)
def test_an_evaluator_outranks_a_guardrail_and_a_tool_that_failed_is_no_verdict(
    alma: ALMA, evaluated: str | None, is_guarded: bool, outcome: str
) -> None:
    memory = ALMAMemory(alma, evaluator=lambda run: evaluated)
    guarded = {"guardrail": lambda output: (True, output.raw)} if is_guarded else {}
    llm = ScriptedLLM(use("bad_tool", text="a"), "done")
    crew(task(DEPLOY, agent(llm, tools=[bad_tool]), **guarded), memory=memory).kickoff()
    memory.close()
    assert only_episode(alma).outcome == outcome


def test_what_an_evaluator_does_with_tools_is_no_step_of_the_task(alma: ALMA) -> None:
    def judge(run: RunView) -> bool:
        llm = ScriptedLLM(use("bad_tool", text="a"), "looks good")
        return "good" in agent(llm, "Judge", tools=[bad_tool]).kickoff(f"Judge {run.answer}").raw

    memory = ALMAMemory(alma, evaluator=judge)
    crew(task(DEPLOY, agent(ScriptedLLM("done"))), memory=memory).kickoff()
    memory.close()
    record = only_episode(alma)
    assert (record.outcome, record.steps) == ("success", ())


@pytest.mark.parametrize("is_native", [True, False])
def test_a_tool_that_breaks_is_one_lesson_and_no_verdict(alma: ALMA, memory: ALMAMemory, is_native: bool) -> None:
    call = use("bad_tool", text="a") if is_native else 'Thought: try\nAction: bad_tool\nAction Input: {"text": "a"}'
    llm = ScriptedLLM(call, "Thought: I know\nFinal Answer: gave up", native=is_native)
    crew(task(DEPLOY, agent(llm, tools=[bad_tool])), memory=memory).kickoff()
    record = only_episode(alma)
    assert (record.outcome, record.strategy) == ("unverified", None)
    (step,) = record.steps
    assert (step.tool, step.action, step.ok) == ("bad_tool", 'bad_tool(text="a")', False)
    assert "boom" in step.error
    assert [found.strategy_used for found in alma.list_memories("outcome") if "boom" in (found.error_message or "")] == [
        'bad_tool(text="a")',
    ]


@pytest.mark.parametrize(("is_native", "tries"), [(True, 1), (False, 6)], ids=["native", "written"])
def test_a_tool_that_breaks_in_two_tasks_is_one_warning_however_often_crewai_tries_it(
    alma: ALMA, memory: ALMAMemory, is_native: bool, tries: int
) -> None:
    tried = []

    @tool("bad_tool")
    def bad_tool(text: str) -> str:
        """Breaks."""
        tried.append(text)
        raise RuntimeError("boom")

    call = use("bad_tool", text="a") if is_native else 'Thought: try\nAction: bad_tool\nAction Input: {"text": "a"}'
    for number in (1, 2):
        llm = ScriptedLLM(call, "Thought: I know\nFinal Answer: gave up", native=is_native)
        crew(task(DEPLOY, agent(llm, tools=[bad_tool])), memory=memory).kickoff()
        assert len(tried) == number * tries
        assert len(alma.list_memories("anti_pattern")) == number - 1  # one failure is no pattern yet
    (warning,) = alma.list_memories("anti_pattern")
    assert (warning.agent, warning.pattern, warning.occurrence_count) == ("Coder", 'bad_tool(text="a")', 2)
    assert "boom" in warning.why_bad
    assert [(record.outcome, len(record.steps)) for record in alma.recent_episodes()] == [("unverified", 1)] * 2


@pytest.mark.parametrize(
    ("policy", "outcome", "steps"), [("ignore", "unverified", 0), ("warn", "unverified", 1), ("raise", "failure", 1)]
)
def test_a_tool_that_breaks_weighs_as_much_as_the_crew_says(
    alma: ALMA, memory: ALMAMemory, policy: str, outcome: str, steps: int
) -> None:
    worker = agent(ScriptedLLM(use("bad_tool", text="a"), "gave up"), tools=[bad_tool])
    made = crew(task(DEPLOY, worker), memory=memory, tool_failure_policy=policy)
    with pytest.raises(Exception, match="boom") if policy == "raise" else nullcontext():
        made.kickoff()
    record = only_episode(alma)
    assert (record.outcome, len(record.steps)) == (outcome, steps)


def test_a_model_that_fails_once_and_then_answers_is_no_failure(alma: ALMA, memory: ALMAMemory) -> None:
    llm = ScriptedLLM(ConnectionError("gone"), use("good_tool", text="a"), "done")
    crew(task(DEPLOY, agent(llm, tools=[good_tool], max_retry_limit=1)), memory=memory).kickoff()
    record = only_episode(alma)
    assert (record.outcome, record.error, len(record.steps)) == ("unverified", None, 1)


def test_a_tool_that_reports_a_failure_counts_like_one_that_breaks(alma: ALMA, memory: ALMAMemory) -> None:
    from crewai.tools.tool_failure import ToolFailure

    @tool("post")
    def post(text: str) -> ToolFailure:
        """Posts."""
        return ToolFailure(message="no such channel", code="channel_not_found")

    crew(task(DEPLOY, agent(ScriptedLLM(use("post", text="a"), "done"), tools=[post])), memory=memory).kickoff()
    assert [(step.ok, step.error) for step in only_episode(alma).steps] == [(False, "no such channel (code: channel_not_found)")]


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "written"])
def test_a_call_is_named_without_long_values_and_secrets(alma: ALMA, memory: ALMAMemory, is_native: bool) -> None:
    @tool("post")
    def post(target: str, password: str, headers: dict[str, str], text: str) -> str:
        """Posts."""
        return "posted"

    given = {"target": "prod", "password": "hunter2", "headers": {"Authorization": "Bearer x", "lang": "fr"}, "text": "la " * 99}
    call = use("post", **given) if is_native else f"Thought: t\nAction: post\nAction Input: {json.dumps(given)}"
    llm = ScriptedLLM(call, "Thought: I know\nFinal Answer: done", native=is_native)
    crew(task(DEPLOY, agent(llm, tools=[post])), memory=memory).kickoff()
    (step,) = only_episode(alma).steps
    assert step.action == 'post(headers, password="***", target="prod", text)'
    assert not any(value in texts(alma) + only_episode(alma).model_dump_json() for value in ("hunter2", "Bearer", "la la"))
    assert step.ok


def test_arguments_that_cannot_be_read_are_not_told(alma: ALMA, memory: ALMAMemory) -> None:
    call = [{"id": "call", "type": "function", "function": {"name": "good_tool", "arguments": '{"api_key": "sk-9f8e'}}]
    crew(task(DEPLOY, agent(ScriptedLLM(call, "done"), tools=[good_tool])), memory=memory).kickoff()
    (step,) = only_episode(alma).steps
    assert (step.action, step.ok) == ("good_tool", False)
    assert "sk-9f8e" not in texts(alma) + only_episode(alma).model_dump_json()


def test_the_same_failure_twice_is_one_lesson_and_no_part_of_the_way(alma: ALMA) -> None:
    memory = ALMAMemory(alma, evaluator=lambda run: True)
    llm = ScriptedLLM(use("bad_tool", text="a"), use("bad_tool", text="a"), use("good_tool", text="b"), "done")
    crew(task(DEPLOY, agent(llm, tools=[bad_tool, good_tool])), memory=memory).kickoff()
    record = only_episode(alma)
    assert [(step.tool, step.ok) for step in record.steps] == [("bad_tool", False), ("bad_tool", False), ("good_tool", True)]
    assert record.strategy == 'good_tool(text="b")'
    assert [made.strategy_used for made in alma.list_memories("outcome") if made.outcome == "failure"] == ['bad_tool(text="a")']
    memory.close()


def test_a_model_that_fails_is_a_failure_and_the_user_sees_it(alma: ALMA, memory: ALMAMemory) -> None:
    worker = agent(ScriptedLLM(ConnectionError("model is gone")), max_retry_limit=0)
    made = crew(task(DEPLOY, worker), task("Write the release notes", worker), memory=memory)
    with pytest.raises(ConnectionError, match="model is gone"):
        made.kickoff()
    record = only_episode(alma)
    assert (record.outcome, record.task) == ("failure", DEPLOY)
    assert record.error.endswith("model is gone")
    (made,) = alma.list_memories()
    assert (made.kind, made.outcome, made.error_message) == ("outcome", "failure", record.error)


def test_the_way_is_blamed_for_what_a_guardrail_rejects_and_not_for_a_model_that_is_gone(alma: ALMA, memory: ALMAMemory) -> None:
    gone = agent(ScriptedLLM(use("good_tool", text="a"), ConnectionError("gone")), tools=[good_tool], max_retry_limit=0)
    with pytest.raises(ConnectionError):
        crew(task(DEPLOY, gone), memory=memory).kickoff()
    refused = agent(ScriptedLLM(use("good_tool", text="a"), "done"), tools=[good_tool])
    with pytest.raises(Exception, match="guardrail"):
        crew(task(DEPLOY, refused, guardrail=lambda output: (False, "no"), guardrail_max_retries=0), memory=memory).kickoff()
    assert [(record.outcome, record.strategy) for record in reversed(alma.recent_episodes())] == [
        ("failure", None),
        ("failure", 'good_tool(text="a")'),
    ]


def test_a_call_that_a_hook_of_the_user_blocks_is_judged_by_nobody(alma: ALMA, memory: ALMAMemory) -> None:
    def block(call: object) -> bool:
        return False

    register_before_tool_call_hook(block)
    try:
        llm = ScriptedLLM(use("good_tool", text="a"), "was not allowed")
        crew(task(DEPLOY, agent(llm, tools=[good_tool])), memory=memory).kickoff()
    finally:
        unregister_before_tool_call_hook(block)
    assert [(step.tool, step.ok) for step in only_episode(alma).steps] == [("good_tool", None)]


def test_a_call_that_a_limit_stops_says_nothing_of_the_tool(alma: ALMA, memory: ALMAMemory) -> None:
    @tool("limited", max_usage_count=1)
    def limited(text: str) -> str:
        """Works once."""
        return f"fine: {text}"

    llm = ScriptedLLM(use("limited", text="a"), use("limited", text="b"), "done")
    crew(task(DEPLOY, agent(llm, tools=[limited])), memory=memory).kickoff()
    assert [(step.tool, step.ok) for step in only_episode(alma).steps] == [("limited", True), ("limited", None)]


def test_an_answer_that_a_guardrail_rejects_is_a_failure_and_kept_nowhere(alma: ALMA, memory: ALMAMemory, tmp_path: Path) -> None:
    llm = ScriptedLLM(REJECTED)
    made = crew(task(DEPLOY, agent(llm), guardrail=lambda output: (False, "not true"), guardrail_max_retries=1), memory=memory)
    with pytest.raises(Exception, match="failed guardrail validation"):
        made.kickoff()
    assert len(llm.asked) == 2
    record = only_episode(alma)
    assert record.outcome == "failure"
    assert "not true" in record.error
    assert sorted((made.outcome, made.error_message) for made in alma.list_memories("outcome")) == [
        ("failure", record.error),
        ("failure", "not true"),
    ]
    on_disk = b"".join(path.read_bytes() for path in (tmp_path / "alma").iterdir())
    assert (b"not true" in on_disk, b"zebra" in on_disk) == (True, False)


@pytest.mark.parametrize(("second", "outcome"), [(True, "success"), (False, "failure")])
def test_of_several_guardrails_all_have_to_accept(alma: ALMA, memory: ALMAMemory, second: bool, outcome: str) -> None:
    guards = [lambda output: (True, output.raw), lambda output: (second, output.raw if second else "not enough")]
    made = crew(task(DEPLOY, agent(ScriptedLLM("done")), guardrails=guards, guardrail_max_retries=1), memory=memory)
    with nullcontext() if second else pytest.raises(Exception, match="not enough"):
        made.kickoff()
    assert only_episode(alma).outcome == outcome


@pytest.mark.parametrize(("is_valid", "outcome"), [(True, "success"), (False, "failure")])
def test_a_guardrail_in_words_judges_and_its_own_agent_is_not_recorded(
    alma: ALMA, memory: ALMAMemory, is_valid: bool, outcome: str
) -> None:
    verdict = json.dumps({"valid": is_valid, "feedback": None if is_valid else "it says nothing"})
    llm = ScriptedLLM("done", verdict)
    made = crew(task(DEPLOY, agent(llm), guardrail="says how it went", guardrail_max_retries=0), memory=memory)
    with nullcontext() if is_valid else pytest.raises(Exception, match="it says nothing"):
        made.kickoff()
    record = only_episode(alma)
    assert (record.agent, record.task, record.outcome) == ("Coder", DEPLOY, outcome)
    assert [(step.tool, step.error) for step in record.steps] == ([] if is_valid else [("answer", "it says nothing")])


def test_a_task_whose_condition_is_not_met_is_no_attempt(alma: ALMA, memory: ALMAMemory) -> None:
    worker = agent(ScriptedLLM("done"))
    skipped = ConditionalTask(
        description="Roll back", expected_output="an answer", agent=worker, condition=lambda output: "failed" in output.raw
    )
    crew(task(DEPLOY, worker), skipped, task("Write the release notes", worker), memory=memory).kickoff()
    assert [record.task for record in reversed(alma.recent_episodes())] == [DEPLOY, "Write the release notes"]
    assert memory.errors == []


def test_the_memory_of_crewai_itself_keeps_what_the_guardrail_rejects() -> None:
    from crewai.memory.storage.backend import StorageBackend
    from crewai.memory.unified_memory import Memory

    class Shelf:
        def __init__(self) -> None:
            self.kept: list[str] = []

        def save(self, records) -> None:
            self.kept += [record.content for record in records]

        def search(self, *_, **__):
            return []

        def __getattr__(self, name: str):
            return lambda *_, **__: {}

    shelf = Shelf()
    assert isinstance(shelf, StorageBackend)
    extracting = ScriptedLLM(json.dumps({"memories": [REJECTED]}), native=False)
    stock = Memory(llm=extracting, storage=shelf, embedder=lambda texts: [[1.0] for _ in texts])
    made = crew(
        task(DEPLOY, agent(ScriptedLLM(REJECTED)), guardrail=lambda output: (False, "no"), guardrail_max_retries=0), memory=stock
    )
    with pytest.raises(Exception, match="failed guardrail validation"):
        made.kickoff()
    stock.close()
    assert REJECTED in shelf.kept


def test_an_answer_that_passes_at_the_second_try_is_one_success_and_was_shown_once(alma: ALMA, memory: ALMAMemory) -> None:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    verdicts, learned = iter([(False, "again"), (True, "good")]), []
    llm = ScriptedLLM("bad", "good, thanks to [H1]")

    def guardrail(output: TaskOutput):
        learned.append(len(alma.list_memories("outcome")))
        return next(verdicts)

    crew(task(DEPLOY, agent(llm), guardrail=guardrail), memory=memory).kickoff()
    record = only_episode(alma)
    assert learned == [0, 1]  # before it has judged nothing, then what it had against the first
    assert {(made.outcome.value, made.error_message) for made in alma.list_memories("outcome")} == {
        ("failure", "again"),
        ("success", None),
    }
    assert (record.outcome, record.error) == ("success", None)
    assert [(shown.tag, shown.used) for shown in record.shown] == [("H1", True)]
    assert [shown.memory_id for shown in record.shown] == list(record.used)


def test_a_strategy_may_be_read_from_the_answer(alma: ALMA) -> None:
    memory = ALMAMemory(alma, strategy=lambda run: run.answer.partition("Strategy: ")[2])
    llm = ScriptedLLM(use("good_tool", text="a"), "Deployed. Strategy: roll out blue-green")
    crew(task(DEPLOY, agent(llm, tools=[good_tool])), memory=memory).kickoff()
    memory.close()
    assert only_episode(alma).strategy == "roll out blue-green"


def test_a_callback_that_fails_makes_the_task_fail_as_crewai_says(alma: ALMA, memory: ALMAMemory) -> None:
    with pytest.raises(OSError, match="disk full"):
        crew(task(DEPLOY, agent(ScriptedLLM("done")), callback=broken_callback), memory=memory).kickoff()
    record = only_episode(alma)
    assert record.outcome == "failure"
    assert record.error.endswith("disk full")


@pytest.mark.parametrize("how", ["an agent", "a crew that is listened to"])
def test_what_was_cut_short_without_a_word_is_closed_when_the_next_begins(alma: ALMA, memory: ALMAMemory, how: str) -> None:
    def interrupt(messages: object) -> str:
        raise KeyboardInterrupt

    listener = ALMACrewListener(alma)
    llm = ScriptedLLM(use("good_tool", text="a"), interrupt, "done")
    worker = agent(llm, tools=[good_tool], memory=memory if how == "an agent" else None)
    made = crew(task(DEPLOY, worker))
    begin = (lambda: worker.kickoff(DEPLOY)) if how == "an agent" else made.kickoff
    with pytest.raises(KeyboardInterrupt):
        begin()
    begin()
    listener.close()
    assert [str(record.status) for record in reversed(alma.recent_episodes())] == ["abandoned", "ended"]


def test_a_run_that_is_interrupted_says_nothing_about_the_task(alma: ALMA, memory: ALMAMemory) -> None:
    def interrupt(messages: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew(task(DEPLOY, agent(ScriptedLLM(interrupt))), memory=memory).kickoff()
    record = only_episode(alma)
    assert (record.status, record.outcome) == ("abandoned", None)
    assert alma.list_memories() == []
