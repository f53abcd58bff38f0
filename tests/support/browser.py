"""A real Chromium, driven by playwright-core in a process of Node.js."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("browser.mjs")
MODULES = Path(__file__).resolve().parents[2] / "packages" / "alma-server" / "ui" / "node_modules"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Seen:
    """Result of a script, and what happened beside it: violations of the policy of a page, addresses that were asked for, dialogs, errors that
    no script caught, and what the scripts of an attacker left."""

    result: Any
    violations: list[str]
    requests: list[str]
    dialogs: list[str]
    errors: list[str]
    pwned: list[Any]


@dataclass(frozen=True)
class Browser:
    """A browser that runs one script at a time."""

    process: "subprocess.Popen[str]"

    def run(self, script: str, options: dict[str, Any] | None = None, **given: Any) -> Seen:
        """Runs `async ({context, page}, given) => …` in a context of its own, of these options of playwright. A failure of it is an error here."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"script": script, "given": given, "options": options or {}}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"failure": "the browser ended"}')
        assert "failure" not in answer, answer["failure"]
        return Seen(**answer)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Yields a browser. Skips, by its name, where a program is missing."""
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    for program, is_there in (("node", shutil.which("node")), ("chromium", chromium), ("playwright-core", MODULES.is_dir())):
        if not is_there:
            pytest.skip(f"{program} is not installed")
    command = ["node", str(DRIVER), str(chromium)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Browser(process)
    finally:
        process.communicate()
