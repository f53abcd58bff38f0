"""The options that all integrations share, in crews: where notes go, whose they are, what is stored, and what an event loop waits for."""

import ast
import asyncio
import sqlite3
import time
from pathlib import Path

import pytest
from crewai.flow.flow import Flow, start

import alma_crewai
from alma import ALMA
from alma_crewai import ALMAMemory, alma_tools
from crews import ScriptedLLM, agent, bad_tool, crew, good_tool, task, use

pytestmark = pytest.mark.any_version

DEPLOY = "Deploy the auth service"


def run(memory: ALMAMemory, *replies: object, **settings: object) -> tuple[object, ScriptedLLM]:
    llm = ScriptedLLM(*replies)
    worker = agent(llm, tools=[good_tool, bad_tool, *settings.pop("tools", ())])
    return crew(task(DEPLOY, worker), memory=memory).kickoff(**settings), llm


@pytest.fixture
def known(alma: ALMA) -> ALMA:
    alma.add_heuristic("Coder", DEPLOY, "roll out blue-green")
    return alma


def test_tags_are_stripped_from_answers_and_still_count_as_use(known: ALMA) -> None:
    memory = ALMAMemory(known, strip_tags=True)
    done, _ = run(memory, "It is live, see [H1].")
    memory.close()
    assert done.raw.startswith("It is live")
    assert "[H1]" not in done.raw
    assert [shown.used for shown in known.recent_episodes()[0].shown] == [True]


def test_that_tags_stay_in_what_an_agent_alone_returns_is_said_once(known: ALMA, caplog: pytest.LogCaptureFixture) -> None:
    alone = agent(ScriptedLLM("It is live, see [H1]."), memory=ALMAMemory(known, strip_tags=True))
    assert [alone.kickoff(DEPLOY).raw for _ in range(2)] == ["It is live, see [H1]."] * 2
    assert caplog.text.count("strip_tags: tags stay in what agent.kickoff() returns") == 1


def test_notes_are_in_no_record_of_crewai(known: ALMA, memory: ALMAMemory, tmp_path: Path) -> None:
    done, llm = run(memory, "It is live.")
    assert "roll out blue-green" in llm.prompt()
    assert "blue-green" not in done.model_dump_json()
    assert DEPLOY in done.model_dump_json()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "crewai").rglob("*") if path.is_file())
    assert b"It is live." in kept
    assert b"blue-green" not in kept


def test_notes_may_be_kept_out_of_prompts_while_runs_are_learned_from(known: ALMA) -> None:
    memory = ALMAMemory(known, inject="none")
    _, llm = run(memory, use("bad_tool", text="a"), "gave up")
    memory.close()
    assert "blue-green" not in llm.prompt()
    [record] = known.recent_episodes()
    assert (record.shown, len(record.steps)) == ((), 1)


def test_tenants_and_users_come_with_the_inputs_and_keep_to_themselves(alma: ALMA) -> None:
    alma.for_project("crews:acme").add_heuristic("Coder", DEPLOY, "roll out blue-green")
    alma.for_project("crews:acme").add_user_preference("ann", "deploys", f"{DEPLOY} at night")
    memory = ALMAMemory(alma)
    asked = [
        run(memory, use("save_to_memory", contents=["The cluster is heron"]), "done", inputs=each)[1]
        for each in ({"tenant_id": "acme", "user_id": "ann"}, {"tenant_id": "acme", "user_id": "bob"}, {"user_id": "ann"})
    ]
    memory.close()
    assert [("blue-green" in llm.prompt(), "at night" in llm.prompt()) for llm in asked] == [
        (True, True),
        (True, False),
        (False, False),
    ]
    kept = [len(project.list_memories("domain_knowledge")) for project in (alma.for_project("crews:acme"), alma)]
    assert kept == [2, 1]
    assert [record.user_id for record in alma.recent_episodes()] == ["ann"]


def test_inputs_of_an_earlier_start_are_forgotten(alma: ALMA, memory: ALMAMemory) -> None:
    made = crew(task(DEPLOY, agent(ScriptedLLM())), memory=memory)
    made.kickoff({"user_id": "ann"})
    made.kickoff()
    assert [record.user_id for record in alma.recent_episodes()] == [None, "ann"]


def test_reports_have_the_ids_of_the_run(alma: ALMA) -> None:
    reports = []
    memory = ALMAMemory(alma, on_run=reports.append, task_type="deployment")
    run(memory, use("good_tool", text="a"), "done", inputs={"run_id": "r1", "thread_id": "t1"})
    memory.close()
    [report] = reports
    assert (report.run_id, report.thread_id, report.outcome, report.steps) == ("r1", "t1", "unverified", 1)
    alma.settle(outcome="success", run_id="r1", source="person")
    assert alma.recent_episodes()[0].outcome == "success"


def test_the_tools_have_a_prefix_and_are_no_steps(known: ALMA, memory: ALMAMemory) -> None:
    tools = alma_tools(known, prefix="team_")
    replies = (
        use("team_recall_memory", query=DEPLOY),
        use("team_check_action", action="deploy"),
        use("team_save_fact", topic="a", fact="b c"),
    )
    _, llm = run(memory, *replies, "done", tools=tools)
    assert [tool.name.removeprefix("team_") for tool in tools] == [
        "recall_memory",
        "check_action",
        "save_fact",
        "save_preference",
        "forget_saved",
    ]
    assert "blue-green" in str(llm.asked[1][-1]["content"])
    assert [fact.agent for fact in known.list_memories("domain_knowledge")] == ["Coder"]
    assert known.recent_episodes()[0].steps == ()


def test_an_event_loop_is_not_held_up_by_a_locked_store(alma: ALMA, tmp_path: Path) -> None:
    memory = ALMAMemory(alma, lock_timeout=1.0)
    gaps: list[float] = []

    async def ticking() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            gaps.append(time.monotonic() - before)

    async def going() -> object:
        ticks = asyncio.create_task(ticking())
        worker = agent(ScriptedLLM(use("bad_tool", text="a"), "gave up", "done"), tools=[bad_tool])
        done = await crew(task(DEPLOY, worker), task("Write about penguins", worker), memory=memory).akickoff()
        ticks.cancel()
        return done.raw

    locking = sqlite3.connect(tmp_path / "alma" / "alma.db", isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    try:
        assert asyncio.run(going()) == "done"
        memory.flush()
    finally:
        locking.execute("ROLLBACK")
        locking.close()
    memory.close()
    assert max(gaps) < 0.5
    assert memory.errors


def test_an_agent_that_a_flow_starts_is_an_episode(known: ALMA, memory: ALMAMemory) -> None:
    llm = ScriptedLLM(use("good_tool", text="a"), "by [H1]")

    class Release(Flow):
        @start()
        async def deploy(self) -> str:
            return (await agent(llm, tools=[good_tool], memory=memory).kickoff_async(DEPLOY)).raw

    assert Release().kickoff() == "by [H1]"
    memory.flush()
    assert "blue-green" in llm.prompt()
    [record] = known.recent_episodes()
    assert (record.agent, record.task, len(record.steps), [shown.used for shown in record.shown]) == ("Coder", DEPLOY, 1, [True])


def test_its_modules_import_each_other_in_one_direction() -> None:
    folder = Path(alma_crewai.__file__).parent
    needs: dict[str, set[str]] = {}
    for path in folder.glob("*.py"):
        needs[path.stem] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == folder.name:
                names = (node.module or "").split(".")[1:] or [alias.name for alias in node.names]
                needs[path.stem] |= {name for name in names if folder.joinpath(f"{name}.py").exists()}
    while ready := [name for name, own in needs.items() if not own & needs.keys()]:
        for name in ready:
            del needs[name]
    assert needs == {}
