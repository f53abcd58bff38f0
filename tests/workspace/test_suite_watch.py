"""`--every-suite-runs` fails a run in which a suite collected nothing, was skipped whole or failed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PASSES = "def test_it(): pass\n"
FAILS = "def test_it(): assert False\n"
SKIPS = "import pytest\n\n@pytest.mark.skip\ndef test_it(): pass\n"
SKIPS_WHOLE = "import pytest\n\npytest.importorskip('no_such_module')\n\ndef test_it(): pass\n"
FAILS_AS_EXPECTED = "import pytest\n\n@pytest.mark.xfail\ndef test_it(): assert False\n"
BREAKS_BEFORE = "import pytest\n\n@pytest.fixture\ndef broken(): raise OSError\n\ndef test_it(broken): pass\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests/conftest.py")
    shutil.copytree(TESTS / "support", tmp_path / "tests/support")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests/support\naddopts = --import-mode=importlib\n")
    return tmp_path


def run(workspace: Path, *options: str, **suites: str) -> subprocess.CompletedProcess[str]:
    """Runs suites of one file each; a suite without text is an empty folder."""
    for name, text in suites.items():
        (workspace / "tests" / name).mkdir()
        if text:
            (workspace / "tests" / name / "test_it.py").write_text(text)
    paths = [f"tests/{name}" for name in suites]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *paths],
        cwd=workspace,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_run_in_which_every_suite_ran_passes(workspace: Path) -> None:
    done = run(workspace, "--every-suite-runs", one=PASSES, two=PASSES)
    assert done.returncode == 0
    assert "2 passed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("idle", ["", SKIPS, SKIPS_WHOLE, FAILS_AS_EXPECTED])
def test_one_idle_suite_beside_a_good_one_fails_the_run_by_name(workspace: Path, idle: str) -> None:
    done = run(workspace, "--every-suite-runs", good=PASSES, idle=idle)
    assert done.returncode == 1
    assert f"IDLE SUITE: {workspace / 'tests/idle'} " in done.stdout
    assert f"IDLE SUITE: {workspace / 'tests/good'} " not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("idle", ["", SKIPS_WHOLE])
def test_a_run_of_nothing_but_an_idle_suite_fails(workspace: Path, idle: str) -> None:
    assert run(workspace, "--every-suite-runs", idle=idle).returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("bad", [FAILS, BREAKS_BEFORE])
def test_a_failed_suite_fails_the_run(workspace: Path, bad: str) -> None:
    assert run(workspace, "--every-suite-runs", good=PASSES, bad=bad).returncode == 1


@pytest.mark.slow
def test_a_suite_that_is_not_there_fails_the_run(workspace: Path) -> None:
    assert run(workspace, "--every-suite-runs", "tests/missing", good=PASSES).returncode != 0


@pytest.mark.slow
def test_files_of_one_name_in_two_suites_are_both_run(workspace: Path) -> None:
    assert "1 failed, 1 passed" in run(workspace, good=PASSES, bad=FAILS).stdout


@pytest.mark.slow
def test_the_quick_loop_lets_a_skipped_suite_pass(workspace: Path) -> None:
    assert run(workspace, good=PASSES, idle=SKIPS_WHOLE).returncode == 0
