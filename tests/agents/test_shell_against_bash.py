"""A real bash is the judge: whatever command a status is said to judge, ran and ended so."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from alma_agents import shell

PROGRAMS = ("pytest", "mypy", "make", "jest")
OTHERS = (
    "true",
    "false",
    "echo error",
    "cat /dev/null",
    "grep -q x /dev/null",
    "cd .",
    "export A=1",
    "sleep 0",
    "exit 0",
    "exit 1",
    "exit $?",
)
JOINS = (" && ", " || ", " ; ", " | ", "\n", " |& ", " &\n")
FORMS = (
    *("{}",) * 6,
    "set -e; {}",
    "set -o pipefail; {}",
    "set -euo pipefail\n{}",
    "({})",
    'bash -c "{}"',
    "if {}; then echo yes; else echo no; fi",
    "{} # || true",
    "{} 2>&1 > /dev/null",
    "for i in 1; do {}; done",
    "A=$({}); echo $A",
    "! {}",
    "cat <<'END'\nmake\nEND\n{}",
)


def lines(seed: int, number: int) -> list[str]:
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        left = chance.sample(PROGRAMS, len(PROGRAMS))
        text = ""
        for place in range(chance.randint(1, 4)):
            part = left.pop() if chance.random() < 0.6 else chance.choice(OTHERS)
            text += (chance.choice(JOINS) if place else "") + part
        made.append(chance.choice(FORMS).format(text))
    return made


def wrong(folder: Path, seed: int, number: int) -> tuple[list[str], int]:
    """Lines that are judged against what happened, and how many are judged at all."""
    chance = random.Random(seed)
    log, found, count = folder / "log", [], 0
    for line in lines(seed, number):
        codes = {name: chance.choice((0, 0, 1, 2)) for name in PROGRAMS}
        stubs = "".join(
            f'{name}() {{ echo "{name} {code}" >> "$LOG"; return {code}; }}\nexport -f {name}\n' for name, code in codes.items()
        )
        log.write_text("")
        script = [shutil.which("bash") or "bash", "-c", f"{stubs}\n{line}"]
        status = subprocess.run(
            script, env={"LOG": str(log), "PATH": "/usr/bin:/bin"}, capture_output=True, check=False
        ).returncode
        if shell.verdict(status) is None:  # a signal, as to a program that writes into a closed pipe
            continue
        ran = dict(each.split() for each in log.read_text().splitlines())
        judged = shell.judged(line, status == 0)
        said = [judged] if judged else []
        for one in [*said, *(shell.settled(line, True) if status == 0 else [])]:
            count += 1
            if one.words[0] in PROGRAMS and (one.words[0] not in ran or (ran[one.words[0]] == "0") != (status == 0)):
                found.append(f"{line!r} -> {status}: {one.words[0]} {ran}")
    return found, count


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("number", [150, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_judged_command_ended_as_is_said(number: int, tmp_path: Path) -> None:
    found, judged = wrong(tmp_path, number, number)
    assert found == []
    assert judged > number / 5
