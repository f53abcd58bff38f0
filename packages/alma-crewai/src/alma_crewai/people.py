"""Records the remarks of people on answers. CrewAI asks them through a provider, which is wrapped here."""

from functools import partial
from typing import Any, cast

from crewai.core.providers.human_input import HumanInputProvider, get_provider, reset_provider, set_provider

from alma_crewai.attempt import Attempt


class _StandIn:
    """Proxy of a CrewAI object that reports to an attempt."""

    def __init__(self, real: Any, attempt: Attempt) -> None:
        self.__dict__.update(_real=real, _attempt=attempt)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


class Listened(_StandIn):
    """Proxy of a provider of human input. It reports each remark before the agent receives it, and also that there was none."""

    def handle_feedback(self, formatted_answer: Any, context: Any) -> Any:
        answer = self._real.handle_feedback(formatted_answer, _Executor(context, self._attempt))
        return self._reviewed(answer, context)

    async def handle_feedback_async(self, formatted_answer: Any, context: Any) -> Any:
        answer = await self._real.handle_feedback_async(formatted_answer, _Executor(context, self._attempt))
        return self._reviewed(answer, context)

    def _reviewed(self, answer: Any, context: Any) -> Any:
        if not context._is_training_mode():  # training takes one remark, and does not ask for approval
            self._attempt.accepted()
        return answer


class _Executor(_StandIn):
    """Proxy of the executor that providers work on. It reports the remarks passed to it."""

    def _format_feedback_message(self, feedback: str) -> Any:
        self._attempt.corrected(feedback)
        return self._real._format_feedback_message(feedback)


def listen(attempt: Attempt) -> None:
    """Reports the remarks of people in this context while the attempt is open."""
    token = set_provider(cast(HumanInputProvider, Listened(get_provider(), attempt)))
    attempt.on_leave.append(partial(reset_provider, token))
