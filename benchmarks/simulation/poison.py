"""What false outcomes do: of another agent, and of one that writes under the victim's own name."""

from datetime import timedelta
from math import isnan, nan

from alma.types.strategies import Judgement
from benchmarks.gates import Gate
from benchmarks.simulation.worlds import STRATEGIES, TASK_TYPE, Store, store

VICTIM, POISONER = "victim", "poisoner"
GOOD, BAD = STRATEGIES[:2]
TRUE_TRIALS = 50
FALSE_OUTCOMES = 100
FLOODS = (
    ("equal, at once", timedelta(0), "same"),
    ("equal, a minute apart", timedelta(minutes=1), "same"),
    ("each of another task, at once", timedelta(0), "job {}"),
)
IS_GOOD = (Judgement.WORKS, Judgement.SEEMS_TO_WORK)


def figures() -> list[Gate]:
    """The effect of another agent, which must be none; how much it takes under the victim's own name, and to win back what that cost."""
    result = [Gate(f"{FALSE_OUTCOMES} false outcomes of another agent: calls that answer otherwise", _by_another(), "", limit=0)]
    for name, apart, task in FLOODS:
        to_fall, to_return = _flooded(apart, task)
        result += [
            Gate(f"false failures, {name}, until {TRUE_TRIALS} successes are no rule", to_fall, ""),
            Gate(f"  after {FALSE_OUTCOMES} of them: true successes until it is one again", to_return, ""),
        ]
    return result


def _by_another() -> int:
    """How many of the victim's calls answer otherwise than before."""
    with store() as memory:
        _true_record(memory)
        before, now = _seen(memory), memory.clock()
        memory.learn_all(POISONER, [(GOOD, False), (BAD, True)] * (FALSE_OUTCOMES // 2))
        memory.clock.set(now)  # what is told says how long ago something was
        after = _seen(memory)
    return sum(one != other for one, other in zip(before, after, strict=True))


def _flooded(apart: timedelta, task: str) -> tuple[float, float]:
    """How many false failures under the victim's own name demote the rule, and after all of them how many true successes bring it back; nan if
    as many do not."""
    with store() as memory:
        _true_record(memory)
        to_fall = to_return = nan
        for number in range(1, FALSE_OUTCOMES + 1):
            memory.clock.advance(apart)
            memory.alma.learn(agent=VICTIM, task=task.format(number), outcome=False, strategy_used=GOOD, task_type=TASK_TYPE)
            if isnan(to_fall) and not _is_rule(memory):
                to_fall = number
        for number in range(1, FALSE_OUTCOMES + 1):
            memory.learn(VICTIM, GOOD, won=True)
            if _is_rule(memory):
                to_return = number
                break
    return to_fall, to_return


def _true_record(memory: Store) -> None:
    """Fifty successes of the one strategy, and the other, which fails every other time, in turn."""
    memory.learn_all(VICTIM, [event for number in range(TRUE_TRIALS) for event in ((GOOD, True), (BAD, number % 2 == 0))])


def _seen(memory: Store) -> list[object]:
    """What the victim is told: its table, what is retrieved, a check, assessments of both strategies and of the task."""
    alma, task = memory.alma, "Job 1"
    return [
        alma.strategies(task=task, agent=VICTIM),
        alma.strategies(task_type=TASK_TYPE, agent=VICTIM),
        alma.retrieve(task=task, agent=VICTIM).to_prompt(),
        alma.check(agent=VICTIM, action=BAD),
        alma.assess(strategy=GOOD, context=task, agent=VICTIM),
        alma.assess(strategy=BAD, context=task, agent=VICTIM),
        alma.assess(context=task, agent=VICTIM),
    ]


def _is_rule(memory: Store) -> bool:
    return next(row.verdict for row in memory.table(VICTIM) if row.strategy == GOOD) in IS_GOOD
