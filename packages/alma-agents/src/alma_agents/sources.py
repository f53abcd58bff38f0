"""Files and archives as streams: what `alma ingest` reads, and why something is left out."""

import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from alma.errors import ValidationError

_ENDINGS = (".jsonl", ".json", ".zip", ".zst", ".txt", ".md")
_IN_ARCHIVES = (".json", ".jsonl", ".txt", ".md")
_LARGEST_MEMBER = 8 * 1024**3
_EVENT = re.compile(r"event-\d+-.*\.json$")


@dataclass(frozen=True, slots=True)
class File:
    """One stream of bytes: a file, a member of an archive, or a folder of event files that are read one after another."""

    name: str
    size: int
    changed: float
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    group: str = ""
    """The folder of a Slack channel or of OpenHands' events, "" for others."""
    is_named: bool = False
    """True where a person named this very file: then a text that is no chat is worth a word."""


def files(paths: Iterable[Path], skipped: dict[str, str]) -> Iterator[File]:
    """Yields the files in paths, folders and archives, in the order of their names. `ValidationError` for a path that does not exist."""
    for path in paths:
        if not path.exists():
            raise ValidationError(f"{path} does not exist; name a transcript or a folder of transcripts")
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders.sort()
                for name in sorted(names):
                    if name.endswith(_ENDINGS) or (name.startswith("opencode") and name.endswith(".db")):
                        yield from _file(Path(folder, name), skipped, is_named=False)
        else:
            yield from _file(path, skipped, is_named=True)


def _file(path: Path, skipped: dict[str, str], *, is_named: bool) -> Iterator[File]:
    if path.is_symlink() and not is_named:
        skipped[str(path)] = "a symbolic link"
        return
    if not path.is_file():
        skipped[str(path)] = "not a file"
        return
    if path.suffix == ".zip":
        yield from _members(path, skipped)
        return
    state = path.stat()
    group = str(path.parent) if _EVENT.match(path.name) or _DAY.match(path.name) else ""
    if path.suffix == ".zst":
        if (opened := _unpacked(path)) is None:
            skipped[str(path)] = "compressed by Zstandard; install the package zstandard to read it"
        else:
            yield File(str(path), state.st_size, state.st_mtime, opened, is_named=is_named)
        return
    yield File(str(path), state.st_size, state.st_mtime, lambda: path.open("rb"), group, is_named)


_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json$")


def _unpacked(path: Path) -> Callable[[], AbstractContextManager[IO[bytes]]] | None:
    try:
        import zstandard
    except ImportError:
        return None
    return lambda: cast("AbstractContextManager[IO[bytes]]", zstandard.open(path, "rb"))


def _members(path: Path, skipped: dict[str, str]) -> Iterator[File]:
    """Yields the members of an archive. Their names are data: nothing is unpacked."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as problem:
        skipped[str(path)] = f"not an archive: {problem}"
        return
    with archive:
        members = sorted((one for one in archive.infolist() if one.filename.endswith(_IN_ARCHIVES)), key=lambda one: one.filename)
        for one in members:
            name = f"{path}!{one.filename}"
            if one.flag_bits & 1 or one.file_size > _LARGEST_MEMBER:
                skipped[name] = "encrypted" if one.flag_bits & 1 else "too large"
                continue
            folder, _, base = one.filename.rpartition("/")
            group = f"{path}!{folder}" if folder and _DAY.match(base) else ""
            yield File(name, one.file_size, path.stat().st_mtime, _opener(archive, one), group)


def _opener(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    return lambda: cast("AbstractContextManager[IO[Any]]", archive.open(member))


def beside(group: str, name: str) -> bytes:
    """Returns a file of the folder that holds a group's folder, b"" without one, or one of more than 64 MiB."""
    archive, sign, folder = group.rpartition("!")
    try:
        if sign:
            with zipfile.ZipFile(archive) as opened:
                member = opened.getinfo("/".join([*folder.split("/")[:-1], name]))
                return opened.read(member) if member.file_size < _LARGEST_LIST else b""
        path = Path(group).parent / name
        return path.read_bytes() if path.is_file() and not path.is_symlink() and path.stat().st_size < _LARGEST_LIST else b""
    except (OSError, KeyError, zipfile.BadZipFile):
        return b""


_LARGEST_LIST = 64 * 1024 * 1024
