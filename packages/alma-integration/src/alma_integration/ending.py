"""Ends runs: writes what was reported, asks the evaluator, and records the verdict in the part of each agent."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from alma.errors import AlmaError
from alma_integration.closing import close_part
from alma_integration.judging import asked, asked_here
from alma_integration.parts import End
from alma_integration.views import RunReport, RunView
from alma_integration.work import JUDGING, working

if TYPE_CHECKING:
    from alma_integration.run import Run


def end_run(run: "Run", end: End) -> RunReport | None:
    """Ends a run in this thread. An error that the evaluator raises leaves it recorded, unjudged."""
    view = _closing(run, end)
    if view is None:
        return None
    try:
        said = _judged(run, end, view)
    except BaseException:
        _close(run, end, None, view)
        raise
    return _close(run, end, said, view)


async def aend_run(run: "Run", end: End) -> RunReport | None:
    """As `end_run`: writes in another thread, and awaits an evaluator that is a coroutine function in this loop."""
    if not _is_asked(run, end):
        return await asyncio.shield(asyncio.to_thread(end_run, run, end))
    view = await asyncio.shield(asyncio.to_thread(_closing, run, end))
    if view is None:
        return None
    said: object = None
    try:
        with run.integration.guard("a run could not be judged", run), working():
            said = await asked_here(run.options.evaluator, view)  # type: ignore[arg-type]  # there is one
    except BaseException:  # cancelled, or raised by the evaluator: the run is recorded unjudged
        run.in_background(partial(_close, run, end, None, view))
        raise
    return await asyncio.shield(asyncio.to_thread(_close, run, end, said, view))


def end_in_background(run: "Run", end: End) -> None:
    """Ends a run in the thread that writes. The evaluator runs on a pool of its own, so that it delays no other run."""
    view = _closing(run, end)
    if view is None:
        return
    if not _is_asked(run, end):
        _close(run, end, None, view)
        return
    backlog = run.integration.verdicts
    backlog.started()

    def judge() -> None:
        said: object = None
        try:
            said = _judged(run, end, view)
        except BaseException as error:
            if not isinstance(error, Exception):
                with suppress(AlmaError), run.integration.guard("a run could not be judged", run):
                    raise AlmaError(f"the evaluator raised {error!r}") from error
        try:
            run.in_background(partial(_close, run, end, said, view))
        finally:
            backlog.done()

    JUDGING.submit(judge)


def _closing(run: "Run", end: End) -> RunView | None:
    """Writes the remaining events and returns the run as evaluators see it; `None` if it is over."""
    with run.lock:
        if run.is_over or run.is_ending:
            return None
        run.is_ending = True
        try:
            try:
                run.settle()
            finally:
                if not end.is_neutral:
                    run.begun(run.parts[run.agent])
            return _view(run, end)
        except BaseException:  # the end was not written; the caller may end the run by this error
            run.is_ending = False
            raise


def _view(run: "Run", end: End) -> RunView:
    return RunView(
        agent=run.agent,
        task=run.task,
        answer=end.answer,
        steps=run.steps,
        memories=run.parts[run.agent].shown,
        cited=tuple(run.cited),
        error=end.error if isinstance(end.error, BaseException) else None,
        episode_id=run.episode_id,
        run_id=run.run_id,
        thread_id=run.thread_id,
        **dict(end.found),
    )


def _is_asked(run: "Run", end: End) -> bool:
    is_asked = end.is_judged and end.error is None and not end.is_neutral and not run.is_judging
    return is_asked and run.options.evaluator is not None


def _judged(run: "Run", end: End, view: RunView) -> object:
    said: object = None
    if _is_asked(run, end):
        with run.integration.guard("a run could not be judged", run), working():
            said = asked(run.options.evaluator, view)  # type: ignore[arg-type]  # there is one
    return said


def _close(run: "Run", end: End, said: object, view: RunView) -> RunReport | None:
    with run.lock:
        if run.is_over:
            return None
        run.is_over = True
        run.integration.drop(run)
        closed = (close_part(run, part, end, said, view) for part in tuple(run.parts.values()))
        records = tuple(record for record in closed if record is not None)
        if not records:
            return None
        run.report = report = RunReport(run.agent, run.task, records, run.run_id, run.thread_id)
    run.integration.report(report, run)
    return report
