"""The methods of `ALMA` that reflection provides."""

from typing import Any

from alma_knowledge.reflection.playbook import playbook
from alma_knowledge.reflection.reflecting import reflect
from alma_knowledge.reflection.results import ReflectionResult


class ReflectionMethods:
    """Reflects on runs. `ALMA` has these methods."""

    def reflect(
        self, agent: str, task_type: str | None = None, llm: object = None, dry_run: bool = True
    ) -> ReflectionResult:
        """Finds which actions go with success and which with failure on like tasks, and with `dry_run=False` notes them as lessons, in one
        journal record that `undo` takes back.

        Runs are the agent's judged outcomes, with the steps of their episodes; `task_type` selects tasks of one stated type. A difference is
        noted if an exact test finds less than one by chance in 20 reflections. `llm` is any model that `as_llm` takes, or `True` for that of the
        configuration: it words at most 3 lessons for each kind of task, which may say no more than the runs that they cite.

        A lesson is a stated heuristic or anti-pattern, shown like any other. Only later episodes in which it was shown and cited count for it or
        against it; what they refute is archived by the next reflection. The same lesson is noted once, and not again after an undo.
        `ConfigurationError` for `llm=True` where none is configured.
        """
        alma: Any = self
        return reflect(alma, agent=agent, task_type=task_type, llm=llm, dry_run=dry_run)

    def playbook(self, agent: str, max_tokens: int = 1_000) -> str:
        """Returns the rules and lessons of an agent for a prompt, in sections, the best first, within `max_tokens`; "" where there are none.

        Tokens are estimated as by `alma.text.estimate_tokens`. A line that does not fit is left out whole.
        """
        alma: Any = self
        return playbook(alma, agent=agent, max_tokens=max_tokens)
