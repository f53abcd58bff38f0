"""The files of deploy/: an image, units of systemd, a dashboard. What each names is there, and what it promises holds."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from alma_access import Access, TokenFile
from alma_server.command import _parser, read_options
from api_processes import serving
from confined import confine, read_service
from mcp_servers import HttpServer, answer, make_project

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
LEARNED = {"agent": "helena", "task": "Test the login form", "outcome": "success", "strategy_used": "Empty fields first"}
UNITS = [DEPLOY / "alma.service", DEPLOY / "alma-mcp.service"]


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    begins = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    return found[begins:]


def only(name: str) -> str:
    (value,) = [value for each, value in last_stage() if each == name]
    return value


def test_the_image_is_without_complaint_of_its_linter() -> None:
    linter = shutil.which("hadolint", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if linter is None:
        pytest.skip("hadolint is not installed: it has no wheel for every system")
    linted = subprocess.run([linter, str(DEPLOY / "Dockerfile")], capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_image_runs_as_nobody_special_and_writes_to_its_volume_alone() -> None:
    names = [name for name, _ in last_stage()]

    assert only("USER") == "10001:10001"
    assert names.index("USER") > max(number for number, name in enumerate(names) if name in ("RUN", "COPY"))
    assert only("VOLUME") == only("WORKDIR") == "/var/lib/alma"
    assert not any(name == "ADD" for name, _ in instructions())
    assert [value for name, value in last_stage() if name == "COPY"] == ["--from=build /opt/alma /opt/alma"]


def test_what_the_image_takes_from_the_clone_is_there_and_not_ignored() -> None:
    taken = [value.split()[:-1] for name, value in instructions() if name == "COPY" and "--from" not in value]
    admitted = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}

    for source in (each for sources in taken for each in sources):
        assert (ROOT / source).exists()
        assert source in admitted


def test_the_command_of_the_image_is_one_of_the_server(tmp_path: Path) -> None:
    words = [*json.loads(only("ENTRYPOINT")), *json.loads(only("CMD"))]
    assert words[:2] == ["alma", "serve"]

    given = _parser("alma serve").parse_args([*words[2:], "--config", str(make_project(tmp_path))])
    assert read_options(given).block.host == "0.0.0.0"
    assert only("EXPOSE") == str(read_options(given).block.port)


@pytest.mark.slow
def test_the_health_check_of_the_image_says_whether_the_server_is_ready(tmp_path: Path) -> None:
    check = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
    with serving(tmp_path) as server:
        own = [sys.executable, *(word.replace("http://127.0.0.1:8765", server.address) for word in check[1:])]
        assert own[1:] != check[1:]
        assert subprocess.run(own, capture_output=True).returncode == 0
        server.stop()
        assert subprocess.run(own, capture_output=True).returncode != 0


@pytest.mark.slow
def test_the_steps_that_build_the_image_install_the_server_with_all_that_it_serves(tmp_path: Path) -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    (step,) = [value for name, value in instructions() if name == "RUN" and value.startswith("uv sync")]
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".venv")
    shutil.copytree(ROOT / "packages", source / "packages", ignore=ignored)
    for name in ("pyproject.toml", "uv.lock", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(tmp_path / "made"), "UV_PYTHON": sys.executable, "UV_OFFLINE": "1"}
    command = [uv, *shlex.split(step)[1:]]
    synced = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    if "offline" in synced.stderr.lower():
        pytest.skip("the packages of the image are not in the cache of uv")
    assert synced.returncode == 0, synced.stderr
    shutil.rmtree(source)
    modules = "alma_cli, alma_server, alma_mcp, alma_minilm, alma_postgres, prometheus_client"
    python = tmp_path / "made" / "bin" / "python"
    subprocess.run([python, "-c", f"import {modules}"], check=True)
    subprocess.run([python.with_name("alma"), "serve", "--help"], check=True, capture_output=True)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_a_unit_and_finds_it_hardly_exposed(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/alma/bin/alma", sys.executable))
    verified = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(copy)], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout


def test_both_units_confine_alike() -> None:
    api, mcp = map(read_service, UNITS)
    differ = {"ExecStart", "LimitNOFILE", "IPAddressDeny", "IPAddressAllow"}

    assert {key: value for key, value in api.items() if key not in differ} == {
        key: value for key, value in mcp.items() if key not in differ
    }
    assert api["ProtectSystem"] == ["strict"]
    assert api["StateDirectoryMode"] == ["0700"]


async def learn_over_mcp(server: HttpServer, secret: str) -> str:
    async with server.client(secret) as client:
        return str(answer(await client.call_tool("alma_learn", LEARNED))["id"])


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_confined_server_serves_and_writes_to_its_own_folder_alone(unit: Path, tmp_path: Path) -> None:
    config = make_project(tmp_path)
    secret = TokenFile(config.parent).add("all", Access())
    (line,) = read_service(unit)["ExecStart"]
    words = shlex.split(line)[1:]
    options = [word.replace("/etc/alma/config.yaml", str(config)) for word in words]
    command = confine(tmp_path, sys.executable, "-m", "alma", *options, "--port", "0", visible=(ROOT,))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr is not None
        address = next(line for line in process.stderr if "listening on " in line).partition("listening on ")[2].strip()
        server = HttpServer(process, f"{address.removesuffix('/mcp')}/mcp", "")
        assert anyio.run(learn_over_mcp, server, secret)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert (config.parent / "alma.db").is_file()
    for forbidden in ("/etc/alma-was-here", "/usr/alma-was-here"):
        tried = subprocess.run(confine(tmp_path, "touch", forbidden), capture_output=True, text=True)
        assert tried.returncode != 0
        assert not Path(forbidden).exists()


@pytest.mark.slow
def test_every_figure_of_the_dashboard_is_one_of_the_server(tmp_path: Path) -> None:
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [variable["query"] for variable in board["templating"]["list"]]
    named = {name for text in asked for name in re.findall(r"\balma_\w+", text)}

    with serving(tmp_path) as server, server.client() as client:
        assert client.post("/v1/projects/shop/learn", json=LEARNED).status_code == 201
        with client.stream("GET", "/v1/projects/shop/events?after=0.0", headers={"Accept": "text/event-stream"}) as stream:
            next(line for line in stream.iter_lines() if line.startswith("data:"))
        time.sleep(0.5)
        shown = client.get("/metrics").text
    given = set(re.findall(r"^(alma_\w+)[ {]", shown, re.MULTILINE))
    assert len(named) >= 9
    assert named - given == set()
    assert not re.search("helena|login|maria", shown)
