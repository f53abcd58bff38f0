"""A process that forks one child for each line that it reads: `{"do": NAME, "place": FOLDER, …}`. Run as a program, with the library of
`failing_calls.py` loaded, by `Faulty`. A child writes what happens, a line each, and may be killed at any time; its parent adds how it ended.

The parent has nothing open, and imports all modules that its first child needed, so that another one costs little.
"""

import ctypes
import faulthandler
import importlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from alma.errors import AlmaError
from fault_acts import ACTS, CHANGES, LATER, fill, open_in, opened_by_any_key, see

SECONDS = 60
_LIBRARY = ctypes.CDLL(None)


def make(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    fill(Path(asked["place"]), **_options(asked))
    with open_in(Path(asked["place"]), **_options(asked)) as alma:
        tell("state", see(alma))
    tell("modules", [name for name in sys.modules if name != "__main__"])


def act(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Makes the calls of an act, from a point on under a fault, until one fails; then sees what is there, and makes one call more."""
    alma = open_in(Path(asked["place"]), **_options(asked))
    calls = ACTS[asked["act"]](alma, Path(asked["place"]))
    _arm(asked)
    failed = False
    for call in calls:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - any other than an error of ALMA is what is looked for
            _tell_error(error, tell)
            failed = True
            break
        tell("done")
    tell("count", _LIBRARY.fault_count())
    _LIBRARY.fault_arm(b"", 0, b"EIO", 1)
    if asked["act"] != "close":
        if failed:
            tell("seen", see(alma))
        try:
            tell("later", alma.learn(LATER, "Once more", "success").text)
        except AlmaError as error:
            tell("refused", f"{type(error).__name__}: {error}")
    alma.close()


def change(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Changes a store that is not open, under a fault."""
    _arm(asked)
    try:
        CHANGES[asked["act"]](Path(asked["place"]))
        tell("done")
    except BaseException as error:  # noqa: BLE001 - any other than an error of ALMA is what is looked for
        _tell_error(error, tell)
    tell("count", _LIBRARY.fault_count())


def states(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Makes the calls of an act without any fault, and sees what is there before the first and after each."""
    alma = open_in(Path(asked["place"]), **_options(asked))
    calls = ACTS[asked["act"]](alma, Path(asked["place"]))
    tell("state", see(alma))
    for call in calls:
        call()
        if call != alma.close:
            tell("state", see(alma))
    alma.close()


def look(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Sees what a process that opens the store anew sees."""
    with opened_by_any_key(Path(asked["place"]), **_options(asked)) as (alma, key):
        tell("key", key)
        tell("found", see(alma))


def look_in_file(asked: Mapping[str, Any], tell: Callable[..., None]) -> None:
    """Sees what an export holds, read into a new store."""
    with open_in(Path(asked["place"]), storage="sqlite") as alma:
        alma.import_from(Path(asked["file"]))
        tell("found", see(alma))


def _options(asked: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(asked.get("options", {}))
    if "encryption_key" in options:
        options["encryption_key"] = bytes.fromhex(options["encryption_key"])
    return options


def _arm(asked: Mapping[str, Any]) -> None:
    calls, way = asked.get("calls", "").encode(), asked.get("way", "EIO").encode()
    _LIBRARY.fault_arm(calls, ctypes.c_long(asked.get("at", 0)), way, ctypes.c_long(asked.get("times", 1)))


def _tell_error(error: BaseException, tell: Callable[..., None]) -> None:
    if isinstance(error, SystemError) and re.search("without( setting an)? exception", str(error)):
        error = MemoryError(str(error))  # numpy's C code, and Python's own stack, can leave it at that when they get no memory
    is_ours = isinstance(error, (AlmaError, MemoryError))
    tell("error" if is_ours else "foreign", f"{type(error).__name__}: {error}")


def _run(asked: Mapping[str, Any], end: int) -> None:
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(SECONDS - 5, exit=True)

    def tell(what: str, value: object = None) -> None:
        os.write(end, f"{json.dumps([what, value])}\n".encode())

    try:
        globals()[asked["do"]](asked, tell)
    except BaseException as error:  # noqa: BLE001 - told, and the test fails
        with suppress(OSError):
            tell("broken", f"{type(error).__name__}: {error}")
        import traceback

        traceback.print_exc()
    os._exit(0)


def main() -> None:
    logging.getLogger("alma").addHandler(logging.NullHandler())
    logging.getLogger("alma").propagate = False
    for line in sys.stdin:
        reader, end = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            _run(json.loads(line), end)
        os.close(end)
        with os.fdopen(reader) as told:
            events = [json.loads(each) for each in told if each.endswith("\n")]
        for name in next((value for what, value in events if what == "modules"), ()):
            with suppress(ImportError):
                importlib.import_module(name)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([*events, ["ended", code]]), flush=True)


if __name__ == "__main__":
    main()
