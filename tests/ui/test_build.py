"""The files of the page that are committed are those that its sources give, so that a wheel needs no Node.js."""

import gzip
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from browser import MODULES

PACKAGES = Path(__file__).resolve().parents[2] / "packages"
STATIC = PACKAGES / "alma-server" / "src" / "alma_server" / "static"
MOST_PACKED, MOST = 120_000, 250_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the files that the sources give, in a workspace of its own."""
    if shutil.which("node") is None or not MODULES.is_dir():
        pytest.skip("node, or the packages of the page, are not installed")
    packages = tmp_path_factory.mktemp("packages")
    sources = packages / "alma-server" / "ui"
    shutil.copytree(MODULES.parent, sources, ignore=shutil.ignore_patterns("node_modules"))
    (sources / "node_modules").symlink_to(MODULES)
    shutil.copytree(
        PACKAGES / "alma-memory-js", packages / "alma-memory-js", ignore=shutil.ignore_patterns("node_modules", "dist", "test")
    )
    subprocess.run(["node", "build.mjs"], cwd=sources, check=True)
    return packages / "alma-server" / "src" / "alma_server" / "static"


def digests(folder: Path) -> dict[str, str]:
    """Digest of each file by its name: pytest would explain for minutes how two files of 100 kB differ."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def test_the_sources_give_the_committed_files_byte_for_byte(built: Path) -> None:
    assert digests(built) == digests(STATIC), "npm run build --prefix packages/alma-server/ui"


def test_the_first_view_is_small() -> None:
    contents = [file.read_bytes() for file in STATIC.iterdir()]
    assert sum(map(len, contents)) <= MOST
    assert sum(len(gzip.compress(content, mtime=0)) for content in contents) <= MOST_PACKED


def test_names_change_with_contents_and_addresses_are_relative() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page)
    assert {f"./{file.name}" for file in STATIC.iterdir() if file.name != "index.html"} == set(named)
    assert all(re.fullmatch(r"\./\w+-[0-9a-f]{12}\.(js|css)", each) for each in named)
