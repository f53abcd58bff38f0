"""What one process learns, another knows at once, while the first is still running."""

import subprocess
import sys
import tempfile

from alma import ALMA

LEARN = """
import sys
from alma import ALMA
with ALMA.open(sys.argv[1], project_id="shop", embedding_provider="hash") as alma:
    alma.learn(agent="helena", task="Test the login form", outcome="success", strategy_used="Empty fields first")
"""

with tempfile.TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
    assert alma.retrieve(task="Test the login form", agent="helena").total_items == 0
    subprocess.run([sys.executable, "-c", LEARN, folder], check=True)
    (outcome,) = alma.retrieve(task="Test the login form", agent="helena").outcomes
    print(f"Learned elsewhere: {outcome.strategy_used}")
