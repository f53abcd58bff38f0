"""A process that dies in the midst of a run: another takes the run up again from the checkpoint."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from alma import ALMA
from alma_langchain import ALMAMiddleware
from scripted import TASK, call, deploy, runs, scripted, steps

pytestmark = pytest.mark.any_version

THREAD: Any = {"configurable": {"thread_id": "1"}}

DYING = """
import os, pickle, sys
from alma import ALMA
from alma_langchain import ALMAMiddleware
from alma_langchain.testing import ScriptedChatModel
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

folder, task, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
kept = InMemorySaver()

@tool
def deploy(way: str) -> str:
    "Deploys."
    return "done"

def die(messages):
    if sum(message.type == "tool" for message in messages) < calls:
        return "deploy", {"way": "canary"}
    threads = {key: {place: dict(states) for place, states in found.items()} for key, found in kept.storage.items()}
    with open(folder + "/checkpoints", "wb") as file:
        pickle.dump((threads, {key: dict(found) for key, found in kept.writes.items()}, dict(kept.blobs)), file)
    os._exit(9)

alma = ALMA.open(folder + "/store", project_id="shop", embedding_provider="hash")
agent = create_agent(
    ScriptedChatModel(script=die), [deploy], middleware=[ALMAMiddleware(alma, agent="dev")], checkpointer=kept
)
agent.invoke({"messages": [("user", task)]}, {"configurable": {"thread_id": "1"}}, durability="sync")
"""


def left_by_a_process_that_died(folder: Path, calls: int) -> InMemorySaver:
    """The checkpoints of a run that was killed in a model call, after so many calls of its tool."""
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(folder), TASK, str(calls)], capture_output=True, text=True, env=os.environ, timeout=120
    )
    assert died.returncode == 9, died.stderr
    threads, writes, blobs = pickle.loads((folder / "checkpoints").read_bytes())
    kept = InMemorySaver()
    for thread, places in threads.items():
        for place, states in places.items():
            kept.storage[thread][place].update(states)
    for key, found in writes.items():
        kept.writes[key].update(found)
    kept.blobs.update(blobs)
    return kept


@pytest.mark.parametrize(
    ("calls", "done"), [(0, "blue-green"), (1, "canary")], ids=["before anything was written", "after a step"]
)
def test_a_run_whose_process_died_goes_on_in_another_as_a_run_of_its_own(tmp_path: Path, calls: int, done: str) -> None:
    kept = left_by_a_process_that_died(tmp_path, calls)
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        assert runs(alma) == [("dev", "open")] * calls
        middleware = ALMAMiddleware(alma, agent="dev", on_error="raise")
        replies = [call("deploy", way="blue-green"), "Done."]
        agent = create_agent(scripted(*replies), [deploy], middleware=[middleware], checkpointer=kept)
        agent.invoke(None, THREAD)
        assert runs(alma)[calls:] == [("dev", "unverified")]
        assert {run.task for run in alma.recent_episodes()} == {TASK}
        assert steps(alma) == [(f'deploy(way="{done}")', True, None)]  # what the checkpoint holds is not done again
