"""A run under threads, suspensions, forks, functions of users that fail, and in the background."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA, MemoryScope, StorageError, ValidationError, Verdict
from alma.integration import Integration, Learning, Options, RunContext, RunView, ToolUse, holding, tool_use
from facade import StoredIn

DEPLOY = tool_use("deploy", {"way": "rolling"})


@pytest.fixture
def alma(tmp_path: Path, stored_in: StoredIn) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as opened:
        yield opened
        assert opened.verify().ok


def integration(alma: ALMA, **options: Any) -> Integration:
    return Integration(alma, agent="dev", options=Options(**options))


def raises(*_: object) -> Any:
    raise KeyError("mine")


def test_a_lookup_leaves_out_what_other_agents_share_and_what_is_not_wanted(tmp_path: Path, stored_in: StoredIn) -> None:
    agents = {"dev": MemoryScope(inherit_from=["senior"]), "senior": MemoryScope(share_with=["dev"])}
    with ALMA.open(
        tmp_path / "team", project_id="team", embedding_provider="hash", agents=agents, **stored_in(tmp_path / "team")
    ) as team:
        own = team.add_heuristic("dev", "Deploy auth", "roll out blue-green")
        shared = team.add_heuristic("senior", "Deploy auth", "ask before noon")
        found = integration(team).retrieve("Deploy auth", "dev", RunContext())
        assert set(found.ids) == {own.id, shared.id}
        assert integration(team).retrieve("Deploy auth", "dev", RunContext(), include_shared=False).ids == [own.id]
        assert holding(found, (item for item in found.recalled if item.memory.id == shared.id)).ids == [shared.id]


def test_a_lookup_may_be_limited_to_kinds_and_to_what_is_wanted_far_down_the_list(alma: ALMA) -> None:
    for number in range(9):
        alma.add_heuristic("dev", "Deploy auth", f"way {number}")
    last = alma.add_heuristic("dev", "Deploy the billing service", "the last way")
    alma.add_domain_knowledge("dev", "deploys", "Deploy auth has two replicas.")
    kit = integration(alma, top_k=1)

    def found(**given: Any) -> list[tuple[str, str]]:
        return [(item.memory.kind, item.memory.id) for item in kit.retrieve("Deploy auth", "dev", RunContext(), **given).recalled]

    assert {kind for kind, _ in found()} == {"heuristic", "domain_knowledge"}
    assert [kind for kind, _ in found(kinds=["domain_knowledge"])] == ["domain_knowledge"]
    assert found(wanted=lambda item: item.memory.id == last.id) == [("heuristic", last.id)]
    assert len(found(kinds=["heuristic"], wanted=lambda item: True)) == 1


def test_a_run_that_nothing_happens_in_writes_nothing_before_its_end(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")
    run.recall()
    assert alma.recent_episodes() == []
    run.end("done")
    assert [record.outcome for record in alma.recent_episodes()] == [Verdict.UNVERIFIED]


def test_a_step_is_durable_when_it_is_settled(alma: ALMA, tmp_path: Path, stored_in: StoredIn) -> None:
    run = integration(alma).run("Deploy auth")
    run.tool_raised(DEPLOY, RuntimeError("502"))
    run.settle()
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash", **stored_in(tmp_path / "store")) as other:
        assert [step.error for step in other.recent_episodes()[0].steps] == ["RuntimeError: 502"]
    run.end("done")


def test_notes_are_looked_up_in_another_thread_once(alma: ALMA, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    retrieve = alma.retrieve
    alma.add_heuristic("dev", "Deploy auth", "blue-green")
    monkeypatch.setattr(alma, "retrieve", lambda **given: (threads.append(threading.current_thread()), retrieve(**given))[1])

    async def go() -> list[str]:
        run = integration(alma).run("Deploy auth")
        return [await run.arecall(), await run.arecall(), run.recall()]

    assert ["blue-green" in notes for notes in asyncio.run(go())] == [True] * 3
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


def test_where_notes_go_nowhere_a_run_looks_up_and_shows_nothing(alma: ALMA) -> None:
    alma.add_heuristic("dev", "Deploy auth", "blue-green")
    run = integration(alma, inject="none").run("Deploy auth")
    assert [run.recall(), asyncio.run(run.arecall()), run.memories.ids] == ["", "", []]
    run.model_said("As [H1] says.")
    run.end("done")
    assert [record.shown for record in alma.recent_episodes()] == [()]


def test_a_model_that_was_not_shown_the_notes_cites_nothing(alma: ALMA) -> None:
    alma.add_heuristic("dev", "Deploy auth", "blue-green")
    for asked, used in ((["Go on."], None), (["Go on.", "{notes}\nDeploy auth"], True), (None, True)):
        run = integration(alma).run("Deploy auth")
        notes = run.recall()
        if asked is not None:
            run.model_asked(text.replace("{notes}", notes) for text in asked)
            run.model_asked(["another model of the same run"])
        run.model_said("As [H1] says.")
        run.end("done")
        assert [shown.used for shown in alma.recent_episodes(1)[0].shown] == [used]


def test_citations_are_found_in_texts_and_in_the_arguments_of_calls(alma: ALMA) -> None:
    for way in ("blue-green", "ask before noon", "warm the cache", "drain the nodes"):
        alma.add_heuristic("dev", "Deploy auth", way)
    run = integration(alma).run("Deploy auth")
    run.recall()
    run.model_said("As [H1] says.", None, {"way": "blue-green", "why": ["see [H2]"]}, "by [H3]")
    run.end("done")
    assert [shown.used for shown in alma.recent_episodes(1)[0].shown] == [True, True, True, False]


def test_a_user_receives_an_answer_without_citations_on_request(alma: ALMA) -> None:
    alma.add_heuristic("dev", "Deploy auth", "blue-green")
    answers = []
    for is_stripped in (False, True):
        run = integration(alma, strip_tags=is_stripped).run("Deploy auth")
        run.recall()
        answers.append(run.for_user("Blue-green [H1], not [H9]."))
    assert answers == ["Blue-green [H1], not [H9].", "Blue-green, not [H9]."]


def test_a_run_that_is_taken_up_again_has_the_ids_of_the_run_that_goes_on_with_it(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth", run_id="first")
    run.tool_returned(DEPLOY, "done")
    run.suspend()
    again = integration(alma).resumed(run.episode_id, "Deploy auth", run_id="second", thread_id="t1")
    assert (again.run_id, again.thread_id) == ("second", "t1")


def test_after_its_end_a_run_takes_nothing(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")
    run.end("done")
    run.tool_returned(DEPLOY, "late")
    run.settle()
    assert run.end("again") is None
    assert len(alma.recent_episodes()) == 1
    assert alma.recent_episodes()[0].steps == ()


def test_threads_may_tell_of_one_run(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")

    def tell(number: int) -> None:
        run.tool_returned(tool_use(f"tool{number}", {}), "ok")
        run.settle()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tell, range(40)))
    run.end("done")
    assert sorted(step.tool for step in alma.recent_episodes()[0].steps) == sorted(f"tool{number}" for number in range(40))


def test_agents_that_act_at_the_same_time_are_each_credited_with_their_own_calls(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")
    agents = ["dev", "ops", "qa"] * 30

    def call(agent: str) -> None:
        with run.turn_of(agent):
            run.tool_returned(tool_use(agent, {}), "fine")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, agents))
    report = run.end("done")
    assert report is not None
    done = {record.agent: {step.action for step in record.steps} for record in report.episodes}
    assert done == {"dev": {"dev"}, "ops": {"ops"}, "qa": {"qa"}}
    assert report.steps == len(agents)


def test_runs_at_the_same_time_are_kept_apart(alma: ALMA) -> None:
    shared = integration(alma, evaluator=lambda run: run.answer == run.task)

    def go(number: int) -> None:
        run = shared.run(f"task {number}", run_id=f"run-{number}")
        run.recall()
        run.tool_returned(tool_use(f"tool{number}", {}), "ok")
        report = run.end(f"task {number}")
        assert report is not None
        assert (report.task, report.outcome, report.run_id) == (f"task {number}", "success", f"run-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(go, range(32)))
    for record in alma.recent_episodes(100):
        number = record.task.split()[1]
        assert [step.tool for step in record.steps] == [f"tool{number}"]
    assert shared.live == 0


def test_a_suspended_run_goes_on_as_the_same_episode(alma: ALMA) -> None:
    first = integration(alma).run("Deploy auth", run_id="r")
    first.recall()
    first.tool_raised(DEPLOY, RuntimeError("502"))
    first.suspend()
    key = first.episode_id
    assert key is not None
    second = integration(alma).resumed(key, "Deploy auth")
    second.tool_returned(tool_use("deploy", {"way": "blue-green"}), "ok")
    second.end("done")
    [record] = alma.recent_episodes()
    assert [step.ok for step in record.steps] == [False, True]


def test_one_that_ended_meanwhile_goes_on_as_a_new_episode(alma: ALMA) -> None:
    kit = integration(alma)
    first = kit.run("Deploy auth")
    first.tool_returned(DEPLOY, "ok")
    first.end("done")
    again = kit.resumed(str(first.episode_id), "Deploy auth")
    again.tool_returned(DEPLOY, "ok")
    again.end("done")
    assert len(alma.recent_episodes()) == 2


@pytest.mark.parametrize("option", ["evaluator", "usage", "strategy", "on_run"])
def test_a_function_of_the_user_that_fails_costs_its_own_part_alone(alma: ALMA, option: str) -> None:
    kit = integration(alma, **{option: raises})
    run = kit.run("Deploy auth")
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    [record] = alma.recent_episodes()
    assert record.outcome is Verdict.UNVERIFIED
    assert len(record.steps) == 1
    assert [type(error) for error in kit.errors] == [KeyError]


@pytest.mark.parametrize("option", ["action", "tool_outcome"])
def test_a_step_is_kept_where_its_words_or_its_outcome_cannot_be_had(alma: ALMA, option: str) -> None:
    run = integration(alma, **{option: raises}).run("Deploy auth")
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    assert [step.tool for step in alma.recent_episodes()[0].steps] == ["deploy"]


def test_a_text_that_cannot_be_redacted_is_not_stored(alma: ALMA) -> None:
    kit = integration(alma, redact=raises)
    run = kit.run("Deploy auth for ann")
    run.recall()
    run.tool_returned(DEPLOY, "secret")
    run.end("done")
    assert alma.recent_episodes() == []
    assert kit.errors


def test_errors_are_raised_into_the_agent_on_request(alma: ALMA) -> None:
    run = integration(alma, on_error="raise", evaluator=raises).run("Deploy auth")
    with pytest.raises(KeyError):
        run.end("done")


def test_a_run_whose_agent_has_no_name_is_an_error_of_its_caller(alma: ALMA) -> None:
    with pytest.raises(ValidationError, match="agent"):
        Integration(alma, agent=lambda run: run.find("role")).run("Deploy auth")


def test_agent_user_tenant_and_task_type_may_come_from_the_run(alma: ALMA) -> None:
    kit = Integration(
        alma,
        agent=lambda run: run.find("role"),
        options=Options(task_type=lambda run: run.find("kind"), user_id=lambda run: run.find("who")),
    )
    context = RunContext(metadata={"role": "fixer", "kind": "deploy", "who": 17, "tenant_id": "acme"})
    run = kit.run("Deploy auth", context=context)
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    [record] = alma.for_project("shop:acme").recent_episodes()
    assert (record.agent, record.task_type, record.user_id) == ("fixer", "deploy", "17")
    assert alma.recent_episodes() == []


def test_in_the_background_a_slow_evaluator_holds_up_no_retrieval(alma: ALMA) -> None:
    may_end = threading.Event()

    def slow(run: RunView) -> bool:
        return may_end.wait(20)

    kit = integration(alma, evaluator=slow)
    for _ in range(4):
        run = kit.run("Deploy auth")
        run.tool_returned(DEPLOY, "ok")
        run.end_soon("done")
    kit.run("Deploy billing").recall()
    assert not kit.flush(0.01)
    may_end.set()
    assert kit.flush(20)
    assert [record.outcome for record in alma.recent_episodes()] == [Verdict.SUCCESS] * 4


def test_an_evaluator_that_flushes_does_not_wait_for_itself(alma: ALMA) -> None:
    kit: Integration
    kit = integration(alma, evaluator=lambda run: kit.flush(20))
    kit.run("Deploy auth").end_soon("done")
    assert kit.flush(20)


def test_a_run_of_an_evaluator_is_recorded_and_not_judged(alma: ALMA) -> None:
    seen: list[str] = []

    def judge(view: RunView) -> bool:
        seen.append(view.task)
        inner = kit.run("Judge it")
        inner.end("fine")
        return True

    kit = integration(alma, evaluator=judge)
    kit.run("Deploy auth").end_soon("done")
    assert kit.flush(20)
    assert seen == ["Deploy auth"]
    assert {record.task: record.outcome for record in alma.recent_episodes()} == {
        "Deploy auth": Verdict.SUCCESS,
        "Judge it": Verdict.UNVERIFIED,
    }


def test_a_coroutine_evaluator_is_awaited_in_the_loop_of_the_agent(alma: ALMA) -> None:
    loops: list[object] = []

    async def judge(run: RunView) -> bool:
        loops.append(asyncio.get_running_loop())
        return True

    async def go() -> object:
        await integration(alma, evaluator=judge).run("Deploy auth").aend("done")
        return asyncio.get_running_loop()

    assert asyncio.run(go()) in loops
    assert alma.recent_episodes()[0].outcome is Verdict.SUCCESS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_waits_for_nothing_of_its_parent(alma: ALMA) -> None:
    may_end = threading.Event()
    kit = integration(alma, evaluator=lambda run: may_end.wait(20))
    kit.run("Deploy auth").end_soon("done")
    child = os.fork()
    if child == 0:
        os._exit(0 if kit.flush(5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    may_end.set()
    assert kit.flush(20)


def test_a_locked_store_holds_up_a_run_at_most_twice_its_time_out(alma: ALMA) -> None:
    uses: list[ToolUse] = [tool_use(f"tool{number}", {}) for number in range(5)]
    kit = integration(alma)
    run = kit.run("Deploy auth")
    run.tool_returned(uses[0], "ok")
    run.settle()

    def locked(*_: object, **__: object) -> Any:
        tried.append(1)
        raise StorageError("locked")

    tried: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(run.episode), "step", locked)
        for use in uses[1:]:
            run.tool_returned(use, "ok")
            run.settle()
    assert len(tried) == 1
    run.end("done")
    [record] = alma.recent_episodes()
    assert (record.outcome, len(record.steps)) == (Verdict.UNVERIFIED, 1)


def test_names_are_looked_up_where_the_run_began_and_not_where_it_is_written(alma: ALMA) -> None:
    present: ContextVar[str] = ContextVar("present")
    kit = integration(alma, user_id=lambda _: present.get())
    present.set("ann")
    run = kit.run("Deploy auth", context=kit.pinned(RunContext()))
    present.set("bob")
    run.end_soon("done")  # in a thread that has neither
    kit.flush()
    assert ([record.user_id for record in alma.recent_episodes()], list(kit.errors)) == (["ann"], [])


def test_of_a_run_that_is_discarded_nothing_is_kept(alma: ALMA) -> None:
    kit = integration(alma)
    run = kit.run("Deploy auth")
    run.recall()
    run.tool_raised(DEPLOY, RuntimeError("502"))
    run.discard()
    assert run.end("done") is None
    assert (alma.recent_episodes(), alma.list_memories(), kit.live) == ([], [], 0)


@pytest.mark.parametrize(("blames", "strategy"), [(True, 'deploy(way="rolling")'), (False, None)])
def test_an_error_in_words_blames_the_way_where_it_is_said_to(alma: ALMA, blames: bool, strategy: str | None) -> None:
    run = integration(alma).run("Deploy auth")
    run.tool_returned(DEPLOY, "live")
    run.end(error="the answer was rejected", blames_strategy=blames)
    [record] = alma.recent_episodes()
    assert (record.outcome, record.strategy, record.error) == (Verdict.FAILURE, strategy, "the answer was rejected")


def test_in_an_event_loop_a_retrieval_hardly_waits_for_writes(alma: ALMA) -> None:
    kit = integration(alma)
    kit.writes.started()

    async def seconds() -> float:
        begun = time.monotonic()
        kit.catch_up()
        return time.monotonic() - begun

    assert asyncio.run(seconds()) < 1
    kit.writes.done()


def test_a_run_that_another_agent_goes_on_with_is_not_judged_yet(alma: ALMA) -> None:
    run = integration(alma, evaluator=raises).run("Deploy auth")
    report = run.end("", is_judged=False)
    assert report is not None
    assert report.outcome == "unverified"
    assert not run.integration.errors


def test_a_suspended_episode_that_nothing_takes_up_again_can_be_abandoned(alma: ALMA) -> None:
    follows = integration(alma)
    run = follows.run("Deploy auth")
    run.tool_returned(DEPLOY, "done")
    run.settle()
    episode_id = run.episode_id or ""
    follows.abandon(episode_id)
    assert alma.get_episode(episode_id).status == "open"
    run.suspend()
    for _ in range(2):
        follows.abandon(episode_id, reason="a new question came")
    follows.abandon("no such episode")
    assert alma.get_episode(episode_id).status == "abandoned"
    assert not follows.errors


def test_an_agent_that_may_not_learn_this_is_no_error_and_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stored_in: StoredIn
) -> None:
    rules = {"dev": {"can_learn": ["tests"]}}
    with ALMA.open(
        tmp_path / "scoped", project_id="shop", embedding_provider="hash", agents=rules, **stored_in(tmp_path / "scoped")
    ) as alma:
        kit = integration(alma, task_type="deploys")
        for _ in range(2):
            run = kit.run("Deploy auth")
            run.tool_raised(DEPLOY, RuntimeError("502"))
            assert run.end("done") is None
        assert (alma.recent_episodes(), list(kit.errors)) == ([], [])
    assert caplog.text.count("may only learn tests") == 1


def test_a_run_that_an_evaluator_makes_is_recorded_and_not_judged_in_its_turn(alma: ALMA) -> None:
    asked: list[str] = []

    def judge(run: RunView) -> bool:
        asked.append(run.task)
        kit.run(f"Judge {run.task}").end("good")
        return True

    kit = integration(alma, evaluator=judge)
    kit.run("Deploy auth").end("done")
    assert asked == ["Deploy auth"]
    assert [(record.task, record.outcome) for record in reversed(alma.recent_episodes())] == [
        ("Deploy auth", Verdict.SUCCESS),
        ("Judge Deploy auth", Verdict.UNVERIFIED),
    ]


class _Bool:
    """What numpy's truth values are like: true or false, and no `bool`."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value


_Bool.__name__ = "bool_"


@pytest.mark.parametrize(("said", "ok"), [(_Bool(False), False), (_Bool(True), True), (0, None), ("failure", None), (None, None)])
def test_the_outcome_of_a_tool_is_a_truth_value_or_unknown(alma: ALMA, said: object, ok: bool | None) -> None:
    run = integration(alma, tool_outcome=lambda name, result: said).run("Deploy auth")
    run.tool_returned(DEPLOY, "done")
    run.end("done")
    assert [step.ok for step in alma.recent_episodes()[0].steps] == [ok]


def test_a_run_that_is_suspended_before_anything_happened_goes_on(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")
    run.suspend()
    run.take_up()
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    assert [len(record.steps) for record in alma.recent_episodes()] == [1]


def test_without_an_episode_to_resume_a_run_is_a_new_one(alma: ALMA) -> None:
    kit = integration(alma)
    assert kit.resumed(None, "Ann's task") is not kit.resumed(None, "Bob's task")


def test_a_run_that_ended_is_not_taken_up(alma: ALMA) -> None:
    run = integration(alma).run("Deploy auth")
    run.end("done")
    run.take_up()
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    assert len(alma.recent_episodes()) == 1


def test_of_two_ends_at_once_one_asks_the_evaluator(alma: ALMA) -> None:
    asked: list[str] = []
    both = threading.Barrier(4)

    def judge(view: RunView) -> bool:
        asked.append(view.task)
        return True

    run = integration(alma, evaluator=judge).run("Deploy auth")

    def end() -> None:
        both.wait(10)
        run.end("done")

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(end) for _ in range(4)]:
            each.result()
    assert asked == ["Deploy auth"]


def test_a_run_whose_judgement_is_cancelled_is_kept_unjudged(alma: ALMA) -> None:
    async def forever(view: RunView) -> bool:
        judging.set()
        await asyncio.sleep(60)
        return True

    async def go() -> None:
        task = asyncio.create_task(kit.run("Deploy auth").aend("done"))
        await judging.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    kit = integration(alma, evaluator=forever)
    judging = asyncio.Event()
    asyncio.run(go())
    assert kit.flush(10)
    assert [record.outcome for record in alma.recent_episodes()] == [Verdict.UNVERIFIED]
    assert kit.live == 0


def test_an_end_that_is_not_waited_for_any_more_is_recorded_whole(alma: ALMA) -> None:
    async def go() -> None:
        task = asyncio.create_task(kit.run("Deploy auth").aend("done"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    kit = integration(alma)
    asyncio.run(go())
    assert [record.outcome for record in alma.recent_episodes()] == [Verdict.UNVERIFIED]
    assert kit.live == 0


def test_what_users_hold_shows_errors_and_the_last_run(alma: ALMA) -> None:
    class Adapter(Learning):
        def __init__(self) -> None:
            self._integration = integration(alma, evaluator=raises)

    adapter = Adapter()
    report = adapter._integration.run("Deploy auth").end("done")
    assert [repr(error) for error in adapter.errors] == ["KeyError('mine')"]
    assert adapter.last_run is report


def test_a_tenant_that_is_asked_for_and_not_named_shares_with_nobody(alma: ALMA) -> None:
    kit = integration(alma, tenant_id=lambda run: None)
    run = kit.run("Deploy auth")
    run.tool_returned(DEPLOY, "ok")
    run.end("done")
    assert alma.recent_episodes() == []
    assert [type(error) for error in kit.errors][:1] == [ValidationError]


@pytest.mark.not_on("file", "postgres", reason="locks SQLite's file")
def test_a_store_that_is_locked_holds_up_no_other(tmp_path: Path, stored_in: StoredIn) -> None:
    stores = [
        ALMA.open(tmp_path / name, project_id="p", embedding_provider="hash", **stored_in(tmp_path / name)) for name in ("a", "b")
    ]
    locking = sqlite3.connect(tmp_path / "a" / "alma.db", isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    try:
        for _ in range(4):
            integration(stores[0], lock_timeout=20).run("Deploy auth").end_soon("done")
        other = integration(stores[1])
        other.run("Deploy auth").end_soon("done")
        assert other.flush(10)
    finally:
        locking.execute("ROLLBACK")
        locking.close()
    assert [record.outcome for record in stores[1].recent_episodes()] == [Verdict.UNVERIFIED]
    for store in stores:
        store.close()


def test_an_evaluator_that_never_returns_keeps_no_process_alive(tmp_path: Path) -> None:
    code = f"""
import threading
from alma import ALMA
from alma.integration import Integration, Learning, Options
alma = ALMA.open({str(tmp_path / "store")!r}, project_id="p", embedding_provider="hash")
kit = Integration(alma, agent="dev", options=Options(evaluator=lambda run: threading.Event().wait()))
kit.run("Deploy auth").end_soon("done")
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_an_error_that_the_caller_has_to_know_is_raised_and_kept_once(alma: ALMA) -> None:
    integration = Integration(alma, agent="dev", options=Options(on_error="log"))
    with (
        pytest.raises(ZeroDivisionError),
        integration.guard("outside", is_raised=True),
        integration.guard("inside", is_raised=True),
    ):
        _ = 1 / 0
    assert [type(error) for error in integration.errors] == [ZeroDivisionError]
