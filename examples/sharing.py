"""Two agents of one project: what helena shares, victor reads; what she does not share stays hers."""

import tempfile

from alma import ALMA
from alma.types import MemoryScope

AGENTS = {"helena": MemoryScope(share_with=("victor",)), "victor": MemoryScope()}

with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", agents=AGENTS) as alma:
    alma.learn(agent="helena", task="Test the login form", outcome="success", strategy_used="Empty fields first")
    alma.learn(agent="victor", task="Deploy the login service", outcome="failure", strategy_used="Restart by hand")

    seen = alma.retrieve(task="Change the login form", agent="victor")
    for outcome in seen.outcomes:
        print(f"victor reads: {outcome.task_description} (from {outcome.metadata.get('shared_from', 'himself')})")
    assert any(outcome.metadata.get("shared_from") == "helena" for outcome in seen.outcomes)

    (own,) = alma.retrieve(task="Change the login form", agent="helena").outcomes
    assert own.agent == "helena", "victor shares nothing"
