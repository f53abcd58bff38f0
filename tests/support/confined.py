"""A command under the restrictions of a unit of systemd, as far as bubblewrap has them: file system, devices, processes, rights."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = ("/home", "/root", "/tmp", "/var/tmp")


def read_service(unit: Path) -> dict[str, list[str]]:
    """Returns the settings of a unit's section `Service`, each with all its values."""
    text = unit.read_text(encoding="utf-8").partition("[Service]\n")[2].partition("\n[")[0]
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def confine(state: Path, *command: str, visible: tuple[Path, ...] = ()) -> list[str]:
    """Returns a command that runs another with everything read-only but `state`, without devices, other processes and rights.

    The home folders and /tmp are empty but for the programs that this process runs from and what is `visible`. Skips without bubblewrap.
    """
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    bare = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--uid", "10001", "--gid", "10001", "--cap-drop", "ALL"]
    if subprocess.run([*bare, "true"], capture_output=True).returncode:
        pytest.skip("bubblewrap may not make namespaces here")
    hidden = [part for folder in HIDDEN if os.path.isdir(folder) for part in ("--tmpfs", folder)]
    programs = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parents[2], *visible]
    shown = [part for path in programs for part in ("--ro-bind", str(path), str(path))]
    own = ["--dev", "/dev", "--proc", "/proc", "--bind", str(state), str(state), "--chdir", str(state)]
    apart = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--die-with-parent"]
    return [*bare, *hidden, *shown, *own, *apart, "--", *command]
