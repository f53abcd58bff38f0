"""Files that go, come back or become something else under a process that has the store open and works on."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from alma.errors import AlmaError
from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried, work
from benchmarks.durability.hands import new_hand
from benchmarks.durability.intents import Intent
from benchmarks.durability.ledgers import SUFFIX, read_account
from benchmarks.durability.processes import Asked, wait_until
from benchmarks.durability.stores import Opens

Harm = Callable[[Sample], Iterator[None]]
"""Does the harm, lets the process work, and puts things back if that is part of it."""

WORKER, VISITOR = "worker", "visitor"
CALLS = 15
SECONDS = 50.0

VISIT, VISITED, BACKUP = "visit", "visited", "backup"
HARMED = Intent("harm")

KEPT, RESTORED, GONE = "kept", "restored", "gone"
"""What has to be there in the end: everything; what a backup had, and what was done after it was restored; or whatever the harm left, but then
nothing may have been acknowledged after it."""


def log_gone(place: Place) -> list[Trial]:
    """Somebody deletes the log, or its index, under a process that works; another opens the store then. The process ends well, or is killed."""
    harms: Mapping[str, Harm] = {
        "the log is deleted": _delete_log,
        "the log's index is deleted": _delete_index,
        "both are deleted": _delete_both,
        "the log is moved away": _move_log,
        "the log is emptied": _empty_log,
    }
    return [
        _trial(place, f"{what}, the process is {'killed' if is_killed else 'closed'}", harm, GONE, is_killed)
        for what, harm in harms.items()
        for is_killed in (False, True)
    ]


def moved(place: Place) -> list[Trial]:
    """The database, or its folder, goes elsewhere under a process that works."""
    harms: Mapping[str, tuple[Harm, str]] = {
        "the database is moved away and back": (_move_and_back, KEPT),
        "the database is replaced by an empty file, and put back": (_empty_and_back, KEPT),
        "the database is replaced by a copy of itself": (_replace_by_copy, KEPT),
        "the folder is moved away and back": (_move_folder_and_back, KEPT),
        "the store is restored from a backup": (_restore, RESTORED),
        "the database is deleted": (_delete, GONE),
        "the folder is deleted": (_delete_folder, GONE),
    }
    return [_trial(place, what, harm, wanted, False) for what, (harm, wanted) in harms.items()]


def locks_attacked(place: Place) -> list[Trial]:
    """Files that look like those of a store, or of a former version, stand beside it."""
    harms: Mapping[str, Harm] = {
        "there are drafts that no process writes": _add_odd_files,
    }
    return [_trial(place, what, harm, KEPT, False) for what, harm in harms.items()]


def _trial(place: Place, what: str, harm: Harm, wanted: str, is_killed: bool) -> Trial:
    sample = place.sample().copy("harmed")
    shutil.copy(sample.database, sample.folder / BACKUP)
    worker = Asked(_work, sample, harm, what, is_killed)
    try:
        wait_until((sample.folder / VISIT).exists, SECONDS / 2)
        visited = Asked(_visit, sample, what).answer(SECONDS / 2)
        (sample.folder / VISITED).touch()
        worker.answer(SECONDS / 2)
    except TimeoutError as error:
        return Trial(what, "hang", str(error))
    except RuntimeError as error:
        if not (is_killed and "ended with -9" in str(error)):
            return Trial(what, "foreign", str(error)[-1500:])
    return tried(what, _judged, sample, wanted, visited)


def _work(sample: Sample, harm: Harm, seed: str, is_killed: bool) -> None:
    """Works, has the harm done, works on, lets another process come and go, and works on."""
    opens = Opens(sample.store)
    hand = new_hand(WORKER, opens, sample.files, seed)
    hand.takes_any = True
    work(hand, CALLS)
    harming = harm(sample)
    next(harming)
    with hand.calling(HARMED):
        pass
    work(hand, CALLS)
    next(harming, None)
    (sample.folder / VISIT).touch()
    wait_until((sample.folder / VISITED).exists, SECONDS)
    work(hand, CALLS)
    if is_killed:
        os.kill(os.getpid(), signal.SIGKILL)
    with hand.calling(Intent("close")):
        opens.main.close()


def _visit(sample: Sample, seed: str) -> str:
    """Works in the store as another process that finds it as it is. The error, if it cannot be opened."""
    try:
        opens = Opens(sample.store)
    except AlmaError as error:
        return f"{type(error).__name__}: {error}"
    hand = new_hand(VISITOR, opens, sample.files, seed)
    hand.takes_any = True
    work(hand, CALLS)
    opens.main.close()
    return ""


def _judged(what: str, sample: Sample, wanted: str, visited: str) -> Trial:
    after = _acknowledged_after(sample)
    if wanted == KEPT or after:
        return compared(what, sample, is_harmed=True, may_be_older=wanted == GONE)
    (sample.files / f"{WORKER}{SUFFIX}").unlink()
    if wanted == RESTORED:
        return compared(what, sample, is_harmed=True)
    return Trial(what, "error", f"no write was acknowledged after the harm; another process: {visited or 'opened it'}")


def _acknowledged_after(sample: Sample) -> int:
    calls = read_account(sample.files / f"{WORKER}{SUFFIX}").calls
    harm = next(number for number, done in enumerate(calls) if done.intent.call == HARMED.call)
    return sum(done.fate == "acknowledged" and done.wrote and bool(done.intent.operations) for done in calls[harm:])


def _log(sample: Sample) -> Path:
    return Path(f"{sample.database}-wal")


def _index(sample: Sample) -> Path:
    return Path(f"{sample.database}-shm")


def _delete_log(sample: Sample) -> Iterator[None]:
    _log(sample).unlink()
    yield


def _delete_index(sample: Sample) -> Iterator[None]:
    _index(sample).unlink()
    yield


def _delete_both(sample: Sample) -> Iterator[None]:
    _log(sample).unlink()
    _index(sample).unlink()
    yield


def _move_log(sample: Sample) -> Iterator[None]:
    _log(sample).rename(sample.folder / "log")
    yield


def _empty_log(sample: Sample) -> Iterator[None]:
    os.truncate(_log(sample), 0)
    yield


def _move_and_back(sample: Sample) -> Iterator[None]:
    aside = sample.folder / "aside"
    sample.database.rename(aside)
    yield
    aside.rename(sample.database)


def _empty_and_back(sample: Sample) -> Iterator[None]:
    aside = sample.folder / "aside"
    sample.database.rename(aside)
    sample.database.touch()
    yield
    aside.rename(sample.database)


def _replace_by_copy(sample: Sample) -> Iterator[None]:
    copy = sample.folder / "copy"
    subprocess.run(["cp", sample.database, copy], check=True)  # this process would drop its own locks if it opened the file
    copy.rename(sample.database)
    yield


def _move_folder_and_back(sample: Sample) -> Iterator[None]:
    aside = sample.folder / "aside"
    sample.store.rename(aside)
    yield
    aside.rename(sample.store)


def _restore(sample: Sample) -> Iterator[None]:
    for path in (sample.database, _log(sample), _index(sample)):
        path.unlink()
    shutil.copy(sample.folder / BACKUP, sample.database)
    yield


def _delete(sample: Sample) -> Iterator[None]:
    sample.database.unlink()
    yield


def _delete_folder(sample: Sample) -> Iterator[None]:
    shutil.rmtree(sample.store)
    yield


def _add_odd_files(sample: Sample) -> Iterator[None]:
    (sample.store / ".alma.db.1.new").touch()
    (sample.store / ".alma.db.0.new").mkdir()
    yield
    (sample.store / ".alma.db.0.new").rmdir()
