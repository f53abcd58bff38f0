"""Whether what is shown for a task was learned from tasks of the same intent, and whether nothing is shown for tasks of another world.

A store learns 400 outcomes in some wordings of each intent. Then it is asked in the wordings that were kept back, in those that it knows, and about
tasks that have nothing to do with it. A rule is a heuristic or an anti-pattern; its intent is that of the task in its metadata.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.simulation.cached_texts import CachedEmbedder
from benchmarks.simulation.policies import ByCounts, Policy, Random, thompson
from benchmarks.simulation.public_policies import AGENT, Opened, opened
from benchmarks.simulation.told import Vocabulary, unrelated
from benchmarks.simulation.wording_worlds import Gap, Kind, World, world

if TYPE_CHECKING:
    from alma import ALMA

OUTCOMES = 400
UNSEEN = 1 / 3


@dataclass(frozen=True, slots=True)
class Relevance:
    """Of one store: rules that were shown in new and in known wordings, those of them of the same intent, queries that were answered with a rule, and
    how many rules each unrelated task was shown."""

    shown: int
    same: int
    known_shown: int
    known_same: int
    queries: int
    answered: int
    foreign: tuple[int, ...]


def measured(
    vocabulary: Vocabulary,
    gap: Gap,
    seed: int,
    embedder: CachedEmbedder,
    *,
    follows_advice: bool = False,
    tasks: int = OUTCOMES,
) -> Relevance:
    """Of one world. The strategies of the outcomes are drawn at random, or chosen by Thompson sampling as by an agent that knows its way."""
    where = world(vocabulary, Kind(gap, unseen=UNSEEN, tasks=tasks), seed)
    chance = np.random.default_rng([seed, 1])
    policy = ByCounts(len(vocabulary.intents), thompson(chance), knows_classes=True) if follows_advice else Random(chance)
    with opened(embedder) as memory:
        intents = _learned(memory, where, policy)
        new = [_shown(memory.alma, task, intent, intents) for task, intent in _queries(where, where.unseen)]
        known = [_shown(memory.alma, task, intent, intents) for task, intent in _queries(where, where.known)]
        foreign = tuple(len(rules(memory.alma, task)) for task in unrelated(vocabulary.name))
    return Relevance(
        shown=sum(shown for shown, _ in new),
        same=sum(same for _, same in new),
        known_shown=sum(shown for shown, _ in known),
        known_same=sum(same for _, same in known),
        queries=len(new),
        answered=sum(shown > 0 for shown, _ in new),
        foreign=foreign,
    )


def rules(alma: "ALMA", task: str) -> list[Any]:
    """The heuristics and anti-patterns that are shown for a task."""
    return [memory for memory in alma.retrieve(task=task, agent=AGENT) if memory.kind in ("heuristic", "anti_pattern")]


def _learned(memory: Opened, where: World, policy: Policy) -> dict[str, int]:
    """Has the memory learn what the policy tries; the intent of each task."""
    for asked in where.asked:
        strategy = policy.choose(asked.task, asked.told_class, asked.offered)
        succeeded = asked.outcome(strategy)
        policy.record(asked.task, asked.told_class, strategy, succeeded)
        memory.learn(asked.task, strategy, succeeded)
    return {asked.task: asked.intent for asked in where.asked}


def _queries(where: World, wordings: Sequence[Sequence[int]]) -> list[tuple[str, int]]:
    """One task for each wording of each intent, with its intent. Names in turn."""
    result = []
    for intent, places in enumerate(wordings):
        for number, place in enumerate(places):
            tasks = where.vocabulary.tasks(intent, place)
            result.append((tasks[number % len(tasks)], intent))
    return result


def _shown(alma: "ALMA", task: str, intent: int, intents: dict[str, int]) -> tuple[int, int]:
    """How many rules are shown, and how many of them are of the intent."""
    found = rules(alma, task)
    return len(found), sum(intents.get(str(rule.metadata.get("task"))) == intent for rule in found)
