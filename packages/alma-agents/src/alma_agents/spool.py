"""The spool: one file a session, to which hooks append and from which the learner takes. Files are their owner's alone."""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: appends are still whole, only taking is not guarded
    fcntl = None  # type: ignore[assignment]

STALE = 12 * 3600
"""A spool that was not written for this many seconds is of a session that ended without saying so."""

_LONGEST = 4_000
_WRITTEN = ("tool_output", "toolArgs")
"""Keys under which Cursor and Copilot CLI give a text of JSON."""
_LONGEST_MARK = 200
_BRIEFLY = 0.02
_LARGEST_CONFIG = 1_000_000
_LARGEST_LINK = 10_000
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A repository may bring a link or a pipe under any name: neither is followed nor waited for."""

_SPOOL = re.compile(r"[0-9a-f]{32}\.jsonl(\.[0-9]+\.taking)?")
_ENCRYPTION = re.compile(r"^[^#\n]*\bencryption[\"']?\s*:", re.MULTILINE)


def folder_for(cwd: str) -> str:
    """Returns the folder for hooks beside the nearest memory: `.alma/agents` in `cwd` or above, else in the checkout that a worktree belongs to,
    else in the home; "" without a memory."""
    here = os.path.abspath(cwd or os.getcwd())
    home = os.path.expanduser("~")
    while True:
        if os.path.isfile(os.path.join(here, ".alma", "config.yaml")):
            return os.path.join(here, ".alma", "agents")
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    for place in (main_of(root_of(cwd)), home):
        if os.path.isfile(os.path.join(place, ".alma", "config.yaml")):
            return os.path.join(place, ".alma", "agents")
    return ""


def is_sealed(folder: str) -> bool:
    """Returns True beside an encrypted memory, or one whose configuration cannot be read: nothing may then be kept in plain text."""
    try:
        text = small_text(os.path.join(os.path.dirname(folder), "config.yaml"), _LARGEST_CONFIG)
        return text is None or _ENCRYPTION.search(text) is not None
    except (OSError, ValueError):
        return True


def small_text(path: str, most: int) -> str | None:
    """Returns the text of a file of at most `most` bytes, `None` for a larger one. `OSError` for a link, `ValueError` for no UTF-8."""
    with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
        data = file.read(most + 1) if os.fstat(file.fileno()).st_size <= most else b"x" * (most + 1)
    return None if len(data) > most else data.decode("utf-8")


def touch(path: str) -> None:
    """Makes a file, or notes the time at it. `OSError` for a link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _NO_LINK, 0o600)
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replaced(path: str) -> Iterator[IO[str]]:
    """Yields a new file, its owner's alone, that takes the place of what is at a path when the block ends. No link is followed."""
    draft = f"{path}.{os.getpid()}.new"
    if os.path.lexists(draft):
        os.unlink(draft)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        yield file
    os.replace(draft, path)


def is_own(folder: str) -> bool:
    """Returns False for a folder of hooks that leads elsewhere: what lies there is not ALMA's to take."""
    return not os.path.islink(folder) and not os.path.islink(os.path.join(folder, "spool"))


def spools(folder: str) -> list[str]:
    """Returns the files of sessions, and nothing else that may lie beside them."""
    place = os.path.join(folder, "spool")
    if not is_own(folder) or not os.path.isdir(place):
        return []
    with os.scandir(place) as found:
        return sorted(each.path for each in found if _SPOOL.fullmatch(each.name) and each.is_file(follow_symlinks=False))


def root_of(cwd: str) -> str:
    """Returns the root of the Git repository that holds a folder, else the folder."""
    here = os.path.abspath(cwd or os.getcwd())
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return os.path.abspath(cwd or os.getcwd())
        here = above
    return here


def repository_of(cwd: str) -> str:
    """Returns the root of the Git repository that holds a folder, "" if there is none."""
    root = root_of(cwd) if cwd else ""
    return root if root and os.path.exists(os.path.join(root, ".git")) else ""


def main_of(root: str) -> str:
    """Returns the checkout that a linked worktree of Git belongs to, else the root itself. Git must say so on both sides."""
    link = os.path.join(root, ".git")
    try:
        if os.path.isdir(link):
            return root
        place = os.path.join(root, (small_text(link, _LARGEST_LINK) or "").removeprefix("gitdir:").strip())
        back = os.path.join(place, (small_text(os.path.join(place, "gitdir"), _LARGEST_LINK) or "").strip())
    except (OSError, ValueError):
        return root
    above, name = os.path.split(os.path.dirname(os.path.normpath(place)))
    is_linked = name == "worktrees" and os.path.basename(above) == ".git" and os.path.realpath(back) == os.path.realpath(link)
    return os.path.dirname(above) if is_linked else root


def project_of(folder: str, cwd: str) -> str:
    """Returns the project of a repository in the memory of the home; "" where the memory is the repository's own. Worktrees share theirs."""
    if folder != os.path.join(os.path.expanduser("~"), ".alma", "agents"):
        return ""
    root = main_of(root_of(cwd))
    return f"{os.path.basename(root) or 'root'}-{hashlib.sha256(root.encode('utf-8', 'replace')).hexdigest()[:8]}"


def file_of(folder: str, session: str) -> str:
    """Returns the spool of a session. Its name is a digest, for ids are data."""
    return os.path.join(folder, "spool", f"{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}.jsonl")


def append(folder: str, session: str, record: dict[str, Any]) -> None:
    """Appends a record in one write, safe beside other writers and a learner that takes the file meanwhile."""
    append_to(file_of(folder, session), record)


def append_to(path: str, record: dict[str, Any]) -> None:
    """Appends a record to the spool at a path."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    line = json.dumps({"at": time.time(), **_cut(record)}).encode() + b"\n"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                try:
                    if os.stat(path).st_ino != os.fstat(descriptor).st_ino:
                        continue  # a learner took the file between opening and locking
                except FileNotFoundError:
                    continue
            _write(descriptor, line)
            return
        finally:
            os.close(descriptor)


def _write(descriptor: int, line: bytes) -> None:
    """Writes a whole line or none. A writer that was killed may have left the beginning of one: that ends here."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if size:
        os.lseek(descriptor, size - 1, os.SEEK_SET)
        line = line if os.read(descriptor, 1) == b"\n" else b"\n" + line
    if os.write(descriptor, line) != len(line):
        os.ftruncate(descriptor, size)
        raise OSError("the disk is full")


def _cut(value: Any, depth: int = 0) -> Any:
    """Returns a value with long texts cut in the middle: exit codes stand at the beginning or the end."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[: _LONGEST // 2]}\n…\n{value[-_LONGEST // 2 :]}"
    if depth > 6:
        return None
    if isinstance(value, dict):
        return {key: _cut(_open_json(each) if key in _WRITTEN else each, depth + 1) for key, each in list(value.items())[:200]}
    return [_cut(each, depth + 1) for each in value[:200]] if isinstance(value, list) else value


def _open_json(value: Any) -> Any:
    """Returns what a text of JSON holds, so that cutting its texts leaves the exit code; any other value as it is."""
    with suppress(ValueError, TypeError):
        return json.loads(value)
    return value


def read(path: str) -> list[dict[str, Any]]:
    """Returns the records of a file. Torn lines are left out."""
    try:
        with open(path, "rb") as file:
            return list(_records(file.read()))
    except OSError:
        return []


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def has_news(path: str) -> bool:
    """Returns True where something was spooled of a session since it was last learned; False for one that is gone."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _LONGEST_MARK, 0))
            last = file.read(_LONGEST_MARK).removesuffix(b"\n").rpartition(b"\n")[2]
    except OSError:  # a learner took it meanwhile
        return False
    return next(_records(last), {}).get("learned") != size - len(last) - 1


def of_session(folder: str, session: str) -> list[dict[str, Any]]:
    """Returns what is spooled of a session."""
    return read(file_of(folder, session))


@contextmanager
def taken(path: str) -> Iterator[list[dict[str, Any]]]:
    """Yields the records of a spool and removes it when the block ends without an error. No record of a concurrent writer is lost."""
    held = path if path.endswith(".taking") else f"{path}.{os.getpid()}.taking"
    if held != path:
        os.rename(path, held)
    with open(held, "rb") as file:
        if fcntl is not None:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        yield list(_records(file.read()))
    os.unlink(held)


@contextmanager
def noted(path: str) -> Iterator[list[dict[str, Any]]]:
    """Yields the records of a session that may go on, and marks the spool as learned so far when the block ends without an error."""
    size = os.path.getsize(path)
    yield read(path)
    append_to(path, {"learned": size})


@contextmanager
def only_learner(folder: str) -> Iterator[bool]:
    """Yields True while this process is the only learner of a folder, False if another is at work."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = os.open(os.path.join(folder, "learner.lock"), os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    try:
        yield _lock(descriptor) or _lock(descriptor, after=_BRIEFLY)  # a hook that asks whether it is idle has it for a moment
    finally:
        os.close(descriptor)


def is_idle(folder: str) -> bool:
    """Returns True while no learner of a folder is at work, False also where none can be."""
    with suppress(OSError), only_learner(folder) as is_alone:
        return is_alone
    return False


def _lock(descriptor: int, *, after: float = 0.0) -> bool:
    time.sleep(after)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
