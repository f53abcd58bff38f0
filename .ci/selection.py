"""Chooses the sessions that a change needs, by comparing files with those of the last complete run.

The record of that run, `.ci/complete.json`, holds a digest of every file or folder that some session depends on. It needs no history: a clone, a
merge and a rewritten branch give the same answer. A path whose digest differs is a changed path. A session depends on the paths that it is *about*
(a package, its suite, its page), on what is *below* it (packages that its environment installs, by their `pyproject.toml` files, and files that it
reads), and on `SHARED`.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path(".ci", "complete.json")
SHARED = ("noxfile.py", "pyproject.toml", "uv.lock", ".ci/selection.py", "tests/conftest.py", "tests/support")
"""Paths that every session depends on."""

MOST_WHOLE = 3
"""Sessions that may run as a whole though they have contracts. More would take a change through all packages beyond 15 minutes on two processors
(28 November 2026, `nox -s langchain` in one worker: 144 seconds of tests, of which its contracts are 23)."""

MADE = frozenset({"__pycache__", "dist", "node_modules"})
"""Folders that sessions write into a package."""

_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[([\w\s,.-]*)\])?")


class Extent(IntEnum):
    """How much of a session is run."""

    NOTHING = 0
    CONTRACTS = 1
    WHOLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session depends on, and how much of it a change needs."""

    about: tuple[str, ...]
    """Files and folders, from the root of the workspace."""

    installs: tuple[str, ...] = ()
    """Requirements, such as `alma-core[otel]`. The packages of the workspace that they need are below the session."""

    reads: tuple[str, ...] = ()
    """Other files and folders below it."""

    own: Extent = Extent.WHOLE
    """For a change in what it is about."""

    below: Extent = Extent.WHOLE
    """For a change below it."""

    always: bool = False


class Choice(NamedTuple):
    """How much of a session to run, and why."""

    session: str
    extent: Extent
    reason: str


class Record(NamedTuple):
    """What the last complete run ran, on which files."""

    sessions: frozenset[str]
    digests: Mapping[str, str]


def choose(
    sessions: Mapping[str, Session], projects: Mapping[str, dict[str, Any]], digests: Mapping[str, str], record: Record
) -> list[Choice]:
    """Returns a choice for each session, in order. `digests` has those of all `inputs`."""
    changed = {path for path, digest in digests.items() if record.digests.get(path) != digest}
    choices = [_choose_one(name, session, projects, changed, record) for name, session in sessions.items()]
    long = {each.session for each in choices if each.extent > sessions[each.session].below == Extent.CONTRACTS}
    if len(long) <= MOST_WHOLE:
        return choices
    return [_shorten(choice, len(long)) if choice.session in long else choice for choice in choices]


def not_recorded(
    sessions: Mapping[str, Session], projects: Mapping[str, dict[str, Any]], digests: Mapping[str, str], record: Record
) -> list[str]:
    """Returns the sessions that no complete run has had on these files, in order."""
    changed = {path for path, digest in digests.items() if record.digests.get(path) != digest}
    needed = {name: {*session.about, *paths_below(session, projects)} for name, session in sessions.items()}
    return [name for name in sessions if sessions[name].always or name not in record.sessions or changed & needed[name]]


def _shorten(choice: Choice, count: int) -> Choice:
    """Returns the choice of the contracts, where too many sessions would run as a whole."""
    return Choice(choice.session, Extent.CONTRACTS, f"{choice.reason}; one of {count}, so its whole waits for a complete run")


def _choose_one(name: str, session: Session, projects: Mapping[str, dict[str, Any]], changed: set[str], record: Record) -> Choice:
    if session.always:
        return Choice(name, Extent.WHOLE, "always runs")
    if name not in record.sessions:
        return Choice(name, session.own, "no complete run has had it")
    if own := changed.intersection(session.about):
        return Choice(name, session.own, f"changed: {_list(own)}")
    if below := changed.intersection(paths_below(session, projects)):
        return Choice(name, session.below, f"changed below it: {_list(below)}")
    return Choice(name, Extent.NOTHING, "nothing that it depends on has changed")


def _list(paths: Iterable[str]) -> str:
    return ", ".join(sorted(paths))


def inputs(sessions: Iterable[Session], projects: Mapping[str, dict[str, Any]]) -> list[str]:
    """Returns the paths that sessions depend on."""
    return sorted({path for session in sessions for path in (*session.about, *paths_below(session, projects))})


def paths_below(session: Session, projects: Mapping[str, dict[str, Any]]) -> set[str]:
    """Returns the packages that a session stands on, and what else it reads."""
    packages = {f"packages/{name}" for name in closure(session.installs, projects)}
    return {*packages, *session.reads, *SHARED}.difference(session.about)


def closure(requirements: Iterable[str], projects: Mapping[str, dict[str, Any]], *, has_groups: bool = True) -> list[str]:
    """Returns the packages of the workspace that requirements install, with or without the dependency groups of the required ones."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = list(requirements)
    if has_groups:
        waiting += [
            need for each in waiting if (project := projects.get(read_requirement(each)[0])) for need in _read_groups(project)
        ]
    while waiting:
        requirement = waiting.pop()
        name, extras = read_requirement(requirement)
        if name in projects and requirement not in seen:
            seen.add(requirement)
            found.add(name)
            waiting.extend(_read_dependencies(projects[name], extras))
    return sorted(found)


def read_requirement(requirement: str) -> tuple[str, list[str]]:
    """Returns the name and the extras of a requirement."""
    found = _REQUIREMENT.match(requirement)
    if found is None:
        raise ValueError(f"not a requirement: {requirement!r}")
    return found[1], re.findall(r"[\w.-]+", found[2] or "")


def _read_groups(project: dict[str, Any]) -> Iterator[str]:
    for group in project.get("dependency-groups", {}).values():
        yield from (each for each in group if isinstance(each, str))


def _read_dependencies(project: dict[str, Any], extras: list[str]) -> Iterator[str]:
    yield from project["project"].get("dependencies", [])
    for extra in extras:
        yield from project["project"].get("optional-dependencies", {}).get(extra, [])


def read_projects(root: Path) -> dict[str, dict[str, Any]]:
    """Reads the `pyproject.toml` of every package, by its name."""
    files = sorted(root.glob("packages/*/pyproject.toml"))
    return {path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in files}


def take_digest(path: Path) -> str:
    """Returns a digest of a file, or of the names and contents in a folder but for hidden ones and those that sessions make."""
    digest = hashlib.sha256()
    for file in sorted(_list_files(path)):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(path).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _list_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for each in path.iterdir():
        if not each.name.startswith(".") and each.name not in MADE:
            yield from _list_files(each)


def take_digests(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Returns the digests of files and folders."""
    return {path: take_digest(root / path) for path in paths}


def read_record(root: Path) -> Record:
    """Reads what the last complete run recorded; without a record nothing has been run."""
    try:
        record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Record(frozenset(), {})
    return Record(frozenset(record["sessions"]), record["digests"])


def write_record(root: Path, record: Record) -> None:
    """Keeps what a complete run ran."""
    text = json.dumps({"sessions": sorted(record.sessions), "digests": record.digests}, indent=2, sort_keys=True)
    (root / RECORD).write_text(f"{text}\n", encoding="utf-8")
