"""Files beside a closed store that are gone or something else."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.durability.faults.trials import Place, Sample, Trial, compared, tried

SPARSE = 2**33


def log_gone(place: Place) -> list[Trial]:
    """After a kill the log is not there any more, or is another. What was committed there is gone with it, and the store is as it was before."""
    sample = place.sample(is_killed=True)
    other = place.sample().database
    noise = place.chance.randbytes(32_768)
    harms: Mapping[str, Callable[[Path, Path], object]] = {
        "the log is deleted": lambda log, shm: log.unlink(),
        "the log's index is deleted": lambda log, shm: shm.unlink(),
        "both are deleted": lambda log, shm: (log.unlink(), shm.unlink()),
        "the log is emptied": lambda log, shm: os.truncate(log, 0),
        "the log's index is emptied": lambda log, shm: os.truncate(shm, 0),
        "the log is another file": lambda log, shm: shutil.copy(other, log),
        "the log's index is noise": lambda log, shm: shm.write_bytes(noise),
        "the log is a folder": lambda log, shm: (log.unlink(), log.mkdir()),
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
        "deleted": lambda path: path.unlink(),
        "empty": lambda path: os.truncate(path, 0),
        "cut in half": lambda path: os.truncate(path, path.stat().st_size // 2),
        "much longer": lambda path: os.truncate(path, SPARSE),
        "a folder": lambda path: (path.unlink(), path.mkdir()),
        "a link to itself": lambda path: (path.unlink(), path.symlink_to(path)),
        "a link to /dev/zero": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
        "a pipe without a writer": lambda path: (path.unlink(), os.mkfifo(path)),
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


def _another(path: Path) -> None:
    other = max(path.parent.glob("*.index"))
    if other != path:
        shutil.copy(other, path)


def _compared(what: str, sample: Sample, may_be_older: bool) -> Trial:
    return compared(what, sample, is_harmed=True, may_be_older=may_be_older)
