"""A server of more projects than it keeps open."""

import gc
import tracemalloc
from pathlib import Path

import pytest

from alma_server import ServerSettings
from api_serving import running_app

PROJECTS = [f"project {number}" for number in range(5)]


def test_projects_that_come_and_go_keep_all_they_have(tmp_path: Path) -> None:
    with running_app(tmp_path, settings=ServerSettings(open_projects=2)) as served:
        client = served.client()
        for turn in range(3):
            for name in PROJECTS:
                body = {"agent": "helena", "task": f"deploy {name} {turn}", "outcome": "success", "strategy_used": "slowly"}
                assert client.post(f"/v1/projects/{name}/learn", json=body).status_code == 201
                found = client.post(
                    f"/v1/projects/{name}/retrieve", json={"agent": "helena", "task": "deploy", "top_k": 10}
                ).json()
                assert {
                    each["memory"]["task_description"] for each in found["memories"] if each["memory"]["kind"] == "outcome"
                } == {f"deploy {name} {each}" for each in range(turn + 1)}


@pytest.mark.slow
def test_projects_that_are_not_used_take_no_memory(tmp_path: Path) -> None:
    assert memory_of(tmp_path / "few", 1) < memory_of(tmp_path / "all", len(PROJECTS)) * 0.5


def memory_of(folder: Path, most: int) -> int:
    """Returns the bytes that a server takes after it was asked about each project once, beyond those before."""
    folder.mkdir()
    with running_app(folder, settings=ServerSettings(open_projects=most)) as served:
        client = served.client()
        for name in PROJECTS:
            tasks = [{"agent": "helena", "task": f"deploy {name} {number}", "outcome": "success"} for number in range(400)]
            client.post(f"/v1/projects/{name}/learn:batch", json={"items": tasks})
        with running_app(folder, settings=ServerSettings(open_projects=most)) as again:
            client = again.client("again")
            tracemalloc.start()
            for name in PROJECTS:
                assert client.post(f"/v1/projects/{name}/retrieve", json={"agent": "helena", "task": "deploy"}).status_code == 200
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
    return taken
