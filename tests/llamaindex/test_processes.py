"""Programs that end without closing, and programs that fork."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from alma import ALMA
from alma.types import EpisodeStatus
from alma.types.identity import utc_now
from llama_runs import episodes

pytestmark = pytest.mark.any_version

FORKS = """
import os, sys, threading, asyncio
from alma import ALMA
from alma_integration import kit
from alma_llamaindex import ALMALearner, ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent

kit.SETTLING_SECONDS = 60
is_ending, may_end = threading.Event(), threading.Event()

def judge(run):
    is_ending.set()
    return may_end.wait(60)

alma = ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash")
learner = ALMALearner(alma, evaluator=judge).install()

async def go():
    agent = FunctionAgent(name="dev", llm=ScriptedLLM(["done"]))
    await asyncio.wait_for(agent.run(user_msg="Deploy", memory=ALMAMemory.from_defaults(alma, agent="dev")), 20)

asyncio.run(go())
is_ending.wait(60)  # a store cannot be used in a child that was forked in the middle of a read or a write
child = os.fork()
may_end.set()
if child == 0:
    asyncio.run(go())
    os._exit(0 if learner.flush(20) and not learner.errors else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_does_not_wait_for_what_its_parent_is_writing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path / "s")], check=True)
    with ALMA.open(tmp_path / "s", project_id="shop") as alma:
        assert [(record.status, record.outcome) for record in episodes(alma)] == [(EpisodeStatus.ENDED, "success")] * 2


LEAVES = """
import asyncio, sys
from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent

alma = ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash")

async def go():
    agent = FunctionAgent(name="dev", llm=ScriptedLLM(["done"]))
    await agent.run(user_msg="Deploy", memory=ALMAMemory.from_defaults(alma, agent="dev"))

asyncio.run(go())
"""


def test_a_program_that_ends_without_closing_has_written_its_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVES, str(tmp_path / "s")], check=True)
    with ALMA.open(tmp_path / "s", project_id="shop") as alma:
        assert [record.status for record in episodes(alma)] == [EpisodeStatus.ENDED]


CRASHES = """
import asyncio, os, sys
from alma import ALMA
from alma_llamaindex import ALMAMemory
from alma_llamaindex.testing import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent

store, when = sys.argv[1:]
alma = ALMA.open(store, project_id="shop", embedding_provider="hash")
memory = ALMAMemory.from_defaults(alma, agent="dev")

def look() -> str:
    '''Looks.'''
    return "seen"

def model(messages):
    if messages[-1].role == "tool" or when == "before a step":
        assert memory.learner.flush()
        os._exit(7)
    return [("look", {})]

async def go():
    await FunctionAgent(name="dev", llm=ScriptedLLM(model), tools=[look]).run(user_msg="Deploy", memory=memory)

asyncio.run(go())
"""


@pytest.mark.parametrize(("when", "kept"), [("before a step", []), ("after a step", [(EpisodeStatus.ABANDONED, 1)])])
def test_a_crash_leaves_no_trace_of_a_run_before_its_first_step(tmp_path: Path, when: str, kept: list[tuple[str, int]]) -> None:
    crashed = subprocess.run([sys.executable, "-c", CRASHES, str(tmp_path / "s"), when], check=False)
    assert crashed.returncode == 7
    with ALMA.open(tmp_path / "s", project_id="shop", clock=lambda: utc_now() + timedelta(minutes=11)) as alma:
        assert [(record.status, len(record.steps)) for record in episodes(alma)] == kept
