"""One strategy in many wordings: one row and a heuristic, known again by `check`; and strategies that are all alike: none is proven better."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alma.types.strategies import Judgement
from benchmarks.simulation.public_policies import Opened
from benchmarks.simulation.told import Vocabulary

TEN_WORDINGS = (
    "restart the service and watch the log",
    "Bounce it, then keep an eye on the log output",
    "Stop and start the process while tailing the log",
    "Reboot the daemon, follow what it writes to its log",
    "systemctl restart, then tail -f the log",
    "Kick the service over and look at the log lines",
    "Turn the service off and on again and observe its logs",
    "Relaunch the process and monitor the log",
    "Cycle the service, checking the log as it comes up",
    "Do a restart of the service and read along in the log file",
)
SUCCESSES = 20
FAILURES = 8
TYPE = "job"
PROVEN = (Judgement.WORKS, Judgement.FAILS)
NULL_RATES = (0.05, 0.5, 0.8, 0.95)
NULL_STRATEGIES, NULL_TRIALS = ("amber", "cobalt"), 12


@dataclass(frozen=True, slots=True)
class Merged:
    """Of one strategy after 20 successes in all of its wordings: the rows, the successes and trials of the first, whether there is a heuristic."""

    rows: int
    successes: float
    trials: float
    has_heuristic: bool

    @property
    def is_one(self) -> bool:
        """Whether all is as it should be."""
        return (self.rows, self.successes, self.trials, self.has_heuristic) == (1, SUCCESSES, SUCCESSES, True)


def merged(memory: Opened, agent: str, wordings: Sequence[str], tasks: Sequence[str]) -> Merged:
    """Learns of 20 successes, the wordings in turn."""
    events = [(tasks[number % len(tasks)], TYPE, wordings[number % len(wordings)], True) for number in range(SUCCESSES)]
    memory.learn_all(agent, events)
    rows = memory.table(tasks[0], task_type=TYPE, agent=agent).rows
    return Merged(len(rows), rows[0].successes, rows[0].trials, any(row.heuristic_id for row in rows))


def warned(memory: Opened, agent: str, words: Vocabulary, place: int, tasks: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """After a strategy failed in its plainest wording and another succeeded: whether `check` warns of its other wordings, and of other strategies."""
    bad, *others = words.strategies[place]
    good = words.strategies[(place + 1) % len(words.strategies)][0]
    events = [(task, TYPE, strategy, strategy == good) for task in tasks[:FAILURES] for strategy in (bad, good)]
    memory.learn_all(agent, events)

    def warns(action: str) -> bool:
        return bool(memory.alma.check(agent, action, task_type=TYPE).warnings)

    foreign = [wording for number, wordings in enumerate(words.strategies) if number != place for wording in wordings]
    return [warns(wording) for wording in others], [warns(wording) for wording in foreign]


def any_false(memory: Opened, agent: str, rate: float, chance: np.random.Generator) -> bool:
    """Whether any of two equal strategies is proven to work or to fail, at any look while each is tried twelve times."""
    for number in range(NULL_TRIALS):
        for strategy in NULL_STRATEGIES:
            memory.learn_all(agent, [(f"Job {number}", TYPE, strategy, bool(chance.random() < rate))])
            if any(row.verdict in PROVEN for row in memory.table("Job", task_type=TYPE, agent=agent).rows):
                return True
    return False


def tasks_of(words: Vocabulary) -> list[str]:
    """Tasks of the first intent, each in other words."""
    return [words.tasks(0, number)[0] for number in range(len(words.wordings[0]))]
