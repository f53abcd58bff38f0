"""What an adapter says at its import of a framework whose private parts changed."""

import subprocess
import sys

_LOG = "import logging; logging.basicConfig(format='%(message)s')\n"


def check_warned_once(importing: str, changing: str, adapter: str, named: str) -> None:
    """Imports a module of an adapter in new processes: as tested without a warning, and after a change with one, which names the part."""
    codes = [f"{_LOG}{importing}\nimport {adapter}", f"{_LOG}{importing}\n{changing}\nimport {adapter}"]
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True).stderr
        for code in codes
    ]
    assert "relies on" not in said[0]
    assert said[1].count("relies on") == 1
    assert named in said[1]
