"""`alma redact --existing`: an old project is told of, and redacted."""

from pathlib import Path
from typing import Any

import pytest

SECRET = "hunter2-is-secret"


@pytest.fixture
def old(project: Any, folder: Path) -> Path:
    """A project with a secret in it that was recorded without redaction; it redacts now."""
    (config,) = folder.rglob("config.yaml")
    text = config.read_text()
    config.write_text(f"{text}\nredact: off\n" if "alma:" not in text else text.replace("alma:", "alma:\n  redact: off", 1))
    project("learn", "-a", "helena", "-t", f"Log in with password={SECRET}", "-o", "success", "-s", "once")
    config.write_text(text)
    return folder


def test_a_dry_run_only_tells(project: Any, old: Path) -> None:
    told = project("redact", "--existing", "--dry-run").out

    assert "1 password" in told
    assert SECRET in project("list").out


def test_the_secret_is_replaced(project: Any, old: Path) -> None:
    assert "Replaced, as record" in project("redact", "--existing", "--yes").out

    assert SECRET not in project("list").out
    assert project("redact", "--existing", "--dry-run", "--json").json["history"] == 0
