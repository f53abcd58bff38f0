"""Runs the code blocks of one Markdown file, in order, in the current folder: `python run_document.py FILE`.

- A `python` block runs as written; the blocks of a file share one namespace, like the cells of a notebook.
- A `bash` block runs as written if each of its commands is `alma …`; a block without any such command (installing, cloning)
  is left to the reader. A block that mixes the two is an error: split it.
- Other languages are not code to run. A second spelling of the two (`py`, `pycon`, `sh`, `console` …) is an error, so that
  no block escapes by its label.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from offline import block_network

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[^\s`]*)[^\n]*\n(?P<body>.*?)^ *(?P=fence) *$", re.MULTILINE | re.DOTALL
)
_OTHER_SPELLINGS = {"py", "python3", "pycon", "ipython", "sh", "shell", "zsh", "console", "shell-session"}


class DocumentError(Exception):
    """A block that is written in a way that this runner does not allow."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language in lower case, its text, and the line of the document on which the text begins."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        """The command lines of a `bash` block: no comments, no blank or continued lines."""
        joined = self.text.replace("\\\n", " ")
        return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]

    @property
    def runs(self) -> bool:
        """Returns True when this block is executed."""
        if self.language in _OTHER_SPELLINGS:
            raise DocumentError(f"line {self.line}: label the block `python` or `bash`, not {self.language!r}")
        if self.language == "bash":
            return self._is_about_alma()
        return self.language == "python"

    def _is_about_alma(self) -> bool:
        ours = [command == "alma" or command.startswith("alma ") for command in self.commands]
        if any(ours) and not all(ours):
            raise DocumentError(f"line {self.line}: a bash block mixes `alma` with other commands; split it in two")
        return any(ours)


def blocks(document: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, in order."""
    for match in _FENCE.finditer(document):
        indent = len(match["indent"])
        lines = [line[indent:] if line[:indent].isspace() else line for line in match["body"].splitlines(keepends=True)]
        yield Block(match["language"].lower(), "".join(lines), document.count("\n", 0, match.start("body")) + 1)


def run(document: Path) -> int:
    """Executes the runnable blocks and returns how many there were. Tracebacks show the document's own lines."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    runnable = [block for block in blocks(document.read_text(encoding="utf-8")) if block.runs]
    for block in runnable:
        print(f"--- {document.name}, line {block.line} ({block.language})", flush=True)
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(document), "exec"), namespace)
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], check=True)
    return len(runnable)


if __name__ == "__main__":
    block_network()
    run(Path(sys.argv[1]))
