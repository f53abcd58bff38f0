"""A harness retrieves, builds the prompt, runs the agent, records how it went, and returns the result."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, AlmaError, Context, ValidationError, Verdict, create_harness
from alma.errors import ConfigurationError, MissingDependencyError, StorageError
from alma.harness import Harness, MemorySchema, RunResult, Setting
from alma.integration import Run

TASK = Context(task="Deploy the auth service")


def went_live(run: Any) -> bool:
    return "live" in run.answer


def taught(alma: ALMA) -> None:
    for _ in range(3):
        alma.learn("helena", "Deploy the auth service", True, "blue-green deployment")


def deploy(way: str) -> str:
    """Deploys in a way.

    Not shown.
    """
    if way == "rolling":
        raise RuntimeError("502 bad gateway")
    return f"live by {way}"


def test_a_run_is_recorded_and_its_result_says_how_it_went(alma: ALMA) -> None:
    harness = create_harness("coding", "helena", alma, run=lambda prompt: "It is live.", evaluator=went_live)

    result = harness.run(Context(task="Deploy the auth service", user_id="ann", session_id="s1"))

    assert (result.success, result.output, result.error, result.tools_used) == (True, "It is live.", None, ())
    assert result.reflections == ("retrieved 0, cited none, learned no step, 0 steps, success",)
    assert result.duration_ms > 0
    assert result.episode is None
    (episode,) = alma.recent_episodes()
    assert (episode.id, episode.agent, episode.user_id, episode.thread_id) == (result.episode_id, "helena", "ann", "s1")
    assert (episode.outcome, episode.task) == (Verdict.SUCCESS, "Deploy the auth service")


def test_the_prompt_has_the_setting_the_notes_and_the_task_in_this_order(alma: ALMA) -> None:
    taught(alma)
    prompts: list[str] = []
    harness = create_harness("coding", "helena", alma, run=prompts.append, tools=(deploy, "search"))

    result = harness.run(
        Context(task="Deploy the auth service", inputs={"region": "eu", "nodes": [1, 2]}, constraints=["By noon."])
    )

    (prompt,) = prompts
    parts = [
        "You write, test and review software.",
        "- deploy: Deploys in a way.\n- search",
        "- Run the tests",
        "blue-green deployment",
        "- region: eu\n- nodes: [1, 2]",
        "- By noon.",
        "Task: Deploy the auth service",
    ]
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    assert result.prompt == prompt
    assert result.memories
    assert prompt.startswith(parts[0])
    assert prompt.endswith(parts[-1])


def test_notes_that_go_nowhere_count_as_shown_in_no_form_of_a_run(alma: ALMA) -> None:
    taught(alma)
    harness = create_harness("coding", "helena", alma, run=lambda prompt: f"As [H1] says: {prompt}", inject="none")
    results = [harness.run(TASK), asyncio.run(harness.arun(TASK))]
    assert ["blue-green" in str(result.output) for result in results] == [False, False]
    assert [record.shown for record in alma.recent_episodes(2)] == [(), ()]


def test_what_the_agent_cites_counts_as_used(alma: ALMA) -> None:
    taught(alma)
    result = create_harness("coding", "helena", alma, run=lambda prompt: "As [H1] says, it is live.").run(TASK)

    assert result.report is not None
    assert result.report.cited == ("H1",)


def test_an_exception_is_learned_and_raised_again_unchanged(alma: ALMA) -> None:
    broken = RuntimeError("502 bad gateway")

    def agent(prompt: str) -> None:
        raise broken

    with pytest.raises(RuntimeError) as caught:
        create_harness("coding", "helena", alma, run=agent).run(TASK)

    assert caught.value is broken
    assert not hasattr(broken, "__notes__")
    (episode,) = alma.recent_episodes()
    assert (episode.outcome, episode.error) == (Verdict.FAILURE, "RuntimeError: 502 bad gateway")


def test_being_interrupted_is_no_failure(alma: ALMA) -> None:
    def agent(prompt: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_harness("coding", "helena", alma, run=agent).run(TASK)

    assert [episode.outcome for episode in alma.recent_episodes()] in ([], [None])


def test_an_agent_of_two_arguments_gets_tools_whose_calls_are_steps(alma: ALMA) -> None:
    def agent(prompt: str, tools: Any) -> str:
        try:
            return str(tools["deploy"]("rolling"))
        except RuntimeError:
            return str(tools["deploy"](way="blue-green"))

    result = create_harness("coding", "helena", alma, run=agent, tools=(deploy, "search"), evaluator=went_live).run(TASK)

    assert (result.tools_used, result.success) == (("deploy",), True)
    (episode,) = alma.recent_episodes()
    assert [(step.action, step.ok) for step in episode.steps] == [
        ('deploy(way="rolling")', False),
        ('deploy(way="blue-green")', True),
    ]
    assert episode.strategy == 'deploy(way="blue-green")'
    warned = create_harness("coding", "helena", alma).run(TASK)
    assert 'deploy(way="rolling")' in warned.output


def test_an_asynchronous_agent_runs_in_its_loop_or_in_one_of_its_own(alma: ALMA) -> None:
    async def probe(way: str) -> str:
        await asyncio.sleep(0)
        return f"up by {way}"

    async def agent(prompt: str, tools: Any) -> str:
        return f"live, {await tools['probe']('rolling')}"

    harness = create_harness("coding", "helena", alma, run=agent, tools=(probe,), evaluator=went_live)

    async def outer() -> RunResult:
        with pytest.raises(ValidationError, match="arun"):
            harness.run(TASK)
        return await harness.arun(TASK)

    for result in (harness.run(TASK), asyncio.run(outer())):
        assert (result.success, result.output, result.tools_used) == (True, "live, up by rolling", ("probe",))


def test_an_agent_that_is_not_asynchronous_leaves_the_loop_free(alma: ALMA) -> None:
    async def outer() -> RunResult:
        loop = asyncio.get_running_loop()
        free = asyncio.Event()

        def agent(prompt: str) -> str:
            asyncio.run_coroutine_threadsafe(_set(free), loop).result(30)
            return "live"

        return await create_harness("coding", "helena", alma, run=agent).arun(TASK)

    assert asyncio.run(outer()).output == "live"


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_cancelling_is_no_failure_and_reaches_the_agent(alma: ALMA) -> None:
    async def outer() -> None:
        async def agent(prompt: str) -> None:
            asyncio.current_task().cancel()  # type: ignore[union-attr]  # it runs in a task
            await asyncio.sleep(60)

        with pytest.raises(asyncio.CancelledError):
            await create_harness("coding", "helena", alma, run=agent).arun(TASK)

    asyncio.run(outer())

    assert [episode.outcome for episode in alma.recent_episodes()] == [None]


def words(prompt: str) -> Iterator[str]:
    yield from ("It ", "is ", "live.")


async def awords(prompt: str) -> AsyncIterator[str]:
    for word in words(prompt):
        yield word


@pytest.mark.parametrize("agent", [words, awords])
def test_a_stream_is_read_to_its_end_by_run(alma: ALMA, agent: Any) -> None:
    harness = create_harness("coding", "helena", alma, run=agent, evaluator=went_live)

    assert [each.output for each in (harness.run(TASK), asyncio.run(harness.arun(TASK)))] == ["It is live."] * 2


def test_a_stream_passes_its_chunks_on_and_is_recorded_at_its_end(alma: ALMA) -> None:
    seen: list[Any] = []
    harness = create_harness("coding", "helena", alma, run=words, evaluator=went_live, on_run=seen.append)
    stream = harness.stream(TASK)

    assert next(iter(stream)) == "It "
    assert not seen
    assert list(stream) == ["is ", "live."]
    assert [report.outcome for report in seen] == ["success"]


def test_an_asynchronous_stream_does_the_same(alma: ALMA) -> None:
    harness = create_harness("coding", "helena", alma, run=awords, evaluator=went_live)

    async def read() -> list[str]:
        return [chunk async for chunk in harness.astream(TASK)]

    assert asyncio.run(read()) == ["It ", "is ", "live."]
    assert [episode.outcome for episode in alma.recent_episodes()] == [Verdict.SUCCESS]


def test_a_stream_left_early_ends_without_a_verdict(alma: ALMA) -> None:
    for chunk in (stream := create_harness("coding", "helena", alma, run=words, evaluator=went_live).stream(TASK)):
        assert chunk == "It "
        break
    stream.close()  # type: ignore[attr-defined]  # a generator

    assert [episode.outcome for episode in alma.recent_episodes()] == [None]


def test_a_stream_that_breaks_is_a_failure(alma: ALMA) -> None:
    def agent(prompt: str) -> Iterator[str]:
        yield "It "
        raise RuntimeError("502 bad gateway")

    with pytest.raises(RuntimeError, match="502"):
        list(create_harness("coding", "helena", alma, run=agent).stream(TASK))

    assert [episode.outcome for episode in alma.recent_episodes()] == [Verdict.FAILURE]


def test_without_an_agent_a_run_returns_the_prompt_and_an_open_episode(alma: ALMA) -> None:
    taught(alma)
    harness = create_harness("coding", "helena", alma)

    result = harness.run(TASK)

    assert result.success is None
    assert result.output == result.prompt
    assert "blue-green" in result.prompt
    assert result.episode is not None
    assert result.episode.is_open
    ended = harness.post_run(TASK, RunResult(success=True, output="live, by [H1]"))
    assert (ended.success, ended.output, ended.report.cited if ended.report else None) == (True, "live, by [H1]", ("H1",))
    assert alma.get_episode(str(result.episode_id)).outcome is Verdict.SUCCESS


def test_the_open_episode_can_be_ended_by_itself(alma: ALMA) -> None:
    result = create_harness("coding", "helena", alma).run(TASK)
    assert result.episode is not None

    result.episode.succeed(strategy="blue-green")

    assert alma.get_episode(str(result.episode_id)).strategy == "blue-green"


def test_the_parts_of_a_run_can_be_called_one_by_one(alma: ALMA) -> None:
    taught(alma)
    harness = create_harness("coding", "helena", alma)

    memories = harness.pre_run(TASK)
    assert [rule.strategy for rule in memories.heuristics] == ["blue-green deployment"]
    assert harness.build_prompt(TASK) == harness.build_prompt(TASK, memories)
    assert "blue-green" not in harness.build_prompt(Context(task=TASK.task))
    failed = harness.post_run(TASK, RunResult(success=False, error="502", reflections=["try again"]))

    assert (failed.success, failed.error, failed.reflections[0]) == (False, "502", "try again")
    with pytest.raises(ValidationError, match="no open run"):
        harness.post_run(TASK, "again")


def test_the_agents_own_word_is_kept_as_such(alma: ALMA) -> None:
    create_harness("coding", "helena", alma, run=lambda prompt: RunResult(success=True, output="done")).run(TASK)

    (episode,) = alma.recent_episodes()
    assert (episode.outcome, str(episode.verdict_source)) == (Verdict.SUCCESS, "agent")


def test_a_context_names_the_project_whose_memory_is_used(alma: ALMA) -> None:
    harness = create_harness("coding", "helena", alma, run=lambda prompt: "done")

    harness.run(Context(task="Deploy", project_id="blog"))

    assert not alma.recent_episodes()
    assert len(alma.for_project("blog").recent_episodes()) == 1


def test_a_project_sees_nothing_of_another(alma: ALMA) -> None:
    taught(alma)

    harness = create_harness("coding", "helena", alma)
    own, other = (harness.run(Context(task="Deploy the auth service", project_id=project)) for project in (None, "blog"))

    assert ("blue-green" in own.prompt, "blue-green" in other.prompt) == (True, False)
    assert other.memories.total_items == 0


def test_a_setting_of_ones_own_and_its_rules(alma: ALMA) -> None:
    setting = Setting(name="ops", description="You operate.", tools=(deploy,), global_constraints=("Never on Friday.",))
    schema = MemorySchema(domain="ops", can_learn=("deployment",), cannot_learn=("payroll",), share_with=("junior",))
    harness = Harness(setting, "helena", alma, schema, run=lambda prompt: prompt)

    assert "You operate." in harness.run(TASK).output
    assert "- Never on Friday." in harness.run(TASK).output
    scope = schema.to_scope()
    assert scope.is_allowed("deployment")
    assert not scope.is_allowed("payroll")
    assert scope.shares_with("junior")
    assert create_harness(setting, "helena", alma).schema == MemorySchema()


def test_runs_side_by_side_are_kept_apart(alma: ALMA) -> None:
    harness = create_harness("coding", "helena", alma)
    contexts = [Context(task=f"Deploy service {number}") for number in range(5)]

    for context in contexts:
        harness.run(context)
    for number, context in enumerate(reversed(contexts)):
        harness.post_run(context, RunResult(success=number % 2 == 0))

    found = {episode.task: episode.outcome is Verdict.SUCCESS for episode in alma.recent_episodes()}
    assert found == {f"Deploy service {4 - number}": number % 2 == 0 for number in range(5)}


def test_an_agent_works_on_when_its_memory_is_closed(tmp_path: Path) -> None:
    alma = ALMA.open(tmp_path / "closed", project_id="shop", embedding_provider="hash")
    harness = create_harness("coding", "helena", alma, run=lambda prompt: "It is live.")
    strict = create_harness("coding", "helena", alma, run=lambda prompt: "It is live.", on_error="raise")
    alma.close()

    result = harness.run(TASK)

    assert (result.output, result.success, result.report) == ("It is live.", None, None)
    with pytest.raises(StorageError):
        strict.run(TASK)


@pytest.mark.parametrize(
    "given",
    [
        {"task": ""},
        {"task": " "},
        {"task": 3},
        {"task": "x", "user_id": ""},
        {"task": "x", "unknown": 1},
        {"task": "x", "run_id": ""},
    ],
)
def test_an_invalid_context_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(AlmaError):
        Context(**given)


def test_an_invalid_harness_is_refused(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="no domain 'codnig'; it is coding, research"):
        create_harness("codnig", "helena", alma)
    with pytest.raises(ConfigurationError, match="run must be a function"):
        create_harness("coding", "helena", alma, run="agent")  # type: ignore[arg-type]  # it is invalid
    with pytest.raises(ConfigurationError, match="must be a Setting"):
        Harness("coding", "helena", alma)  # type: ignore[arg-type]  # it is invalid
    with pytest.raises(ValidationError, match="Context"):
        create_harness("coding", "helena", alma).run("Deploy")  # type: ignore[arg-type]  # it is invalid
    with pytest.raises(ValidationError, match="two tools"):
        Setting(name="twice", tools=(deploy, "deploy"))


def test_a_tool_of_any_keywords_is_named_by_those_it_was_given(alma: ALMA) -> None:
    def deploy(service: str, **how: str) -> str:
        return "live"

    harness = create_harness(
        "coding", "dev", alma, tools=(deploy,), run=lambda prompt, tools: tools["deploy"]("auth", way="rolling")
    )

    harness.run(Context(task="Bring auth up"))

    assert [step.action for step in alma.recent_episodes(1)[0].steps] == ['deploy(service, way="rolling")']


def test_the_calls_of_the_interface_run_as_written(alma: ALMA) -> None:
    harness = create_harness("coding", "helena", alma)
    context = Context(
        task="Test the login form validation", project_id="my-app", user_id=None, session_id=None, inputs={}, constraints=[]
    )
    result = harness.run(context)
    assert (result.success, result.error, result.reflections, result.tools_used) == (None, None, (), ())
    assert result.output.endswith("Task: Test the login form validation")
    assert result.duration_ms >= 0

    harness.post_run(context, RunResult(success=True, output="It validates."))
    memories = harness.pre_run(again := Context(task="Test the login form validation", project_id="my-app"))
    assert memories.total_items
    assert memories.to_prompt()[:20] in harness.build_prompt(again)
    assert harness.schema.to_scope().can_learn
    assert harness.setting.name == "coding"
    assert harness.setting.description


@pytest.mark.parametrize(
    ("name", "module", "adapter"),
    [
        ("Runnable", "langchain_core.runnables.base", "alma-langchain"),
        ("BaseWorkflowAgent", "llama_index.core.agent.workflow.base_agent", "alma-llamaindex"),
        ("BaseQueryEngine", "llama_index.core.base.base_query_engine", "alma-llamaindex"),
        ("Crew", "crewai.crew", "alma-crewai"),
        ("BaseAgent", "crewai.agents.agent_builder.base_agent", "alma-crewai"),
    ],
)
def test_an_object_whose_adapter_is_missing_names_what_to_install(
    alma: ALMA, monkeypatch: pytest.MonkeyPatch, name: str, module: str, adapter: str
) -> None:
    monkeypatch.setattr("alma_harness.wrapped_agents.find_spec", lambda name: None)

    with pytest.raises(MissingDependencyError, match=f"pip install {adapter}"):
        create_harness("coding", "dev", alma, run=type(name, (), {"__module__": module})())


def test_what_no_harness_runs_is_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="known framework"):
        create_harness("coding", "dev", alma, run=object())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Context: task is missing"),
        ({"taks": "Deploy"}, "Context: there is no 'taks'; there are task, "),
        ({"task": ""}, "Context: task is '': a task needs words"),
    ],
)
def test_a_context_that_is_none_says_in_words_what_is_wrong(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Context(**given)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("way", ["run", "arun", "stream", "astream"])
def test_keyword_arguments_of_a_run_go_to_the_function(alma: ALMA, way: str) -> None:
    def plain(prompt: str, limit: int, run: Run, *, unit: str = "pods") -> str:
        return f"at most {limit} {unit}"

    def chunks(prompt: str, limit: int, *, unit: str = "pods") -> Any:
        yield f"at most {limit} {unit}"

    async def async_chunks(prompt: str, limit: int, *, unit: str = "pods") -> Any:
        yield f"at most {limit} {unit}"

    function: Any = {"stream": chunks, "astream": async_chunks}.get(way, plain)
    harness, context = create_harness("coding", "dev", alma, run=function), Context(task="Count")

    async def read() -> str:
        return "".join([chunk async for chunk in harness.astream(context, limit=3, unit="nodes")])

    said = {
        "run": lambda: harness.run(context, limit=3, unit="nodes").output,
        "arun": lambda: asyncio.run(harness.arun(context, limit=3, unit="nodes")).output,
        "stream": lambda: "".join(harness.stream(context, limit=3, unit="nodes")),
        "astream": lambda: asyncio.run(read()),
    }[way]()
    assert said == "at most 3 nodes"


def test_arguments_without_an_agent_are_refused(alma: ALMA) -> None:
    with pytest.raises(ConfigurationError, match="no agent to give limit to"):
        create_harness("coding", "dev", alma).run(Context(task="Count"), limit=3)
    assert not alma.recent_episodes()
