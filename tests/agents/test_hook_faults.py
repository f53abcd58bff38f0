"""The hook cannot hurt: whatever it is sent and however the machine fails, it ends with 0, says nothing wrong, and keeps what it acknowledged."""

import copy
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alma import ALMA
from alma_agents import index, learning, spool
from alma_agents.learning import learn_spools

HOOK = [sys.executable, "-P", "-m", "alma_agents", "hook"]
PAYLOADS: dict[str, dict[str, Any]] = {
    "claude-code": {
        "session_id": "s", "cwd": "{cwd}", "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": {"command": "pytest"}, "error": "Exit code 1\nModuleNotFoundError: No module named 'flask'", "is_interrupt": False,
    },
    "codex": {
        "session_id": "s", "turn_id": "1", "cwd": "{cwd}", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "k",
        "tool_input": {"command": ["bash", "-lc", "make"]}, "tool_response": "out", "transcript_path": "/nowhere.jsonl",
    },
    "gemini": {
        "session_id": "s", "cwd": "{cwd}", "hook_event_name": "AfterTool", "tool_name": "run_shell_command",
        "tool_input": {"command": "npm test"}, "tool_response": {"llmContent": "1 failing\nExit Code: 1", "returnDisplay": "x"},
    },
    "cursor": {
        "conversation_id": "s", "cursor_version": "3.1", "workspace_roots": ["{cwd}"], "hook_event_name": "postToolUse", "tool_name": "Shell",
        "tool_input": {"command": "npm test"}, "tool_output": '{"output": "x", "exitCode": 1}', "tool_use_id": "t",
    },
    "copilot": {
        "sessionId": "s", "cwd": "{cwd}", "toolName": "bash", "toolArgs": '{"command": "npm test"}',
        "toolResult": {"resultType": "success", "textResultForLlm": "x\n<exited with exit code 1>"},
    },
    "openhands": {
        "session_id": "s", "working_dir": "{cwd}", "event_type": "PostToolUse", "tool_name": "terminal", "tool_input": {"command": "pytest"},
        "tool_response": {"command": "pytest", "exit_code": 1, "is_error": False},
    },
    "opencode": {
        "session_id": "s", "cwd": "{cwd}", "hook_event_name": "tool.after", "tool_name": "bash", "tool_input": {"command": "pytest"},
        "tool_use_id": "t", "tool_response": {"output": "x", "exit": 1},
    },
}  # fmt: skip
"""The least of a payload of each host. Where each form is written down stands in `test_hosts_today.py`."""


def folder_of(project: Path) -> str:
    return str(project / ".alma" / "agents")


def drive(data: bytes, host: str, **known: Any) -> str:
    ended = subprocess.run([*HOOK, host], input=data, capture_output=True, check=False, timeout=300, **known)
    assert (ended.returncode, ended.stderr) == (0, b"")
    said = ended.stdout.decode()
    assert said == "" or isinstance(json.loads(said), dict)
    return said


def of(host: str, project: Path) -> dict[str, Any]:
    return json.loads(json.dumps(PAYLOADS[host]).replace("{cwd}", str(project)))


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5e308,
    "",
    "\ud800",
    "\x00",
    "x" * 500_000,  # texts of five million are tried below
    [],
    [[]],
    {},
    {"command": {"a": []}},
    [None],
)


def mutations(whole: dict[str, Any], chance: random.Random, number: int) -> list[bytes]:
    """The payload with fields dropped, types swapped, and bytes that are no JSON."""
    made = []
    for _ in range(number):
        one = copy.deepcopy(whole)
        place: Any = one
        while True:
            key = chance.choice(list(place))
            if isinstance(place[key], dict) and place[key] and chance.random() < 0.5:
                place = place[key]
                continue
            break
        if chance.random() < 0.25:
            del place[key]
        else:
            place[key] = chance.choice(ODD)
        data = json.dumps(one).encode()
        cut = chance.random()
        if cut < 0.1:
            data = data[: chance.randrange(len(data))]
        elif cut < 0.2:
            at = chance.randrange(len(data))
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        made.append(data)
    deep = b'{"tool_input":' * 3_000 + b"1" + b"}" * 3_000
    return [
        *made,
        b"",
        b"\xff\xfe",
        b"\x00" * 100,
        b"nul",
        deep,
        json.dumps([whole]).encode(),
        json.dumps(json.dumps(whole)).encode(),
    ]


@pytest.mark.parametrize("host", PAYLOADS)
def test_a_mutated_payload_ends_well(host: str, project: Path) -> None:
    cases = mutations(of(host, project), random.Random(4), 4)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda data: drive(data, host), cases))
    learn_spools(folder_of(project))


IN_CHILDREN = """
import os, sys
from alma_agents.hook import main
host, *files = sys.argv[1:]
for file in files:
    child = os.fork()
    if not child:
        os.dup2(os.open(file, os.O_RDONLY), 0)
        os.dup2(os.open(file + ".out", os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        main(["hook", host])
        os._exit(1)
    print(os.waitpid(child, 0)[1])
"""
"""Runs the hook on each file in a child of its own, which ends as the hook's process does and starts in no time."""


@pytest.mark.slow
@pytest.mark.parametrize("host", PAYLOADS)
def test_many_mutated_payloads_end_well(host: str, project: Path, tmp_path: Path) -> None:
    cases = mutations(of(host, project), random.Random(120), 120)
    files = [tmp_path / f"case-{number}" for number in range(len(cases))]
    for file, data in zip(files, cases, strict=True):
        file.write_bytes(data)
    ended = subprocess.run([sys.executable, "-P", "-c", IN_CHILDREN, host, *map(str, files)], capture_output=True, text=True)
    assert (ended.stdout.split(), ended.stderr) == (["0"] * len(files), "")
    for said in (Path(f"{file}.out").read_text() for file in files):
        assert said == "" or isinstance(json.loads(said), dict)
    learn_spools(folder_of(project))


@pytest.mark.parametrize(
    "text", ["x" * 5_000_000, "a/" * 2_000_000, "Error " * 500_000, "'" * 1_000_000, " \n" * 1_000_000, "<<a\n" * 500_000]
)
def test_a_huge_text_does_not_hang_the_hook(text: str, project: Path) -> None:
    whole = of("claude-code", project)
    Path(folder_of(project)).mkdir()
    index.save(folder_of(project), {"fixes": [], "briefings": {}, "warnings": {}})
    drive(json.dumps({**whole, "error": f"Exit code 1\n{text}"}).encode(), "claude-code")
    drive(json.dumps({**whole, "tool_input": {"command": text}}).encode(), "claude-code")
    drive(json.dumps({**whole, "tool_input": {"command": text}, "hook_event_name": "PreToolUse"}).encode(), "claude-code")
    spool.append(folder_of(project), "s", {"over": True})
    learn_spools(folder_of(project))


def test_a_whole_payload_is_spooled(project: Path) -> None:
    for host in PAYLOADS:
        drive(json.dumps(of(host, project)).encode(), host)
    assert {record["host"] for record in spool.of_session(folder_of(project), "s")} == set(PAYLOADS)


def test_a_locked_store_does_not_hold_the_hook(project: Path) -> None:
    database = next((project / ".alma").rglob("*.db"))
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        drive(json.dumps(of("claude-code", project)).encode(), "claude-code")
        assert time.monotonic() - begun < 20
        held.execute("ROLLBACK")
    assert len(spool.of_session(folder_of(project), "s")) == 1


def test_a_damaged_store_does_not_hurt_the_hook(project: Path) -> None:
    next((project / ".alma").rglob("*.db")).write_bytes(b"no database" * 500)
    drive(json.dumps(of("claude-code", project)).encode(), "claude-code")
    drive(json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionEnd"}).encode(), "claude-code")
    learned = subprocess.run(
        [sys.executable, "-P", "-m", "alma_agents", "learn", folder_of(project)], capture_output=True, check=False
    )
    assert (learned.returncode, learned.stderr) == (0, b"")
    assert list(Path(folder_of(project), "spool").iterdir())


@pytest.mark.parametrize("content", [b"", b"\x00" * 50, b"{}\n{}", b"x" * 100_000])
def test_a_damaged_index_is_no_index(content: bytes, project: Path) -> None:
    Path(folder_of(project)).mkdir()
    Path(folder_of(project), "index.json").write_bytes(content)
    assert drive(json.dumps(of("claude-code", project)).encode(), "claude-code") == ""


def test_a_folder_that_cannot_be_written_is_silent(project: Path) -> None:
    """As root permissions hold nobody back, so the spool's place is taken by a file, too."""
    (project / ".alma" / "agents").write_text("a file where the folder should be")
    assert drive(json.dumps(of("claude-code", project)).encode(), "claude-code") == ""
    (project / ".alma" / "agents").unlink()
    (project / ".alma").chmod(0o500)
    try:
        drive(json.dumps(of("claude-code", project)).encode(), "claude-code")
    finally:
        (project / ".alma").chmod(0o700)


def test_a_full_disk_is_silent_and_leaves_whole_lines(project: Path) -> None:
    """A limit on the size of files stands for the disk: the write fails in the middle."""
    spool.append(folder_of(project), "s", {"host": "claude-code", "payload": of("claude-code", project)})
    size = Path(spool.file_of(folder_of(project), "s")).stat().st_size
    payload = json.dumps(of("claude-code", project)).encode()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40, size + 40))

    drive(payload, "claude-code", preexec_fn=limited, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})  # it would be cut, too
    drive(payload, "claude-code")
    assert len(spool.of_session(folder_of(project), "s")) == 2


def acknowledged(project: Path, session: str, count: int, delay: float) -> list[int]:
    """Starts a process that appends and says so after each line, kills it after `delay`, and returns the numbers that it acknowledged."""
    script = (
        "import sys\nfrom alma_agents import spool\n"
        "for number in range(int(sys.argv[3])):\n"
        "    spool.append(sys.argv[1], sys.argv[2], {'host': 'h', 'number': number, 'text': 'x' * 3000})\n"
        "    sys.stdout.write(f'{number}\\n'); sys.stdout.flush()\n"
    )
    command = [sys.executable, "-c", script, folder_of(project), session, str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline()]
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.stdout.readlines()
    return [int(line) for line in said if line.endswith("\n")]


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01])
def test_a_line_that_was_acknowledged_survives_a_kill(delay: float, project: Path) -> None:
    said = acknowledged(project, "s", 100_000, delay)
    stored = [record["number"] for record in spool.of_session(folder_of(project), "s")]
    assert said
    assert set(said) <= set(stored)
    assert stored == list(range(len(stored)))


def test_a_learner_that_is_killed_loses_nothing(project: Path) -> None:
    run_sessions(project, range(6))
    script = (
        "import os, sys\nfrom alma_agents import learning, spool\nplain = learning.learned\n"
        "def killed(*given, **named):\n    plain(*given, **named)\n    os._exit(9)\nlearning.learned = killed\nlearning.learn_spools(sys.argv[1])\n"
    )
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", script, folder_of(project)], check=False)
        assert ended.returncode == 9
    learn_spools(folder_of(project))
    check_sessions(project, 6)


def test_a_session_that_ends_while_the_index_is_written_is_learned(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own learner finds another at work, and ends."""
    ended = iter([1])
    plain = learning.rebuild

    def rebuilt(*given: Any) -> None:
        plain(*given)
        for number in ended:
            run_sessions(project, range(number, number + 1))
            assert learn_spools(folder_of(project)) == 0

    monkeypatch.setattr(learning, "rebuild", rebuilt)
    run_sessions(project, range(1))
    assert learn_spools(folder_of(project)) == 2
    check_sessions(project, 2)


def payloads(project: Path, number: int) -> list[dict[str, Any]]:
    """A session in which a failure is repaired; its error and its repair are its own."""
    shared = {"session_id": f"session-{number}", "cwd": str(project), "tool_name": "Bash"}
    steps = (
        ("pytest -q", f"Exit code 1\nModuleNotFoundError: No module named 'mod_{number}'"),
        (f"pip install mod_{number}", ""),
        ("pytest -q", ""),
    )
    made = []
    for place, (command, error) in enumerate(steps):
        one = {**shared, "tool_use_id": f"{number}-{place}", "tool_input": {"command": command}}
        if error:
            made.append({**one, "hook_event_name": "PostToolUseFailure", "error": error})
        else:
            made.append({**one, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "ok"}})
    return [*made, {**shared, "hook_event_name": "SessionEnd", "reason": "other"}]


def run_sessions(project: Path, numbers: range) -> None:
    for number in numbers:
        for payload in payloads(project, number)[:-1]:
            spool.append(folder_of(project), f"session-{number}", {"host": "claude-code", "payload": payload})
        spool.append(folder_of(project), f"session-{number}", {"over": True})


def check_sessions(project: Path, number: int) -> None:
    with ALMA.from_config(project / ".alma" / "config.yaml") as alma:
        outcomes = alma.list_memories("outcome", limit=1_000)
    found = sorted((one.error_message, one.strategy_used, one.success) for one in outcomes)
    wanted = sorted(
        (f"ModuleNotFoundError: No module named 'mod_{each}'", f"run pip install mod_{each}", True) for each in range(number)
    )
    assert found == wanted


def check_at_once(project: Path, number: int, width: int) -> None:
    """Sessions as processes, `width` at a time: each step of a session waits for the one before, and ends of sessions start learners."""

    def live(session: int) -> None:
        for payload in payloads(project, session):
            drive(json.dumps(payload).encode(), "claude-code")

    with ThreadPoolExecutor(width) as pool:
        list(pool.map(live, range(number)))
    learn_all(project)
    check_sessions(project, number)


def learn_all(project: Path) -> None:
    """Learns until no spool is left: other learners may hold some."""
    deadline = time.monotonic() + 120
    while list(Path(folder_of(project), "spool").glob("*")) and time.monotonic() < deadline:
        learn_spools(folder_of(project))
        time.sleep(0.1)


def test_sessions_at_once_neither_lose_nor_mix(project: Path) -> None:
    check_at_once(project, 8, 8)


@pytest.mark.slow
def test_200_sessions_at_once_neither_lose_nor_mix(project: Path) -> None:
    """A process for each session, which sends its events one after another: a process for each event would be 800."""
    script = (
        "import json, sys\nfrom alma_agents.hook import answered\n"
        "for line in sys.stdin:\n    answered(json.loads(line), 'claude-code')\n"
    )

    def live(number: int) -> None:
        data = "\n".join(map(json.dumps, payloads(project, number))).encode()
        subprocess.run([sys.executable, "-c", script], input=data, check=True, capture_output=True)

    with ThreadPoolExecutor(25) as pool:
        list(pool.map(live, range(200)))
    learn_all(project)
    check_sessions(project, 200)
