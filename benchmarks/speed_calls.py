"""The other calls of a program, and small readers beside a large one: what `benchmarks.speed` measures after learning and answering.

Beside the agent that has learned everything stand an agent with a hundred tasks, a user with a hundred of their own, and another project with a
hundred. They are asked in turn with the large agent, so each answers with the processor's caches full of another's vectors.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.gates import Gate
from benchmarks.measures import percentile
from benchmarks.subject import AGENT, AlmaSubject
from benchmarks.texts import Task

if TYPE_CHECKING:
    from alma import ALMA

BESIDE = 100
TINY, USER, OTHER = "tiny", "user-1", "other project"

Call = Callable[[str, Task], object]


def fill_beside(store: AlmaSubject, tasks: Sequence[Task]) -> None:
    """Learns a hundred tasks for each of the small readers."""
    alma = store.alma
    other = alma.for_project(OTHER)
    for task in tasks[:BESIDE]:
        alma.learn(agent=TINY, **_arguments(task))
        alma.learn(agent=AGENT, user_id=USER, **_arguments(task))
        other.learn(agent=AGENT, **_arguments(task))


class OtherCalls:
    """The calls of one store, with the milliseconds that each took so far."""

    def __init__(self, store: AlmaSubject) -> None:
        self._store, self._calls = store, _calls(store.alma)
        self.times: dict[str, list[float]] = {name: [] for name in self._calls}

    def make(self, pairs: Iterable[tuple[str, Task]]) -> None:
        """Makes each call for each query and task, in turn."""
        for query, task in pairs:
            for name, call in self._calls.items():
                self.times[name].append(self._store.timed(partial(call, query, task))[0])


def gates(size: int, taken: Mapping[str, Sequence[float]]) -> list[Gate]:
    """The middle and the slow calls of each sort, and how many a second."""
    return [
        gate
        for name, milliseconds in taken.items()
        for gate in (
            *(
                Gate(f"{name} p{share * 100:g}, {size:,} memories", percentile(milliseconds, share), "ms")
                for share in (0.5, 0.95, 0.99)
            ),
            Gate(f"{name}, {size:,} memories", 1e3 * len(milliseconds) / sum(milliseconds), "/s", more_is_better=True),
        )
    ]


def _calls(alma: "ALMA") -> dict[str, Call]:
    other = alma.for_project(OTHER)

    def used(query: str, _: Task) -> None:
        alma.record_usage(shown, shown[:1], agent=AGENT, query=query)

    def episode(query: str, task: Task) -> None:
        with alma.episode(agent=AGENT, task=query) as attempt:
            attempt.succeed(strategy=task.strategy)

    shown = alma.retrieve(task="what was done before", agent=AGENT).ids
    return {
        "retrieve, agent with 100 memories": lambda query, _: alma.retrieve(task=query, agent=TINY),
        "retrieve for a user": lambda query, _: alma.retrieve(task=query, agent=AGENT, user_id=USER),
        "retrieve, project with 100 memories": lambda query, _: other.retrieve(task=query, agent=AGENT),
        "check": lambda _, task: alma.check(AGENT, task.strategy),
        "strategies": lambda query, _: alma.strategies(query, AGENT),
        "record_usage": used,
        "episode": episode,
    }


def _arguments(task: Task) -> dict[str, Any]:
    return {"task": task.task, "outcome": task.succeeded, "strategy_used": task.strategy}
