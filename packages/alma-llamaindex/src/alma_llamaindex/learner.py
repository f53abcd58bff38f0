"""`ALMALearner`: records the runs of one project."""

import asyncio
import threading
from collections.abc import Collection
from types import TracebackType
from typing import Any, Self, Unpack

from alma import ALMA, ValidationError
from alma_integration import Integration, Learning, OptionArguments, Options, checked_alma, checked_names
from alma_llamaindex import streams
from alma_llamaindex.handler import HANDLER, LEARNERS

CLOSING_SECONDS = 60.0
"""Uninstalling it, and closing its ALMA, wait this long for an evaluator that does not return."""
_ONE_AT_A_TIME = threading.Lock()
"""Lets threads that begin to use one project share its learner."""


class ALMALearner(Learning):
    """Records each run of an agent as an episode: its tool calls as steps, its citations as use, its end as the outcome.

    A run is learned from if its memory has an ALMA block of the same `alma`, or if its agent is named in `agents`; a chat engine's answer
    by its memory, too, and with `query_engines` an answer of a query engine over an `ALMARetriever`. Each agent of a workflow has an
    episode of its own. The options are those of `alma.integration.Options`; those of a memory take precedence.

    `install` begins, `uninstall` ends, a `with` block does both. Of several learners for one `alma`, the one installed last takes runs
    that begin from then on. No error here fails an agent: errors are logged and kept in `errors`. It writes in the background; `flush`
    waits for that.
    """

    def __init__(
        self, alma: ALMA, *, agents: Collection[str] = (), query_engines: bool = False, **options: Unpack[OptionArguments]
    ) -> None:
        self.alma = checked_alma(alma)
        self.agents = checked_names(agents, "agents")
        self.query_engines = bool(query_engines)
        self.options = Options(**options)
        self._integration = self.integration = Integration(alma, options=self.options)
        self._stay_closed: Any = None

    @property
    def is_installed(self) -> bool:
        """True while it is installed."""
        return self in LEARNERS.known(self.alma)

    def is_like(self, other: "ALMALearner") -> bool:
        """Returns True when both learn alike: of one ALMA, with the same options."""
        return all(getattr(self, name) == getattr(other, name) for name in ("alma", "options", "agents", "query_engines"))

    def install(self) -> Self:
        """Begins to follow runs. A second call changes nothing."""
        if not self.is_installed:
            self._stay_closed = self.alma.before_close(self.uninstall)
            LEARNERS.add(self)
        return self

    def uninstall(self) -> None:
        """Stops, after all ended runs are recorded. If it is the last one of its project, live runs are abandoned."""
        if self.is_installed:
            LEARNERS.remove(self)
            self._stay_closed()
        self.flush(CLOSING_SECONDS)

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all ended runs are judged and recorded. Returns whether they are, within `timeout` seconds.

        Streamed answers that were never read end here, unverified. `False` at once in an evaluator, whose own run is not recorded yet.
        """
        streams.end_unread(with_open=True)
        return self.integration.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def correct(self, reason: str, *, run_id: str | None = None) -> None:
        """Records that a person sent the agent back, and why; the next run on such a task is shown the reason.

        In a tool, that is the run which calls it. Elsewhere `run_id` names the run: `learner.correct("not on Fridays",
        run_id=handler.run_id)`. `ValidationError` if no run of this learner is live there.
        """
        here = HANDLER.here()
        if run_id is not None:
            meant = [followed for followed in HANDLER.going_on() if followed.run_id == run_id]
        else:
            meant = [] if here is None else [here.followed]
        run = next((run for followed in meant if (run := followed.run_of(self.alma))), None)
        if run is None:
            raise ValidationError("there is no run to correct; name one that goes on by run_id=handler.run_id")
        run.corrected(reason)
        run.settle_soon()

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.uninstall()


def learner_of(alma: ALMA) -> ALMALearner:
    """Returns the learner that takes the runs of a project; a new one if there was none."""
    with _ONE_AT_A_TIME:
        return LEARNERS.in_charge(alma) or ALMALearner(alma).install()


def instrument_alma(
    alma: ALMA, *, agents: Collection[str] = (), query_engines: bool = False, **options: Unpack[OptionArguments]
) -> ALMALearner:
    """Learns from all runs that use this ALMA from now on. The options are those of `ALMALearner`.

    Called again with the same options, it returns the same learner.
    """
    asked, last = ALMALearner(alma, agents=agents, query_engines=query_engines, **options), LEARNERS.in_charge(alma)
    return last if last is not None and last.is_like(asked) else asked.install()
