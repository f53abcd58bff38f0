"""Shows episodes to a person who judges them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from alma.text import one_line, shortened
from alma_cli.intervals import marks, picture
from alma_cli.output import console, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from alma.types.episodes import EpisodeRecord, Forecast, Step
    from alma.types.reports import ReviewItem, ReviewReport

_COLUMNS = ("episode", "forecast", "95 %", "0      ½      1")
_FIGURES = ("forecast", "95 %")
_TASK_CHARS, _STEP_CHARS = 200, 120
_STANDING = {True: "ok", False: "failed", None: "not judged"}


def show_report(report: "ReviewReport", pairs: "Sequence[Mapping[str, Any]]", pairs_count: int) -> None:
    """Prints the lists of episodes and of pairs of memories, or that there is nothing to judge."""
    out = console()
    if not report.unjudged and not report.surprising and not pairs:
        out.print("There is nothing to judge.")
    if report.unjudged:
        out.print(_table(report.unjudged, f"Not judged: {_counted(len(report.unjudged), report.unjudged_count)}"))
    if report.surprising:
        out.print(
            _table(
                report.surprising, f"Judged otherwise than forecast: {_counted(len(report.surprising), report.surprising_count)}"
            )
        )

    if pairs:
        show_pairs(pairs, pairs_count)


def show_pairs(pairs: "Sequence[Mapping[str, Any]]", count: int) -> None:
    """Prints pairs of memories that may say the same."""
    rows = [(pair["id"], "\n".join((pair["agent"] or pair["user_id"] or "", *map(one_line, pair["texts"])))) for pair in pairs]
    console().print(table(("pair", "may say the same"), rows, title=f"Unsure: {_counted(len(pairs), count)}"))


def show_episode(episode: "EpisodeRecord") -> None:
    """Prints what a person needs to judge it: the task, the steps, the ending, and the forecast."""
    out = console()
    forecast = episode.forecast
    fields = {
        "episode": episode.id,
        "run": episode.run_id,
        "thread": episode.thread_id,
        "agent": episode.agent,
        "task": episode.task,
        "verdict": episode.outcome or episode.status.value,
        "judged by": episode.verdict_source,
        "strategy": episode.strategy,
        "error": episode.error,
        "feedback": episode.reason or episode.feedback,
        "forecast": forecast and f"{forecast.rate:.0%} ({_range(forecast)}), from {forecast.judged} judged episodes",
    }
    out.print(table(("field", "value"), ((name, value) for name, value in fields.items() if value)))
    if episode.steps:
        out.print(table(("step", "what", "went"), map(_step, episode.steps), right=("step",)))


def _table(items: "Iterable[ReviewItem]", title: str) -> "Table":
    return table(_COLUMNS, map(_row, items), title=title, right=_FIGURES, whole=_COLUMNS[1:])


def _row(item: "ReviewItem") -> tuple[str, ...]:
    forecast = item.forecast
    if forecast is None:
        return (_description(item.episode), "", "", "")
    return (_description(item.episode), f"{forecast.rate:.0%}", _range(forecast), _picture(forecast))


def _description(episode: "EpisodeRecord") -> str:
    task = shortened(one_line(episode.task), _TASK_CHARS)
    count = len(episode.steps)
    said = (f"{episode.ended_at:%Y-%m-%d %H:%M}", f"{count} step{'s' if count != 1 else ''}", _verdict(episode))
    return "\n  ".join((episode.id, f"{episode.agent}: {task}", ", ".join(filter(None, said))))


def _verdict(episode: "EpisodeRecord") -> str:
    return "" if episode.outcome in (None, "unverified") else str(episode.outcome)


def _picture(forecast: "Forecast") -> str:
    from alma.types.strategies import Range

    return picture(forecast.rate, Range(lower=forecast.lower, upper=forecast.upper), marks())


def _range(forecast: "Forecast") -> str:
    return f"{forecast.lower:.0%}–{forecast.upper:.0%}"


def _step(step: "Step") -> tuple[str, str, str]:
    error = f": {shortened(one_line(step.error), _STEP_CHARS)}" if step.error else ""
    return str(step.number), shortened(one_line(step.action), _STEP_CHARS), f"{_STANDING[step.ok]}{error}"


def _counted(shown: int, found: int) -> str:
    return f"{shown}" if shown == found else f"{shown} of {found}"
