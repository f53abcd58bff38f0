"""Disks that are full, files that may not grow, files and folders that may not be written."""

import ctypes
import os
import resource
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from alma.errors import AlmaError
from benchmarks.durability.faults.trials import HAND, Place, Sample, Trial, compared, tried, work, work_on_all
from benchmarks.durability.hands import Hand, new_hand
from benchmarks.durability.stores import Opens, opened

BYTES = 40_000_000
BALLAST = "ballast"
CALLS = 25
NOBODY = 65534
NEW_USERS, NEW_MOUNTS = 0x10000000, 0x00020000
"""CLONE_NEWUSER and CLONE_NEWNS of Linux."""


def full(place: Place) -> list[Trial]:
    """A file system of forty megabytes that is full, while writing and afterwards; then there is room again."""
    acts: Mapping[str, Callable[[str, Place, Sample], Trial]] = {
        "the disk fills up while calls write": _fills_up,
        "the disk is full when a store is made": _full_at_making,
        "the disk is full at compacting, export and close": _full_at_upkeep,
    }
    place.sample()  # made here: the process of a trial may start no other
    return [tried(what, _on_small_disk, act, place) for what, act in acts.items()]


def limited(place: Place) -> list[Trial]:
    """A file may not grow beyond a limit (EFBIG), a little above what the log has."""
    return [
        tried(f"files may grow by {room:,} bytes", _may_not_grow, place.sample().copy("harmed"), room)
        for room in (0, 4_096, 20_000, 65_536, 300_000)
    ]


def not_writable(place: Place) -> list[Trial]:
    """Files and folders that another user made read-only, or unreadable."""
    modes = {
        "the folder is read-only": (0o555, 0o644),
        "the database is read-only": (0o755, 0o444),
        "folder and database are read-only": (0o555, 0o444),
        "the database is unreadable": (0o755, 0o000),
        "the folder is closed": (0o000, 0o644),
    }
    return [
        tried(
            f"{what}{', after a kill' if is_killed else ''}", _as_nobody, place.sample(is_killed=is_killed).copy("harmed"), *mode
        )
        for what, mode in modes.items()
        for is_killed in (False, True)
    ]


def _on_small_disk(what: str, act: Callable[[str, Place, Sample], Trial], place: Place) -> Trial:
    """Lets a trial work in a store that has a small file system to itself; ledgers and exports are elsewhere."""
    sample = Sample(place.folder / "small")
    for folder in (sample.store, sample.files):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    try:
        _mount(sample.store)
    except OSError as error:
        return Trial(what, "skipped", f"no file system can be mounted here: {error.strerror}")
    return act(what, place, sample)


def _mount(folder: Path) -> None:
    """A small file system in memory that this process alone sees; it goes with the process."""
    libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(NEW_MOUNTS) and libc.unshare(NEW_USERS | NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    if libc.mount(b"none", b"/", None, 0x44000, None):  # MS_REC | MS_PRIVATE: nothing of it is seen outside
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={BYTES}".encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def _no_room(folder: Path, *, left: int = 0) -> Iterator[None]:
    """Fills the file system of a folder with a file; there is room again afterwards."""
    ballast = folder / BALLAST
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(65_536))
    os.truncate(ballast, max(ballast.stat().st_size - left, 0))
    try:
        yield
    finally:
        ballast.unlink()


def _fills_up(what: str, place: Place, sample: Sample) -> Trial:
    hand = _hand(sample, place.seed)
    work(hand, CALLS)
    for left in (0, 8_192, 100_000):
        with _no_room(sample.store, left=left):
            work_on_all(hand)
        work(hand, CALLS)
    hand.opens.main.close()
    return compared(what, sample, is_harmed=False)


def _full_at_making(what: str, place: Place, sample: Sample) -> Trial:
    for left in (0, 4_096, 50_000, 150_000):
        with _no_room(sample.store, left=left):
            try:
                opened(sample.store).close()
            except AlmaError:
                found = sorted(path.name for path in sample.store.iterdir() if path.name != BALLAST)
                if found:
                    return Trial(what, "lost", f"a store that could not be made left {found}")
    return _fills_up(what, place, sample)


def _full_at_upkeep(what: str, place: Place, sample: Sample) -> Trial:
    shutil.copytree(place.sample().folder, sample.folder, dirs_exist_ok=True)
    hand = _hand(sample, place.seed, name="upkeep")
    work(hand, CALLS)
    target = sample.store / "elsewhere"
    target.mkdir()
    told: list[str] = []
    with _no_room(sample.store, left=4_096):
        for call in (hand.opens.main.compact, lambda: hand.opens.main.export(target / "all.export")):
            try:
                call()
            except AlmaError as error:
                told.append(f"{type(error).__name__}: {error}")
        hand.opens.main.close()
    left = [path.name for path in sample.store.rglob("*") if path.suffix in (".new", ".tmp", ".export")]
    shutil.rmtree(target)
    trial = Trial(what, "lost", f"left over: {left}") if left else compared(what, sample, is_harmed=False)
    return Trial(what, "error", "; ".join(told)) if told and trial.verdict == "unharmed" else trial


def _hand(sample: Sample, seed: str, name: str = HAND) -> Hand:
    sample.files.mkdir(exist_ok=True)
    hand = new_hand(name, Opens(sample.store), sample.files, seed)
    hand.takes_any = True
    return hand


def _may_not_grow(what: str, sample: Sample, room: int) -> Trial:
    hand = _hand(sample, what, name="limited")
    work(hand, CALLS)
    largest = max(path.stat().st_size for path in sample.store.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + room, hard))
    work_on_all(hand)
    with suppress(AlmaError):
        hand.opens.main.compact()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    work(hand, CALLS)
    hand.opens.main.close()
    return compared(what, sample, is_harmed=False)


def _as_nobody(what: str, sample: Sample, folder_mode: int, file_mode: int) -> Trial:
    """Works without the right to write; then the right is given back, and everything is compared."""
    reader, end = os.pipe()
    child = os.fork()
    if not child:
        _work_without_rights(sample, folder_mode, file_mode, end)
    os.close(end)
    told = os.fdopen(reader).read()
    os.waitpid(child, 0)
    sample.store.chmod(0o755)
    for path in sample.store.iterdir():
        path.chmod(0o644)
    if told.startswith("foreign"):
        return Trial(what, "foreign", told)
    trial = compared(what, sample, is_harmed=False)
    return Trial(what, "error", told) if trial.verdict == "unharmed" and told else trial


def _work_without_rights(sample: Sample, folder_mode: int, file_mode: int, end: int) -> None:
    """Says by the pipe which error came, and ends the process."""
    told = ""
    try:
        _give_to_nobody(sample, folder_mode, file_mode)
        opens = Opens(sample.store)
        hand = new_hand("nobody", opens, sample.files, "nobody")
        hand.takes_any = True
        work(hand, CALLS)
        opens.main.close()
    except AlmaError as error:
        told = f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 - what is looked for
        told = f"foreign: {type(error).__name__}: {error}"
    os.write(end, told.encode())
    os._exit(0)


def _give_to_nobody(sample: Sample, folder_mode: int, file_mode: int) -> None:
    """Sets the modes and, if this is root, to whom modes mean nothing, becomes somebody else."""
    everything = [sample.folder, *sample.folder.rglob("*")]
    if os.geteuid() == 0:
        for path in everything:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    for path in sample.store.iterdir():
        path.chmod(file_mode)
    sample.store.chmod(folder_mode)
    if os.geteuid() == 0:
        for parent in sample.folder.parents:
            with suppress(OSError):
                parent.chmod(parent.stat().st_mode | 0o011)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
