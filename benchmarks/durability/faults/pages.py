"""Sectors that are not what was written: zeroed, flipped, swapped, or cut off."""

from pathlib import Path
from random import Random

from benchmarks.durability.faults.trials import Answers, Place, Sample, Trial, answers, compared, judged, known_of, tried
from benchmarks.durability.processes import Asked

SECTOR = 512


def torn_database(place: Place) -> list[Trial]:
    """A sector of the database of a closed store is another than what was written."""
    sample, chance = place.sample(), place.chance
    known = Asked(known_of, sample.copy("known").store).answer(60)
    before = Asked(answers, sample.copy("before").store, known).answer(60)
    trials = []
    for number in range(place.trials):
        copy = sample.copy("harmed")
        what = tear(copy.database, chance)
        trials.append(tried(f"{number}: {what}", _judged, copy, known, before))
    return trials


def torn_log(place: Place) -> list[Trial]:
    """A sector of the log of a process that was killed is another than what was written.

    SQLite reads a log up to the first wrong checksum, and takes the rest for what a crash left: what was committed there is gone, and the store is
    sound as it was before.
    """
    sample, chance = place.sample(is_killed=True), place.chance
    copies = (sample.copy("harmed").store for _ in range(place.trials))
    return [_harmed(store, f"{number}", "alma.db-wal", chance, may_be_older=True) for number, store in enumerate(copies)]


def torn_snapshot(place: Place) -> list[Trial]:
    """A sector of the vector snapshot is another than what was written, or the file is cut."""
    sample, chance = place.sample(), place.chance
    copies = (sample.copy("harmed").store for _ in range(place.trials))
    return [_harmed(store, f"{number}", "*.index", chance) for number, store in enumerate(copies)]


def _harmed(store: Path, name: str, pattern: str, chance: Random, *, may_be_older: bool = False) -> Trial:
    files = sorted(path for path in store.glob(pattern) if path.stat().st_size)
    assert files, f"the sample has no {pattern}"
    what = tear(chance.choice(files), chance)
    return tried(f"{name}: {what}", _compared, Sample(store.parent), may_be_older)


def _judged(what: str, sample: Sample, known: list[tuple[str, str, str]], before: Answers) -> Trial:
    return judged(what, before, answers(sample.store, known), is_harmed=False)


def _compared(what: str, sample: Sample, may_be_older: bool) -> Trial:
    return compared(what, sample, is_harmed=True, may_be_older=may_be_older)


def tear(path: Path, chance: Random) -> str:
    """Changes a file, and says how."""
    data = bytearray(path.read_bytes())
    sectors = max(len(data) // SECTOR, 1)
    at = chance.randrange(sectors) * SECTOR
    sort = chance.choice(("zeroed", "flipped", "random", "swapped", "cut"))
    match sort:
        case "zeroed":
            data[at : at + SECTOR] = bytes(len(data[at : at + SECTOR]))
        case "flipped":
            place = min(at + chance.randrange(SECTOR), len(data) - 1)
            data[place] ^= 1 << chance.randrange(8)
        case "random":
            data[at : at + SECTOR] = chance.randbytes(len(data[at : at + SECTOR]))
        case "swapped":
            other = chance.randrange(sectors) * SECTOR
            data[at : at + SECTOR], data[other : other + SECTOR] = data[other : other + SECTOR], data[at : at + SECTOR]
        case "cut":
            del data[at:]
    path.write_bytes(data)
    return f"{path.suffix or path.name} {sort} at {at} of {sectors * SECTOR}"
