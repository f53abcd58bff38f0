"""Methods of `ALMA` that learn from what others run, which `alma-harness` provides: one line per method."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import ModuleType
from typing import Any, TypeVar

from alma.extensions import extension
from alma.memory.argument_order import by_place

F = TypeVar("F", bound=Callable[..., Any])


def _harness(module: str) -> ModuleType:
    return extension(f"alma_harness.{module}", "harness", "functions and traces are")


class Observed:
    """What is learned from functions and from traces."""

    def remembers(self, agent: Any = None, *, task: str | Callable[..., str] | None = None, **options: Any) -> Callable[[F], F]:
        """Returns a decorator for a function, a coroutine function or a generator of either kind: each call is recorded as a run.

        `agent` is a name, or a function of the `RunContext`. The task is the argument that `task` names, or what `task` returns for the
        arguments; by default the argument `task`, else the first text. A parameter `notes` is given what is remembered. A function with
        further arguments is itself the step that is learned: `deploy(way="rolling")`. Its exception is a failure, and raised again.
        `options` are those of `alma.integration.Options`. Needs `alma-core[harness]`.
        """
        decorator: Callable[[F], F] = _harness("remembering").remembers(self, agent, task=task, **options)
        return decorator

    def learn_from_spans(self, /, spans: str | bytes | Mapping[str, Any], agent: str | None = None, **options: Any) -> Any:
        """Records the runs of OpenTelemetry traces: OTLP JSON as a text, a mapping, or one document per line. Returns a `SpansReport`.

        Each `invoke_agent` span is a run of `gen_ai.agent.name`, or of `agent`; the `execute_tool` spans below it are its steps; a span with an
        error is a failure. Runs that were recorded before are left out. What cannot be read is a `ValidationError`, and nothing is stored.
        `options` are those of `alma.integration.Options`. Needs `alma-core[harness]`.
        """
        return _harness("traces").learn_from_spans(self, spans, agent=agent, **options)

    @by_place("current_context")
    def get_proactive_suggestions(
        self,
        current_context: str,
        agent: str,
        *,
        user_id: str | None = None,
        threshold: float = 0.5,
        limit: int = 5,
        now: datetime | None = None,
    ) -> list[Any]:
        """Returns what an agent should hear unasked in a context: `Suggestion`s, nearest first; none where nothing reaches the threshold.

        A "warning" is an anti-pattern, an "open_item" a task that the agent began and did not end, an "expiring_fact" a fact whose metadata has
        an `expires_at` (ISO 8601) that is past, or within 7 days of `now`. `threshold` is the least similarity, 0 to 1. Writes nothing. Needs
        `alma-core[harness]`.
        """
        found: list[Any] = _harness("proactive").get_proactive_suggestions(
            self, current_context, agent, user_id=user_id, threshold=threshold, limit=limit, now=now
        )
        return found
