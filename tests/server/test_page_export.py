"""`alma ui --export`: the page with the answers of the API in one file."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from mcp_servers import make_project


def export(folder: Path, to: Path, code: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "alma", "ui", "-c", str(folder / ".alma" / "config.yaml"), "--export", str(to)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def scripts(folder: Path) -> list[str]:
    page = (folder / "index.html").read_text(encoding="utf-8")
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)


def read(folder: Path) -> dict[str, Any]:
    """The content of a snapshot."""
    data = scripts(folder)[0]
    assert data.startswith("globalThis.ALMA_SNAPSHOT=")
    return dict(json.loads(data.removeprefix("globalThis.ALMA_SNAPSHOT=").removesuffix(";")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with ALMA.from_config(make_project(tmp_path)) as alma:
        for number in range(3):
            for agent in ("helena", "victor"):
                alma.learn(agent, f"Test form {number}", "success", "Empty fields first", task_type="forms")
        alma.add_user_preference("maria", "style", "</script><script>alert(1)</script> Ü\u2028.")
        with alma.episode(agent="helena", task="Deploy the shop") as episode:
            episode.end("unverified")
    return tmp_path


def test_the_answers_are_those_of_the_api(folder: Path, tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from alma_access import Access, TokenFile
    from alma_server.app import create_app

    export(folder, tmp_path / "page")
    found = read(tmp_path / "page")
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        tokens = TokenFile(tmp_path / "tokens")
        bearer = {"Authorization": f"Bearer {tokens.add('all', Access())}"}
        api = TestClient(create_app(alma.for_project, tokens), headers=bearer, base_url="http://127.0.0.1")
        answers = found["answers"]
        for name in ("stats", "kinds", "agents", "users", "timeline", "review?limit=200", "strategies?agent=helena&limit=1000"):
            assert answers[name] == api.get(f"/v1/projects/shop/{name}").json(), name
        listed = api.get("/v1/projects/shop/memories?limit=200").json()["memories"]
        assert answers["memories"]["memories"] == listed
        assert answers["memories"]["total"] == len(listed) == answers["stats"]["total"]
        assert answers["journal"]["records"] == api.get("/v1/projects/shop/journal").json()["records"]
        for memory in listed:
            place = f"memories/{memory['id']}"
            assert answers[f"{place}/provenance"] == api.get(f"/v1/projects/shop/{place}/provenance").json()
            if memory["kind"] == "heuristic":
                behind = answers[f"{place}/evidence"]["outcomes"]
                assert len(behind) == 3
        episode = answers["review?limit=200"]["unjudged"][0]["episode"]
        assert answers[f"episodes/{episode['id']}"] == api.get(f"/v1/projects/shop/episodes/{episode['id']}").json()
    assert found["project"] == "shop"


def test_no_stored_text_ends_the_script_or_is_anything_but_ascii(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "page")
    script = scripts(tmp_path / "page")[0]
    assert "<" not in script
    assert script.isascii()
    preferences = [
        each["preference"] for each in read(tmp_path / "page")["answers"]["memories"]["memories"] if "preference" in each
    ]
    assert preferences == ["</script><script>alert(1)</script> Ü\u2028."]


def test_the_page_is_one_file_that_runs_its_own_scripts_alone_and_asks_nothing(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "page")
    assert [file.name for file in (tmp_path / "page").iterdir()] == ["index.html"]
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1]
    assert "unsafe" not in policy[1]
    assert page.index("Content-Security-Policy") < page.index("<style") < page.index("<script")
    assert page.count("<script") == 2
    for script in scripts(tmp_path / "page"):
        assert b64encode(sha256(script.encode()).digest()).decode() in policy[1]
    assert not re.findall(r'(?:src|href)="(?!data:)', page.partition("<script>")[0])


def test_only_its_owner_may_read_it(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "page")
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "page").iterdir()} == {0o600}


def test_a_former_export_is_written_over_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "page")
    with ALMA.from_config(folder / ".alma" / "config.yaml") as alma:
        alma.learn("helena", "Test the aardvark", "success")
    export(folder, tmp_path / "page")
    assert "aardvark" in (tmp_path / "page" / "index.html").read_text()

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.html").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "page")
    for place in (mine, tmp_path / "file", tmp_path / "link", folder / ".alma"):
        before = sorted(folder.rglob("*"))
        assert export(folder, place, code=2).stderr.startswith("alma: ")
        assert sorted(folder.rglob("*")) == before
    assert (mine / "index.html").read_text() == "mine"
