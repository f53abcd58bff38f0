"""Records the end of a run: its verdict, its credit, and the memories used."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alma import Episode
from alma.episode import exposures, leaving
from alma.types.episodes import EpisodeRecord, with_use
from alma.types.kinds import Verdict, VerdictSource
from alma_integration.credit import unrepaired
from alma_integration.judging import read_judgement
from alma_integration.options import default_strategy
from alma_integration.parts import End, Part
from alma_integration.views import RunView

if TYPE_CHECKING:
    from alma_integration.run import Run


def close_part(run: "Run", part: Part, end: End, said: object, view: RunView) -> EpisodeRecord | None:
    """Ends the episode of one agent; returns `None` if there is none, or if it could not be ended."""
    episode = part.episode
    if episode is None or (part.is_given_up and not episode.is_written):
        return None
    record: EpisodeRecord | None = None
    with run.integration.guard("the end of a run was not recorded", run):
        record = run.written(part, lambda: _ended(run, episode, part, end, said, view), is_last=True)
    if record is None and episode.is_open and not part.is_given_up:  # a function of the user failed; the steps stay recorded
        with run.integration.guard("the end of a run was not recorded", run):
            record = run.written(part, episode.end, is_last=True)
    return record and _with_late(record, part)


def _with_late(record: EpisodeRecord, part: Part) -> EpisodeRecord:
    """Returns the record with the memories that were shown after the beginning, of which the store keeps the use."""
    late = with_use(exposures(part.late), record.used)
    shown = (each.model_copy(update={"rank": each.rank + len(record.shown)}) for each in late)
    return record.model_copy(update={"shown": (*record.shown, *shown)}) if late else record


def _ended(run: "Run", episode: Episode, part: Part, end: End, said: object, view: RunView) -> EpisodeRecord:
    if end.is_neutral:
        return episode.abandon(run.stored(end.reason))
    if end.error is not None:
        return _ended_by_error(run, episode, part, end, view)
    verdict: Verdict | None = None
    reason: str | None = None
    with run.integration.guard("a run could not be judged", run):
        verdict, reason = read_judgement(said)
    source = VerdictSource.EVALUATOR
    if verdict is None:
        verdict, source, reason = end.verdict, end.source, reason or end.reason
    if part.agent == run.agent:
        _name_used(run, episode, view)
    feedback = run.stored(reason)
    credit = _credit(run, part, view, verdict)
    if verdict is None:
        return episode.end(strategy=credit.strategy, feedback=feedback)
    remark = None if feedback is not None and feedback == credit.error else feedback
    return episode.end(verdict, strategy=credit.strategy, error=credit.error, feedback=remark, source=source)


@dataclass(frozen=True, slots=True)
class _Credit:
    """The strategy that a verdict counts for, and the error that explains a failure."""

    strategy: str | None = None
    error: str | None = None


def _credit(run: "Run", part: Part, view: RunView, verdict: Verdict | None) -> _Credit:
    """Returns the credit or blame of one agent.

    A failed call that was not repaired explains a failure: it is to blame, and no other call of any agent. While such a run is unjudged,
    nothing is credited, since a verdict may still come.
    """
    if run.options.strategy is default_strategy and verdict in (None, Verdict.UNVERIFIED, Verdict.FAILURE):
        failed = unrepaired(run.taken)
        if failed is not None:
            is_to_blame = verdict is Verdict.FAILURE and failed.agent == part.agent
            return _Credit(failed.action, failed.error) if is_to_blame else _Credit()
    return _Credit(_strategy(run, part, view))


def _ended_by_error(run: "Run", episode: Episode, part: Part, end: End, view: RunView) -> EpisodeRecord:
    """Ends an episode by an error. An exception blames no strategy: if a tool raised it, that step is recorded; an overloaded model is no
    fault of a strategy."""
    if not isinstance(end.error, BaseException):
        is_blamed = end.blames_strategy and part.agent == run.speaking and unrepaired(run.taken) is None
        strategy = _strategy(run, part, view) if is_blamed else None
        return episode.end(Verdict.FAILURE, strategy=strategy, error=run.stored(end.error), source=VerdictSource.TOOL)
    left = leaving(end.error)
    if left.outcome is None:
        return episode.abandon(end.reason or type(end.error).__name__)
    return episode.end(left.outcome, error=run.stored(left.error), source=VerdictSource.TOOL)


def _strategy(run: "Run", part: Part, view: RunView) -> str | None:
    """Returns the strategy that one agent is credited with, from its own steps."""
    own = replace(view, agent=part.agent, steps=tuple(part.steps))
    said = run.options.strategy(own)
    return None if said is None else run.stored(str(said))


def _name_used(run: "Run", episode: Episode, view: RunView) -> None:
    used = run.options.usage(view) if run.options.usage else None
    if used is not None:
        episode.used(used)
