"""Files beside a closed store that are gone or something else."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried

SPARSE = 2**33


def log_gone(place: Place) -> list[Trial]:
    """After a kill the log is not there any more, or is another. What was committed there is gone with it, and the store is as it was before."""
    sample, other, noise = place.sample(is_killed=True), place.sample().database, place.chance.randbytes(32_768)
    harms: Mapping[str, Callable[[Path, Path], object]] = {
        "the log is deleted": lambda log, shm: _deleted(log),
        "the log's index is deleted": lambda log, shm: _deleted(shm),
        "both are deleted": _deleted,
        "the log is emptied": lambda log, shm: log.write_bytes(b""),
        "the log's index is emptied": lambda log, shm: shm.write_bytes(b""),
        "the log is another file": lambda log, shm: shutil.copy(other, log),
        "the log's index is noise": lambda log, shm: shm.write_bytes(noise),
        "the log is a folder": lambda log, shm: _instead(log, Path.mkdir),
    }
    trials = []
    for what, harm in harms.items():
        copy = sample.copy("harmed")
        harm(Path(f"{copy.database}-wal"), Path(f"{copy.database}-shm"))
        trials.append(tried(what, _compared, copy, True))
    return trials


def snapshot_attacked(place: Place) -> list[Trial]:
    """In the place of every vector snapshot there is something else."""
    harms: Mapping[str, Callable[[Path], object]] = {
        "deleted": _deleted,
        "empty": lambda path: path.write_bytes(b""),
        "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        "much longer": _stretched,
        "a folder": lambda path: _instead(path, Path.mkdir),
        "a link to itself": lambda path: _instead(path, lambda new: new.symlink_to(new)),
        "a link to /dev/zero": lambda path: _instead(path, lambda new: new.symlink_to("/dev/zero")),
        "a pipe without a writer": lambda path: _instead(path, os.mkfifo),
        "that of another project": _another,
        "unreadable": lambda path: path.chmod(0),
        "half-written under a temporary name": lambda path: path.rename(path.with_name(f".{path.name}.abc.tmp")),
    }
    sample, trials = place.sample(), []
    for what, harm in harms.items():
        copy = sample.copy("harmed")
        for path in sorted(copy.store.glob("*.index")):
            harm(path)
        trials.append(tried(f"the snapshot is {what}", _compared, copy, False))
    return trials


def _deleted(*paths: Path) -> None:
    for path in paths:
        path.unlink()


def _instead(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def _stretched(path: Path) -> None:
    os.truncate(path, SPARSE)


def _another(path: Path) -> None:
    other = max(path.parent.glob("*.index"))
    if other != path:
        shutil.copy(other, path)


def _compared(what: str, sample: Sample, may_be_older: bool) -> Trial:
    return compared(what, sample, is_harmed=True, may_be_older=may_be_older)
