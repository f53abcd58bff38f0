"""Which process carries out a request, and whether it still runs."""

import os
import subprocess
import sys

from alma_server.holders import has_ended, this_process

SAY = "from alma_server.holders import this_process; print(this_process(), flush=True); input()"


def test_a_process_has_ended_when_it_was_killed_though_nobody_has_looked_at_it_yet() -> None:
    with subprocess.Popen([sys.executable, "-c", SAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert not has_ended(name)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(name)
    assert has_ended(name)


def test_of_another_machine_and_of_a_process_without_a_name_nothing_is_known() -> None:
    machine, _, process = this_process().partition("/")
    assert not has_ended("")
    assert not has_ended(f"another-{machine}/{process}")


def test_a_later_process_with_the_same_number_is_another_one() -> None:
    own = this_process()
    assert not has_ended(own)
    assert has_ended(f"{own.rpartition('.')[0]}.0")
