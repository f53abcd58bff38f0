"""ALMA as a memory to be played with, through its public calls alone."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.played.counts import Counts
from benchmarks.played.memories import Memory, OpenMemory, Prompt, Row
from benchmarks.played.worlds import BETWEEN_ATTEMPTS, FIRST_ATTEMPT, OUTCOMES, Attempt, Question, World

if TYPE_CHECKING:
    from alma import ALMA
    from alma.protocols import Embedder
    from alma.testing import FixedClock

RULES = ("heuristic", "anti_pattern")


class FacadeMemory:
    """One store, for the agent and the user of a world."""

    def __init__(self, alma: "ALMA", clock: "FixedClock", world: World) -> None:
        self._alma, self._clock, self._agent, self._user = alma, clock, world.agent, world.user

    def learn(self, attempt: Attempt, /) -> None:
        self._alma.learn(
            agent=self._agent,
            task=attempt.task,
            outcome="success" if attempt.is_success else "failure",
            strategy_used=attempt.wording,
            task_type=attempt.task_type,
            error_message=attempt.error,
        )
        self._clock.advance(BETWEEN_ATTEMPTS)

    def retrieve(self, question: Question, /) -> Prompt:
        found = self._alma.retrieve(task=question.task, agent=self._agent, task_type=question.task_type, user_id=self._user)
        rules = [each.memory.id for each in found.recalled if each.memory.kind in RULES]
        return Prompt(found.to_prompt(), lambda: [self._strategies_behind(rule) for rule in rules])

    def table(self, question: Question, /) -> list[Row]:
        table = self._alma.strategies(task=question.task, agent=self._agent, task_type=question.task_type, user_id=self._user)
        return [Row(row.strategy, Counts(float(row.successes), float(row.trials)), row.wordings, row.elsewhere) for row in table]

    def assess(self, wording: str, question: Question, /) -> Counts | None:
        answer = self._alma.assess(
            wording, context=question.task, agent=self._agent, task_type=question.task_type, user_id=self._user
        )
        return None if str(answer.verdict) == "unknown" else Counts(float(answer.successes), float(answer.trials))

    def check(self, wording: str, question: Question, /) -> str | None:
        answer = self._alma.check(
            agent=self._agent, action=wording, task=question.task, task_type=question.task_type, user_id=self._user
        )
        return None if answer.is_clear else str(answer)

    def wake_up(self) -> str:
        return self._alma.wakeup(self._agent, self._user)

    def name_ways(self, model: object) -> None:
        """Lets a language model name the ways that were tried. `AssertionError` if it fails."""
        from alma.consolidation import ConsolidationEngine

        engine = ConsolidationEngine(storage=self._alma, llm_client=model)
        result = asyncio.run(engine.consolidate(self._agent, memory_type="outcomes"))
        assert result.named, result.errors
        assert result.success, result.errors

    def _strategies_behind(self, rule: str) -> Sequence[str]:
        return [each.strategy_used or "" for each in self._alma.outcomes_behind(rule, limit=OUTCOMES)]


def facade_opener(embedder: "Embedder") -> OpenMemory:
    """Returns what opens an empty store of ALMA in a folder of its own, deleted afterwards."""

    @contextmanager
    def open_memory(world: World) -> Iterator[Memory]:
        from alma import ALMA
        from alma.testing import FixedClock

        clock = FixedClock(FIRST_ATTEMPT)
        with (
            tempfile.TemporaryDirectory(prefix="played-") as folder,
            ALMA.open(folder, project_id="played", embedding_provider=embedder, clock=clock) as alma,
        ):
            for category, preference in world.preferences:
                alma.add_user_preference(user_id="user-1", category=category, preference=preference)
            yield FacadeMemory(alma, clock, world)

    return open_memory
