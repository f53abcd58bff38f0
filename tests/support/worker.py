"""A process that works on a store: `python worker.py create|learn|repeat|crash FOLDER …`. Run as a program by tests.

- `create FOLDER` prints `ready`, waits for a line, opens the store and prints its id.
- `learn FOLDER PROJECT AGENT COUNT` prints `ready`, waits for a line, and prints each id when the call that made it has returned.
- `repeat FOLDER PROJECT AGENT COUNT` does as `learn`, each time with the same strategy for the same task.
- `crash FOLDER COUNT` learns once in each of COUNT children, the n-th of which is killed before its n-th statement; prints the ids of those that
  returned.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from alma import ALMA
from stores import Driver, open_alma


def create(folder: Path) -> None:
    wait_for_start()
    with open_alma(folder) as alma:
        say(alma.storage.id)


def learn(folder: Path, project: str, agent: str, count: str) -> None:
    wait_for_start()
    with open_alma(folder, project) as alma:
        for number in range(int(count)):
            say(learn_one(alma, agent, number))


def repeat(folder: Path, project: str, agent: str, count: str) -> None:
    wait_for_start()
    with open_alma(folder, project) as alma:
        for _ in range(int(count)):
            say(alma.learn(agent, "Deploy", "success", "blue-green deployment").id)


def learn_one(alma: ALMA, agent: str, number: int) -> str:
    return alma.learn(agent, f"Task {number} of {agent}", "success", f"Way {number}").id


def crash(folder: Path, count: str) -> None:
    driver = Driver()
    sqlite3.connect = driver.connect
    for number in range(int(count)):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            crash_at(number, folder, driver)
            os._exit(0)
        os.waitpid(child, 0)


def crash_at(number: int, folder: Path, driver: Driver) -> None:
    left = number

    def count_down(statement: str) -> None:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    alma = open_alma(folder)
    with driver.doing(count_down):
        made = learn_one(alma, f"agent{number}", number)
    say(made)


def wait_for_start() -> None:
    say("ready")
    sys.stdin.readline()


def say(word: str) -> None:
    print(word, flush=True)


def main(name: str, folder: str, *rest: str) -> None:
    commands = {"create": create, "learn": learn, "repeat": repeat, "crash": crash}
    commands[name](Path(folder), *rest)


if __name__ == "__main__":
    arguments: Sequence[str] = sys.argv[1:]
    main(*arguments)
