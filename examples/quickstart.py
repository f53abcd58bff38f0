"""Real runs in, advice out: what `alma demo` does, from Python."""

import gzip
import json
import tempfile
from pathlib import Path

from alma import ALMA

AGENT = "airline-agent"
DATA = Path(__file__).parent / "data" / "tau_airline.jsonl.gz"

with gzip.open(DATA, "rt", encoding="utf-8") as lines:
    runs = [json.loads(line) for line in lines]
seen = [run for run in runs if run["task_id"] % 10 != 8]
unseen = [run for run in runs if run["task_id"] % 10 == 8 and run["trial"] == 0]

with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="airline") as alma:
    for run in seen:
        alma.learn(
            agent=AGENT,
            task=run["task"],
            outcome="success" if run["success"] else "failure",
            strategy_used=run["strategy"],
            error_message=run["error"],
            task_id=str(run["task_id"]),
        )
    for run in unseen:
        memories = alma.retrieve(task=run["task"], agent=AGENT, top_k=3)
        assert memories.total_items, "an unseen task found nothing"
        print(f"\n{run['task']}")
        for item in memories.recalled:
            print(f"  [{item.tag}] {item.score:.2f}  {item.memory.text}")

    print(f"\nWhat goes into the prompt for the last one:\n{memories.to_prompt(max_tokens=500)}")
    assert alma.retrieve(task=unseen[0]["task"], agent="stranger").total_items == 0, "agents are kept apart"
    assert alma.verify().ok, "the journal and the tables agree"
    print(f"\nLearned from {len(seen)} runs.")
