"""`ALMACrewListener`: one episode for each task that a crew does."""

from itertools import count
from typing import Unpack

from alma import ALMA, EpisodeRecord
from alma_crewai import hooks, listening, watching
from alma_crewai.practice import Practice, Settings, check_names

_NUMBERS = count()


class ALMACrewListener:
    """Records each task that a crew does as one episode: what was shown, the calls of tools, how it ended.

    The `evaluator` has the last word, then a guardrail; where neither judged, a failed tool makes it partial; a failed task is a failure; otherwise
    it is unverified. It is stored when the task ends; nothing that goes wrong in ALMA reaches the crew.

    An `ALMAMemory` has one of its own. One made by hand records the tasks of all crews in the process that have no `ALMAMemory`; of several, the
    one made last. It listens until it or its ALMA is closed, whether or not anybody else keeps it. `Practice` says what the settings mean.
    """

    def __init__(self, alma: ALMA, *, is_of_a_memory: bool = False, **settings: Unpack[Settings]) -> None:
        check_names(settings, type(self).__name__)
        self.practice = Practice(alma, **settings)
        self.is_of_a_memory = is_of_a_memory
        self.number = next(_NUMBERS)
        self._let_go = _nothing if is_of_a_memory else alma.before_close(self.close)  # often nobody else keeps one made by hand
        hooks.listen(self)

    @property
    def is_open(self) -> bool:
        """Whether tasks are recorded."""
        return listening.is_heard(self)

    @property
    def errors(self) -> tuple[Exception, ...]:
        """What went wrong in ALMA or in the functions it was given, newest last, at most 100."""
        return tuple(self.practice.errors)

    @property
    def last_run(self) -> EpisodeRecord | None:
        """The record of the attempt that ended last."""
        return self.practice.last_run

    def close(self) -> None:
        """Records no more tasks; what is going on is closed without a verdict. After the last listener, CrewAI's hooks are as they were."""
        hooks.stop(self)
        self._let_go()
        for run in list(self.practice.open_runs):
            with watching.reporting(self.practice):
                run.abandon("its listener was closed")


def _nothing() -> None:
    pass
