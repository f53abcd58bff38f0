"""Another Python process that takes one line and answers with one, so that two processes keep step without waiting."""

import subprocess
import sys
from types import TracebackType
from typing import Self

_LOOP = """
import sys
for line in sys.stdin:
    try:
        value = eval(line)
    except Exception as error:
        value = f"{type(error).__name__}: {error}"
    print(repr(value), flush=True)
"""


class OtherProcess:
    """Runs `setup` first, then evaluates one expression at a time. What comes back is the text of the value."""

    def __init__(self, setup: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", setup + _LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()

    def ask(self, expression: str) -> str:
        """The value of the expression over there, as `repr` writes it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{expression}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def kill(self) -> None:
        """Ends it at once, without a chance to tidy up."""
        self._process.kill()
        self._process.wait()
