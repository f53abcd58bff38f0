"""The files of a project as typed knowledge with file and line. What a changed file said before, and what a file said that is gone, is archived."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alma import AntiPattern, DomainKnowledge, Outcome, UserPreference
from alma.errors import ValidationError
from alma.types import Memory
from alma_agents import documents
from alma_agents.documents import Item
from alma_agents.ignoring import Ignored
from alma_agents.opening import Progress, opened
from alma_agents.reports import IngestReport
from alma_agents.storing import VERSION, Shelf, Source, digest_of
from alma_integration import Verdict, VerdictSource, checked_name, optional_name

if TYPE_CHECKING:
    from alma import ALMA

LARGEST = 1_000_000
"""Bytes of a file that is read."""

_VENDORED = frozenset(
    (".git", ".hg", ".svn", ".jj", ".alma", "node_modules", "bower_components", "vendor", "third_party", ".venv", "venv", "__pycache__", "dist",
     "build", "target", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".idea", ".vscode", ".next", ".terraform", "site-packages")
)  # fmt: skip
_GENERATED = re.compile(r"(^|[.-])lock(\.|$)|\.min\.|\.generated\.|_pb2\.|\.snap$|package-lock|yarn\.lock", re.IGNORECASE)
_MOST_REASONS = 10_000
_CONFIDENCE = 0.8


def ingest_directory(
    path: str | os.PathLike[str],
    agent: str,
    project_id: str | None = None,
    alma: "ALMA | None" = None,
    *,
    user_id: str | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Reads the files of a folder: README and documents by section, decision records, changelogs, conventions, docstrings, marked comments.

    They become knowledge of `agent`, and comments such as FIXME anti-patterns, with `metadata["file"]` and `["line"]`; with a `user_id` the
    conventions of files such as AGENTS.md become preferences of that user. Sentences of documents that state a decision, a convention, a way not to
    take or a milestone outright become that besides; a milestone is an outcome judged "imported". Read again, unchanged files add nothing; what a
    changed file or one that is gone has led to is archived. Links, binary, ignored, vendored and large files are left out, with reasons in
    `skipped`. Without `alma`, the project `project_id` in `.alma` is opened.
    """
    owner, user = checked_name(agent, "agent"), optional_name(user_id, "user_id")
    root = Path(path)
    if not root.is_dir():
        raise ValidationError(f"{path} is not a folder; name the folder of a project")
    with opened(alma, project_id) as memory:
        return _Directory(memory, root.resolve(), owner, user).run(progress)


class _Directory:
    """One reading of a folder."""

    def __init__(self, alma: "ALMA", root: Path, agent: str, user: str | None) -> None:
        self.agent, self.user = agent, user
        self.folder = root
        self.root = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
        self.key = f"path/{digest_of(_origin(self.root) or self.root, agent, user)[:20]}"
        self.shelf = Shelf(alma, user)
        self.report = IngestReport()
        self.seen: set[str] = set()

    def run(self, progress: Progress | None) -> IngestReport:
        """Reads all files and returns what was learned."""
        found = list(self._files())
        for number, (file, name) in enumerate(found):
            self._file(file, name)
            if progress is not None:
                progress(number + 1, len(found))
        self.shelf.flush()
        self._gone()
        self.report.take(self.shelf)
        return self.report

    def _skip(self, name: str, reason: str) -> None:
        if len(self.report.skipped) < _MOST_REASONS:
            self.report.skipped[name] = reason

    def _files(self) -> Iterator[tuple[Path, str]]:
        """Yields the files to read with their names relative to the root."""
        rules = Ignored()
        above = self.folder
        for folder in reversed([above, *above.parents]):
            if folder.is_relative_to(self.root) and folder != self.folder:
                rules = rules.within(self._name(folder), _text_of(folder / ".gitignore"))
        yield from self._within(self.folder, rules)

    def _within(self, folder: Path, rules: Ignored) -> Iterator[tuple[Path, str]]:
        rules = rules.within(self._name(folder), _text_of(folder / ".gitignore"))
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as problem:
            self._skip(self._name(folder), f"cannot be read: {problem.strerror}")
            return
        for entry in entries:
            path, name = Path(entry.path), self._name(Path(entry.path))
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink():
                is_out = not path.resolve().is_relative_to(self.folder)
                self._skip(name, "a symbolic link out of the folder" if is_out else "a symbolic link")
            elif rules.matches(name, is_folder=is_folder):
                self._skip(name, "ignored by Git")
            elif is_folder and entry.name in _VENDORED:
                self._skip(name, "vendored, built or a tool's own")
            elif is_folder:
                yield from self._within(path, rules)
            elif not entry.is_file(follow_symlinks=False):
                self._skip(name, "not a file")
            elif documents.is_known(name):
                yield path, name

    def _name(self, path: Path) -> str:
        name = path.relative_to(self.root).as_posix()
        return "" if name == "." else name

    def _file(self, file: Path, name: str) -> None:
        self.report.files += 1
        if _GENERATED.search(file.name):
            self._skip(name, "generated")
            return
        data = _bytes_of(file)
        if isinstance(data, str):
            self._skip(name, data)
            return
        self.seen.add(name)
        text = data.decode("utf-8-sig", "replace")
        found = documents.items_of(name, text)
        key, facts = f"{self.key}/{digest_of(name)}", {"path": name}
        self.shelf.put(Source(key, name, digest_of(VERSION, text), [self._memory(name, item) for item in found], facts))

    def _memory(self, name: str, item: Item) -> Memory:
        where = f"{name}:{item.line}"
        known: dict[str, Any] = {"agent": self.agent, "confidence": _CONFIDENCE, "metadata": {"file": name, "line": item.line}}
        if item.kind == documents.CONVENTION and self.user:
            return UserPreference(user_id=self.user, category="convention", preference=item.text, source=where, **known)
        if item.kind == documents.WARNING:
            return AntiPattern(pattern=item.text, why_bad=item.why, **known)
        if item.kind == documents.MILESTONE:
            known |= {"outcome": Verdict.SUCCESS, "verdict_source": VerdictSource.IMPORTED}
            return Outcome(task_description=item.text, task_type="milestone", **known)
        return DomainKnowledge(domain=item.domain, fact=item.text, source=where, **known)

    def _gone(self) -> None:
        """Archives what files of this folder led to that are gone, or are left out by now."""
        within = self._name(self.folder)
        for record in self.shelf.records.listed(under=self.key):
            name = str(record.body.get("path"))
            if name not in self.seen and (not within or name.startswith(f"{within}/")):
                self.shelf.remove(record)
                self.report.gone += 1


def _origin(root: Path) -> str:
    """Returns the address that a repository was cloned from, "" if there is none: clones are one source."""
    found = re.search(r'\[remote "origin"\][^\[]*?\n\s*url\s*=\s*(\S+)', _text_of(root / ".git" / "config"))
    return found[1] if found else ""


def _text_of(path: Path) -> str:
    data = _bytes_of(path)
    return "" if isinstance(data, str) else data.decode("utf-8", "replace")


def _bytes_of(path: Path) -> bytes | str:
    """Returns the bytes of a plain file, else the reason why it is left out. Neither follows a link nor waits for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                return "not a file"
            if state.st_size > LARGEST:
                return f"larger than {LARGEST:,} bytes"
            data = file.read(LARGEST + 1)
    except OSError as problem:
        return f"cannot be read: {problem.strerror}"
    return "binary" if b"\0" in data[:8192] else data
