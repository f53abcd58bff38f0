"""The runner of documents runs what it should and refuses what would slip through."""

import subprocess
import sys
from pathlib import Path

import pytest

import run_document
from run_document import DocumentError, blocks

RUNNER = Path(run_document.__file__)


def run_text(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    document = folder / "page.md"
    document.write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, str(RUNNER), str(document)], cwd=folder, capture_output=True, text=True)


def only_block(text: str):
    (block,) = blocks(text)
    return block


def test_python_blocks_share_one_namespace_in_order(tmp_path: Path) -> None:
    done = run_text("```python\nx = 20\n```\nthen\n```python\nprint(x + 1)\n```\n", tmp_path)
    assert done.returncode == 0
    assert "21" in done.stdout.splitlines()


def test_an_error_in_a_block_fails_and_shows_the_line_of_the_document(tmp_path: Path) -> None:
    done = run_text("# Title\n\n```python\nx = 1\nx / 0\n```\n", tmp_path)
    assert done.returncode != 0
    assert "page.md" in done.stderr
    assert "line 5" in done.stderr


def test_a_block_cannot_reach_the_network(tmp_path: Path) -> None:
    done = run_text('```python\nimport socket\nsocket.create_connection(("192.0.2.1", 80), timeout=1)\n```\n', tmp_path)
    assert "NetworkBlockedError" in done.stderr


def test_a_failing_alma_command_fails_the_document(tmp_path: Path) -> None:
    assert run_text("```bash\nalma no-such-command-at-all\n```\n", tmp_path).returncode != 0


def test_a_bash_block_of_alma_commands_runs() -> None:
    assert only_block('```bash\n# first\nalma init\nalma learn --agent dev \\\n  --task "x"\n```\n').runs


@pytest.mark.parametrize("text", ["pip install alma-core", "python -m uv run alma demo", "git clone URL\ncd alma"])
def test_a_bash_block_without_alma_commands_is_left_to_the_reader(text: str) -> None:
    assert not only_block(f"```bash\n{text}\n```\n").runs


def test_a_bash_block_that_mixes_alma_with_other_commands_is_refused() -> None:
    with pytest.raises(DocumentError, match="split it"):
        _ = only_block("```bash\npip install alma-core\nalma init\n```\n").runs


@pytest.mark.parametrize("language", ["py", "pycon", "console", "sh"])
def test_a_second_spelling_of_a_language_is_refused(language: str) -> None:
    with pytest.raises(DocumentError, match=language):
        _ = only_block(f"```{language}\nx\n```\n").runs


def test_an_indented_block_is_read_without_its_indent() -> None:
    block = only_block("1. Do\n\n   ```python\n   if True:\n       x = 1\n   ```\n")
    assert block.text == "if True:\n    x = 1\n"
    assert block.line == 4


def test_other_languages_do_not_run() -> None:
    assert [block.runs for block in blocks("```yaml\na: 1\n```\n\n```\nplain\n```\n")] == [False, False]
