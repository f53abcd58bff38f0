"""What happens in a round, drawn from a seed: who works how, and who is killed when."""

from dataclasses import dataclass
from random import Random

MOST_SECONDS = 0.9
"""So long a process works at most before it is killed."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One process of writers.

    It is killed after `killed_after` seconds, or stopped if that is `None`: with all that it forked, or `alone`, so that its children work on as
    orphans. With `again` another takes its place. With `calls` it ends by itself when each of its threads has made that many.
    """

    name: str
    threads: int = 1
    opens: float = 0.0
    forks: float = 0.0
    work: str = "every"
    killed_after: float | None = None
    again: bool = False
    alone: bool = False
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A round: its workers, whether all are killed at one moment, whether another process has the store open all the time (the witness), and how
    many come and go meanwhile (the visitors). With `creation` the kills may fall into the making of the store."""

    number: int
    seed: str
    sort: str
    workers: tuple[Worker, ...]
    at_once: bool = False
    witness: bool = False
    visitors: int = 0
    creation: bool = False
    kills_children: bool = True


SORTS = {"mixed": 5, "threads": 2, "opens and forks": 3, "long calls": 2, "creation": 1, "re-embedding": 1}


def plan_of(seed: int, number: int) -> Plan:
    """The plan of a round, the same for the same seed and number."""
    chance = Random(f"{seed}/{number}")
    sort = chance.choices(list(SORTS), weights=list(SORTS.values()))[0]
    at_once, seconds = chance.random() < 0.3, _seconds(chance)
    workers = tuple(_worker(chance, sort, place, seconds if at_once else None) for place in range(chance.choice((2, 3, 3, 4))))
    return Plan(
        number,
        f"{seed}/{number}",
        sort,
        workers,
        at_once=at_once,
        witness=sort != "creation" and chance.random() < 0.4,
        visitors=chance.choice((0, 1, 2)) if sort != "creation" else 0,
        creation=sort == "creation",
    )


def _worker(chance: Random, sort: str, place: int, at_once: float | None) -> Worker:
    opens, forks = chance.choice(((0.0, 0.0), (0.1, 0.0), (0.05, 0.05)))
    if sort == "opens and forks":
        opens, forks = 0.15, 0.1
    threads = chance.choice((2, 3)) if sort == "threads" else chance.choice((1, 1, 1, 2))
    work = "long" if sort == "long calls" else "reindexing" if sort == "re-embedding" and place == 0 else "every"
    seconds = at_once if at_once is not None else _seconds(chance, creation=sort == "creation")
    is_killed = at_once is not None or chance.random() < 0.8
    return Worker(
        f"p{place}",
        threads,
        opens,
        forks,
        work,
        killed_after=seconds if is_killed else None,
        again=is_killed and at_once is None and chance.random() < 0.4,
        alone=chance.random() < 0.3,
    )


def _seconds(chance: Random, *, creation: bool = False) -> float:
    return chance.uniform(0.0, 0.25) if creation else chance.uniform(0.05, MOST_SECONDS)


COUNTED_PROCESSES = 8


def counting_plan(seed: int, calls: int) -> Plan:
    """Eight processes that make so many calls each, with further opens and forks, and are not killed."""
    workers = tuple(Worker(f"p{place}", opens=0.04, forks=0.02, calls=calls) for place in range(COUNTED_PROCESSES))
    return Plan(0, f"{seed}/counts", "counts", workers, witness=True, visitors=1, kills_children=False)
