"""Keeps temporary files in memory: what the tests prove needs no disk, and much of their time would be spent waiting for one."""

import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path("/dev/shm")
ROOM = 4 * 2**30


def keep_temporary_files_in_memory() -> None:
    """For this process and those that it starts, where Linux has the room. A `TMPDIR` that is set stays."""
    if "TMPDIR" not in os.environ and FOLDER.is_dir() and os.access(FOLDER, os.W_OK) and _runs_programs() and _has_room():
        os.environ["TMPDIR"] = str(FOLDER)
        tempfile.tempdir = None  # read from the environment anew


def _runs_programs() -> bool:
    """Containers often forbid it there; some tests start programs that they have written."""
    return not os.statvfs(FOLDER).f_flag & os.ST_NOEXEC


def _has_room() -> bool:
    return shutil.disk_usage(FOLDER).free >= ROOM
