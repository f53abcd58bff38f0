"""Names of processes, by which another process of the machine sees that one has ended."""

import os
from pathlib import Path

_ENDED = frozenset("ZX")
"""States of a process that was killed and that its parent has not looked at yet."""


def this_process() -> str:
    """Returns the name of this process, which no other one of the machine has, now or later; "" where the system does not tell."""
    return _name_of(os.getpid())


def has_ended(name: str) -> bool:
    """Returns True for a process of this machine, since its last start, that runs no more. False where that cannot be told."""
    machine, _, process = name.partition("/")
    pid = process.partition(".")[0]
    return bool(pid) and machine == _machine() and _name_of(int(pid)) != name


def _name_of(pid: int) -> str:
    """Returns the machine, the process and when it started; "" for a process that has ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    machine = _machine()
    return f"{machine}/{pid}.{rest[18]}" if machine and state not in _ENDED else ""


def _machine() -> str:
    """Returns what tells this machine, its last start and its container from others; "" where the system does not tell."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""
