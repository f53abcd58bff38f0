"""The contract of adapters: from each framework's own events, the same scenes give the same episodes and the same learned rules.

An adapter's test inherits `IntegrationContract` and implements `play`, which runs a `Scene` with a real agent of the framework and a
scripted model.
"""

import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from alma import ALMA
from alma.errors import AlmaError, ValidationError
from alma.types.episodes import EpisodeRecord
from alma.types.kinds import Verdict

if TYPE_CHECKING:
    from alma.integration import RunReport, RunView

TASK = "Deploy the auth service"
WORKER, FIXER = "worker", "fixer"
ROLLING, BLUE_GREEN = 'deploy(way="rolling")', 'deploy(way="blue-green")'
REFUSED = "502 bad gateway"
WRITE_SECONDS = 20.0
"""For this long a test waits for a write of the thread beside an event loop."""


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HandOver:
    """The model gives the run to another agent, whose turns these are."""

    agent: str
    turns: "Sequence[Turn]"


Turn: TypeAlias = "str | Call | tuple[Call, ...] | HandOver | BaseException"
"""One turn of the model: a final answer, a call, calls in parallel, a hand-off, or an error that the model raises."""


def deploy(way: str) -> str:
    """Deploys the service in this way."""
    if way == "rolling":
        raise RuntimeError(REFUSED)
    return f"live by {way}"


def probe(way: str) -> str:
    """Answers as many tools do: an error as a text."""
    return "Error: 503 service unavailable" if way == "rolling" else '{"status": "up"}'


def slow(way: str) -> str:
    """Times out."""
    raise TimeoutError(f"no answer after 30 s from {way}")


def log_in(user: str, password: str) -> str:
    """Logs in."""
    return f"{user} is in"


@dataclass(frozen=True)
class Scene:
    """A run for the framework to play.

    Its tools are functions of texts that return texts or raise. An error of a tool is shown to the model, which goes on. `guardrail`
    returns the reason why an answer is sent back, or `None`; the next turn answers again. `options` are those of
    `alma.integration.Options`.
    """

    turns: Sequence[Turn]
    task: str = TASK
    agent: str = WORKER
    tools: Sequence[Callable[..., Any]] = (deploy, probe, slow)
    guardrail: Callable[[str], str | None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    run_id: str | None = None
    thread_id: str | None = None
    user_id: str | None = None
    is_async: bool = False
    is_cancelled: bool = False
    """True if the run is cancelled while its first tool runs."""


@dataclass(frozen=True)
class Played:
    """Result of a scene: the answer, the error that left the framework, the prompt of each model call, and the errors of ALMA."""

    answer: str = ""
    error: BaseException | None = None
    prompts: Sequence[str] = ()
    problems: Sequence[Exception] = ()


Said: TypeAlias = tuple[str, bool | None]
Attempt: TypeAlias = tuple[str, str, str | None, tuple[Said, ...]]
"""An episode: its agent, its outcome, its strategy, and its steps with their verdicts."""


def repaired(**given: Any) -> Scene:
    """Returns a scene with a failure, its repair, and an answer."""
    return Scene([Call("deploy", {"way": "rolling"}), Call("deploy", {"way": "blue-green"}), "It is live."], **given)


def logged_in(options: Mapping[str, Any]) -> Scene:
    """Returns a scene with a call whose arguments hold a name and a password."""
    return Scene([Call("log_in", {"user": "ann", "password": "hunter2"}), "It is live."], tools=[log_in], options=options)


def went_well(run: "RunView") -> bool:
    """Evaluates most scenes."""
    return "live" in run.answer


JUDGED: Mapping[str, Any] = {"evaluator": went_well}


class IntegrationContract(ABC):
    """Contract that every adapter for agents passes."""

    has_hand_over = True
    has_one_verdict = True
    """True if the parts of a hand-off are judged together; where each is a run of its own, its evaluator judges it separately."""
    has_guardrail = True
    has_interrupts = True
    """Abilities of the framework itself. Scenes that need more are skipped."""

    @abstractmethod
    def play(self, alma: ALMA, scene: Scene) -> Played:
        """Runs the scene with a real agent and returns when all of it is recorded."""

    def play_interrupted(self, folder: Path, scene: Scene) -> Played:
        """Runs the scene in a process that ends at an interrupt before its second call, and continues it in this one."""
        raise NotImplementedError

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Folder of the store."""
        return tmp_path / "contract"

    @pytest.fixture
    def store(self, folder: Path) -> Iterator[ALMA]:
        """A store for one test, sound at its end."""
        with ALMA.open(folder, project_id="contract", embedding_provider="hash") as alma:
            yield alma
            if not folder.joinpath("broken").exists():
                assert alma.verify().ok

    # Credit.

    def test_a_run_that_succeeds_is_one_episode_with_its_calls_as_the_strategy(self, store: ALMA) -> None:
        played = self.play(store, Scene([Call("deploy", {"way": "blue-green"}), "It is live."], options=JUDGED))
        assert played.answer == "It is live."
        assert attempts(store) == [(WORKER, "success", BLUE_GREEN, ((BLUE_GREEN, True),))]

    def test_a_failed_call_that_was_repaired_is_no_part_of_the_strategy(self, store: ALMA) -> None:
        self.play(store, repaired(options=JUDGED))
        assert attempts(store) == [(WORKER, "success", BLUE_GREEN, ((ROLLING, False), (BLUE_GREEN, True)))]

    def test_the_rules_of_three_repaired_runs_praise_the_repair_and_warn_of_the_failure(self, store: ALMA) -> None:
        for _ in range(3):
            self.play(store, repaired(options=JUDGED))
        assert rules(store) == {("heuristic", WORKER, BLUE_GREEN), ("anti_pattern", WORKER, ROLLING)}

    def test_a_call_that_only_failed_is_praised_nowhere_though_the_runs_succeeded(self, store: ALMA) -> None:
        for _ in range(3):
            self.play(store, Scene([Call("deploy", {"way": "rolling"}), "It is live all the same."], options=JUDGED))
        assert rules(store) == {("anti_pattern", WORKER, ROLLING)}
        assert {strategy for _, _, strategy, _ in attempts(store)} == {None}

    def test_a_failed_run_blames_the_call_that_failed_and_no_other(self, store: ALMA) -> None:
        turns: list[Turn] = [Call("probe", {"way": "blue-green"}), Call("deploy", {"way": "rolling"}), "It failed."]
        for _ in range(2):
            self.play(store, Scene(turns, options=JUDGED))
        assert {(outcome, strategy) for _, outcome, strategy, _ in attempts(store)} == {("failure", ROLLING)}
        assert rules(store) == {("anti_pattern", WORKER, ROLLING)}

    def test_what_worked_is_suggested_in_the_place_of_what_failed(self, store: ALMA) -> None:
        options = {**JUDGED, "task_type": "deploying"}
        for task in (TASK, "Bring the billing service up", TASK, "Roll out the search service"):
            for turn, answer in (
                (Call("deploy", {"way": "rolling"}), "It failed."),
                (Call("deploy", {"way": "blue-green"}), "It is live."),
            ):
                self.play(store, Scene([turn, answer], task=task, options=options))
        self.play(store, Scene([Call("deploy", {"way": "rolling"}), "It failed."], options=options))
        found = store.retrieve(task=TASK, agent=WORKER, task_type="deploying").anti_patterns
        assert [(one.pattern, one.better_alternative) for one in found] == [(ROLLING, BLUE_GREEN)]

    def test_a_failed_run_whose_calls_did_well_blames_them(self, store: ALMA) -> None:
        for _ in range(2):
            self.play(store, Scene([Call("deploy", {"way": "canary"}), "It is down."], options=JUDGED))
        assert rules(store) == {("anti_pattern", WORKER, 'deploy(way="canary")')}

    def test_the_next_run_is_shown_what_worked_and_what_failed_in_a_repaired_one(self, store: ALMA) -> None:
        self.play(store, repaired(options=JUDGED))
        way, attempt = store.retrieve(task=TASK, agent=WORKER).notes()
        assert way.startswith(f"{BLUE_GREEN}: worked 1 of 1")
        assert f"Failed on the way: {ROLLING}" in attempt

    def test_the_next_run_is_shown_the_arguments_of_a_repair_that_reads_as_the_failure(self, store: ALMA) -> None:
        def ping(port: str) -> str:
            """Pings the service."""
            if port == "80":
                raise RuntimeError(REFUSED)
            return "pong"

        ports = [Call("ping", {"port": port}) for port in ("80", "8123")]
        self.play(store, Scene([*ports, "It is live."], tools=[ping], options=JUDGED))
        assert attempts(store) == [(WORKER, "success", "ping(port)", (("ping(port)", False), ("ping(port)", True)))]
        assert 'port="8123" instead of "80"' in store.retrieve(task=TASK, agent=WORKER).to_prompt()

    def test_in_a_hand_off_each_agent_is_credited_with_its_own_calls(self, store: ALMA) -> None:
        if not self.has_hand_over:
            pytest.skip("this framework has no hand-off")
        turns: list[Turn] = [
            Call("deploy", {"way": "rolling"}),
            HandOver(FIXER, [Call("deploy", {"way": "blue-green"}), "It is live."]),
        ]
        for _ in range(3):
            self.play(store, Scene(turns, options=JUDGED))
        praised = {(agent, strategy) for agent, outcome, strategy, _ in attempts(store) if outcome == "success" and strategy}
        blamed = {(agent, strategy) for agent, outcome, strategy, _ in attempts(store) if outcome == "failure"}
        assert praised == {(FIXER, BLUE_GREEN)}
        assert blamed <= {(WORKER, ROLLING)}  # where the framework judges each agent's part separately
        assert rules(store) == {("anti_pattern", WORKER, ROLLING), ("heuristic", FIXER, BLUE_GREEN)}

    def test_in_a_failed_hand_off_no_agent_is_blamed_for_the_call_of_another(self, store: ALMA) -> None:
        if not (self.has_hand_over and self.has_one_verdict):
            pytest.skip("this framework judges no hand-off as a whole")
        turns: list[Turn] = [
            Call("probe", {"way": "blue-green"}),
            HandOver(FIXER, [Call("deploy", {"way": "rolling"}), "It failed."]),
        ]
        for _ in range(2):
            self.play(store, Scene(turns, options=JUDGED))
        assert rules(store) == {("anti_pattern", FIXER, ROLLING)}

    def test_calls_in_parallel_are_a_step_each(self, store: ALMA) -> None:
        both = (Call("deploy", {"way": "rolling"}), Call("deploy", {"way": "blue-green"}))
        self.play(store, Scene([both, "It is live."], options=JUDGED))
        [(_, outcome, strategy, steps)] = attempts(store)
        assert (outcome, strategy, set(steps)) == ("success", BLUE_GREEN, {(ROLLING, False), (BLUE_GREEN, True)})

    def test_a_value_that_the_task_names_is_no_part_of_the_name_of_a_call(self, store: ALMA) -> None:
        def release(service: str, way: str) -> str:
            """Releases a service."""
            return "live"

        for service in ("auth", "billing"):
            turns: list[Turn] = [Call("release", {"service": service, "way": "canary"}), "It is live."]
            self.play(store, Scene(turns, task=f"Release the {service} service", tools=[release], options=JUDGED))
        assert {strategy for _, _, strategy, _ in attempts(store)} == {'release(service, way="canary")'}

    def test_a_tag_that_is_cited_in_a_call_is_recorded_as_used_when_its_step_ends(self, store: ALMA) -> None:
        known = store.add_heuristic(WORKER, TASK, "look at the queue first")
        seen: list[tuple[str, ...] | None] = []

        def look(note: str) -> str:
            """Looks."""
            end = time.monotonic() + (WRITE_SECONDS if note == "once more" else 0)
            while not any(seen) and time.monotonic() < end:
                seen[:] = [record.used for record in store.recent_episodes(1)]
                time.sleep(0.01)
            return "looked"

        turns: list[Turn] = [Call("look", {"note": "as [H1] says"}), Call("look", {"note": "once more"}), "It is live."]
        self.play(store, Scene(turns, tools=[look], options=JUDGED))
        assert seen == [(known.id,)]
        assert records(store)[0].credited == (known.id,)

    # Outcomes of tools.

    def test_a_tool_that_returns_an_error_as_text_failed(self, store: ALMA) -> None:
        turns: list[Turn] = [Call("probe", {"way": "rolling"}), Call("probe", {"way": "blue-green"}), "It is live."]
        self.play(store, Scene(turns, options=JUDGED))
        [(_, _, strategy, steps)] = attempts(store)
        assert strategy == 'probe(way="blue-green")'
        assert [ok for _, ok in steps] == [False, True]

    def test_a_hook_says_whether_a_tool_did_well(self, store: ALMA) -> None:
        def outcome(name: str, result: Any) -> bool | None:
            return "up" not in str(result)

        self.play(
            store, Scene([Call("probe", {"way": "blue-green"}), "It is live."], options={**JUDGED, "tool_outcome": outcome})
        )
        assert [ok for _, ok in attempts(store)[0][3]] == [False]

    def test_a_tool_that_takes_too_long_failed(self, store: ALMA) -> None:
        self.play(store, Scene([Call("slow", {"way": "rolling"}), "It is live."], options=JUDGED))
        [record] = records(store)
        assert [step.ok for step in record.steps] == [False]
        assert "no answer after 30 s" in str(record.steps[0].error)

    # Corrections and late verdicts.

    def test_an_answer_that_was_sent_back_teaches_the_reason(self, store: ALMA) -> None:
        if not self.has_guardrail:
            pytest.skip("this framework sends no answer back")

        def cites(answer: str) -> str | None:
            return None if "source" in answer else "name your source"

        self.play(store, Scene(["It is live.", "It is live (source: log)."], guardrail=cites, options=JUDGED))
        [record] = records(store)
        assert record.outcome is Verdict.SUCCESS
        played = self.play(store, Scene(["It is live (source: log)."], guardrail=cites, options=JUDGED))
        assert "name your source" in played.prompts[0]

    def test_the_reason_of_an_evaluator_is_shown_to_the_next_run(self, store: ALMA) -> None:
        def judge(run: "RunView") -> tuple[bool, str]:
            return False, "the smoke test was left out"

        self.play(store, Scene(["It is live."], options={"evaluator": judge}))
        played = self.play(store, Scene(["It is live."], options={"evaluator": judge}))
        assert "the smoke test was left out" in played.prompts[0]

    def test_a_late_verdict_finds_its_run_by_the_run_id(self, store: ALMA) -> None:
        seen: list[RunReport] = []
        scene = Scene(
            [Call("deploy", {"way": "blue-green"}), "It is live."],
            run_id=RUN_ID,
            thread_id="thread-7",
            options={"on_run": seen.append},
        )
        self.play(store, scene)
        [report] = seen
        assert report.outcome == "unverified"
        assert (report.run_id, report.episode_id) == (RUN_ID, records(store)[0].id)
        store.settle(outcome="success", run_id=RUN_ID, source="person")
        assert records(store)[0].outcome is Verdict.SUCCESS

    @pytest.mark.parametrize("verdict", ["success", "failure"])
    def test_a_late_verdict_praises_no_failed_call_and_blames_no_other(self, store: ALMA, verdict: str) -> None:
        turns: list[Turn] = [Call("probe", {"way": "blue-green"}), Call("deploy", {"way": "rolling"}), "It is done."]
        for number in range(3):
            run_id = f"{RUN_ID[:-2]}{'b' if verdict == 'success' else 'c'}{number}"
            self.play(store, Scene(turns, run_id=run_id))
            store.settle(outcome=verdict, run_id=run_id, source="person")
        assert rules(store) == {("anti_pattern", WORKER, ROLLING)}

    def test_a_success_after_a_failure_praises_no_failed_call(self, store: ALMA) -> None:
        turns: list[Turn] = [Call("deploy", {"way": "rolling"}), "It failed."]
        for number in range(3):
            run_id = f"{RUN_ID[:-2]}a{number}"
            self.play(store, Scene(turns, run_id=run_id, options=JUDGED))
            store.settle(outcome="success", run_id=run_id, source="person")
        assert rules(store) == {("anti_pattern", WORKER, ROLLING)}

    # Ends of runs.

    def test_small_talk_that_is_not_judged_is_never_shown(self, store: ALMA) -> None:
        for task in ("Hi", "How are you?", "Thanks"):
            self.play(store, Scene(["Sure!"], task=task))
        assert [record.outcome for record in records(store)] == [Verdict.UNVERIFIED] * 3
        assert not store.retrieve(task="Hi", agent=WORKER)

    def test_a_run_that_the_model_breaks_off_is_a_failure_that_blames_no_strategy(self, store: ALMA) -> None:
        played = self.play(store, Scene([Call("deploy", {"way": "blue-green"}), ConnectionError("model overloaded")]))
        assert played.error is not None
        [record] = records(store)
        assert (record.outcome, record.strategy) == (Verdict.FAILURE, None)
        assert "model overloaded" in str(record.error)

    def test_a_cancelled_run_is_abandoned(self, store: ALMA) -> None:
        self.play(store, Scene([Call("deploy", {"way": "blue-green"}), "It is live."], is_async=True, is_cancelled=True))
        assert [record.outcome for record in records(store)] == [None]

    def test_a_run_that_waited_for_a_person_is_one_episode_across_processes(self, folder: Path) -> None:
        if not self.has_interrupts:
            pytest.skip("this framework has no interrupts")
        self.play_interrupted(folder, repaired())
        with ALMA.open(folder, project_id="contract", embedding_provider="hash") as store:
            [(agent, outcome, _, steps)] = attempts(store)
            assert (agent, outcome, steps) == (WORKER, "unverified", ((ROLLING, False), (BLUE_GREEN, True)))

    # Evaluators.

    @pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
    def test_an_evaluator_may_be_a_coroutine_function(self, store: ALMA, is_async: bool) -> None:
        async def judge(run: "RunView") -> str:
            return "partial"

        self.play(store, repaired(options={"evaluator": judge}, is_async=is_async))
        assert [outcome for _, outcome, _, _ in attempts(store)] == ["partial"]

    def test_an_evaluator_that_raises_leaves_the_run_unverified(self, store: ALMA) -> None:
        def judge(run: "RunView") -> bool:
            raise KeyError("score")

        played = self.play(store, repaired(options={"evaluator": judge}))
        assert played.answer == "It is live."
        assert [outcome for _, outcome, _, _ in attempts(store)] == ["unverified"]
        assert [type(problem) for problem in played.problems] == [KeyError]

    @pytest.mark.parametrize(
        ("verdict", "outcome", "reason"),
        [
            (True, "success", None),
            ("Partial", "partial", None),
            (("failure", "the page stays blank"), "failure", "the page stays blank"),
            (None, "unverified", None),
        ],
    )
    def test_an_evaluator_returns_a_verdict_with_or_without_a_reason(
        self, store: ALMA, verdict: object, outcome: str, reason: str | None
    ) -> None:
        self.play(store, Scene(["It is live."], options={"evaluator": lambda run: verdict}))
        [record] = records(store)
        assert (record.outcome, record.feedback) == (outcome, reason)

    @pytest.mark.parametrize("verdict", ["splendid", 0.9, ("success", "why", 0.9)])
    def test_a_value_that_is_no_verdict_leaves_the_run_unverified(self, store: ALMA, verdict: object) -> None:
        played = self.play(store, Scene(["It is live."], options={"evaluator": lambda run: verdict}))
        assert played.answer == "It is live."
        assert [outcome for _, outcome, _, _ in attempts(store)] == ["unverified"]
        assert [type(problem) for problem in played.problems] == [ValidationError]

    def test_an_evaluator_that_waits_for_another_run_holds_up_nobody(self, store: ALMA) -> None:
        has_ended = threading.Event()

        def judge(run: "RunView") -> bool:
            return has_ended.wait(20)

        waiting = threading.Thread(target=lambda: self.play(store, repaired(options={"evaluator": judge})))
        waiting.start()
        self.play(store, Scene(["It is live."], task="Another task", agent="other", options=JUDGED))
        has_ended.set()
        waiting.join(30)
        assert sorted((agent, outcome) for agent, outcome, _, _ in attempts(store)) == [("other", "success"), (WORKER, "success")]

    def test_an_evaluator_sees_the_run_as_it_was(self, store: ALMA) -> None:
        seen: list[RunView] = []
        run_id = f"{RUN_ID[:-2]}d0"  # run ids are unique in a framework
        self.play(store, repaired(options={"evaluator": seen.append}, run_id=run_id))
        [run] = seen
        assert (run.agent, run.task, run.answer) == (WORKER, TASK, "It is live.")
        assert [(step.tool, step.action, step.ok) for step in run.steps] == [
            ("deploy", ROLLING, False),
            ("deploy", BLUE_GREEN, True),
        ]
        assert REFUSED in str(run.steps[0].error)
        assert run.run_id == run_id

    # Unavailable stores.

    def test_a_locked_store_holds_a_run_up_once(self, store: ALMA, folder: Path) -> None:
        [path] = folder.glob("*.db")
        scene = repaired(options={**JUDGED, "lock_timeout": 0.5})
        started = time.monotonic()
        self.play(store, scene)
        usual = time.monotonic() - started
        locking = sqlite3.connect(path, isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        try:
            started = time.monotonic()
            played = self.play(store, scene)
            took = time.monotonic() - started
        finally:
            locking.execute("ROLLBACK")
            locking.close()
        assert played.answer == "It is live."
        assert played.problems
        assert took < 6 + 3 * usual  # a busy machine is slow at both

    def test_a_closed_store_changes_no_answer(self, store: ALMA, folder: Path) -> None:
        other = ALMA.open(folder, project_id="contract", embedding_provider="hash")

        def close(way: str) -> str:
            """Deploys, while the store is closed."""
            other.close()
            return "live"

        played = self.play(other, Scene([Call("close", {"way": "blue-green"}), "It is live."], tools=[close], options=JUDGED))
        assert played.answer == "It is live."

    def test_a_full_disk_changes_no_answer(self, store: ALMA, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise AlmaError("database or disk is full")

        monkeypatch.setattr(type(store), "episode", full)
        played = self.play(store, repaired(options=JUDGED))
        assert played.answer == "It is live."
        assert played.problems

    # Scope.

    def test_preferences_are_shown_to_their_user_alone(self, store: ALMA) -> None:
        store.add_user_preference("ann", "deployments", f"{TASK} on Sundays only")
        seen = {user: self.play(store, Scene(["It is live."], user_id=user)).prompts[0] for user in ("ann", "bob")}
        assert "Sundays" in seen["ann"]
        assert "Sundays" not in seen["bob"]

    def test_what_is_redacted_is_stored_nowhere(self, store: ALMA) -> None:
        options = {
            "evaluator": lambda run: ("success", "auth answers"),
            "strategy": lambda run: "auth first",
            "redact": lambda text: text.replace("auth", "***"),
        }
        self.play(store, repaired(options=options))
        [record] = records(store)
        assert (record.strategy, record.feedback) == ("*** first", "*** answers")
        assert "auth" not in record.model_dump_json()

    def test_what_cannot_be_redacted_is_left_out(self, store: ALMA) -> None:
        def redact(text: str) -> str:
            if "ann" in text:
                raise LookupError("no words")
            return text

        played = self.play(store, logged_in({**JUDGED, "redact": redact}))
        [record] = records(store)
        assert [step.action for step in record.steps] == ["log_in"]
        assert "ann" not in record.model_dump_json()
        assert {str(problem) for problem in played.problems} == {"no words"}

    def test_an_argument_that_is_named_like_a_secret_is_stored_nowhere(self, store: ALMA) -> None:
        self.play(store, logged_in(JUDGED))
        [record] = records(store)
        assert [step.action for step in record.steps] == ['log_in(password="***", user="ann")']
        assert "hunter2" not in record.model_dump_json()

    def test_citations_count_as_use(self, store: ALMA) -> None:
        seen: list[RunView] = []
        store.add_heuristic(WORKER, TASK, "blue-green")
        self.play(store, Scene(["It is live, see [H1]."], options={"evaluator": seen.append}))
        [record] = records(store)
        assert [run.cited for run in seen] == [("H1",)]
        assert [exposure.used for exposure in record.shown] == [True]


RUN_ID = "0199b2c4-8a52-7c3e-9d1f-3a5b7c9d1e2f"
"""A run id in the form that all frameworks accept."""


def records(alma: ALMA) -> list[EpisodeRecord]:
    """Returns the episodes in the order in which they began."""
    return list(reversed(alma.recent_episodes(100)))


def attempts(alma: ALMA) -> list[Attempt]:
    """Returns the episodes without ids and times, which differ between frameworks."""
    return [
        (
            record.agent,
            record.outcome.value if record.outcome else "abandoned",
            record.strategy,
            tuple((step.action, step.ok) for step in record.steps),
        )
        for record in records(alma)
    ]


def rules(alma: ALMA) -> set[tuple[str, str, str]]:
    """Returns the learned rules: kind, agent, and the strategy or the pattern."""
    found = [*alma.list_memories("heuristic", limit=1000), *alma.list_memories("anti_pattern", limit=1000)]
    return {(memory.kind, memory.agent, getattr(memory, "strategy", getattr(memory, "pattern", ""))) for memory in found}
