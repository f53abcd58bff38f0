"""Selects the steps that become memories of their own."""

from dataclasses import dataclass, replace

from alma.text import cleaned
from alma.types.episodes import Step

MOST_LESSONS = 20
"""Limit on the steps of an episode that become memories; the others stay in its record."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons so far: the failures, and the tools whose first success after a failure is still awaited."""

    failures: frozenset[tuple[str, str]] = frozenset()
    awaited: frozenset[str] = frozenset()
    count: int = 0

    def after(self, step: Step) -> "Lessons":
        """Returns the lessons with one more step. It is a lesson if the count grew: a failure that is new for its tool, or the tool's
        first success after one."""
        if self.count >= MOST_LESSONS or step.ok is None:
            return self
        if step.ok:
            is_first = step.tool in self.awaited
            return replace(self, awaited=self.awaited - {step.tool}, count=self.count + 1) if is_first else self
        failure = (step.tool, cleaned(step.error or ""))
        if failure in self.failures:
            return self
        return Lessons(self.failures | {failure}, self.awaited | {step.tool}, self.count + 1)
