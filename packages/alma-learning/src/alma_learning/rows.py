"""Rows from the trials of ways."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from alma_learning.estimate import Weighed, bound, weigh
from alma_learning.proof import first_votes, prove
from alma_learning.table import Row, Side, Status
from alma_learning.trials import OWN_WORD, Needed, Trial

ANCHORS = 8
LIKELY, LIKELY_TASKS = 0.9, 3
ALTERNATIVE_TASKS = 2
ENOUGH_WORDS = 5
NEWEST = 8


def make_rows(
    groups: Sequence[Sequence[Trial]], *, base: float, kinds: int, needed: Callable[[str], Needed], reader: str | None
) -> list[tuple[int, Row]]:
    """Returns the row of each group of trials of one way (oldest first), with the place of its group: best first, of equal ones the newest.

    A group of which no words may be shown has none.
    """
    judged = [[trial for trial in group if trial.worth is not None] for group in groups]
    weighed = [weigh(trials, reader) for trials in judged]
    better, worse = prove([first_votes(trials) for trials in judged], kinds) if groups else ([], [])
    effective = np.array([each.effective for each in weighed])
    rates = np.array([each.successes / each.trials if each.trials else 0.5 for each in weighed])
    lower, upper, above = bound(rates * effective, effective)
    found = []
    for place, group in enumerate(groups):
        bounds = float(lower[place]), float(upper[place]), float(above[place])
        proven = better[place], worse[place]
        row = _make_row(group, judged[place], weighed[place], base, bounds, proven, needed)
        if row is not None:
            found.append((place, row))
    found.sort(key=lambda each: (-each[1].mean, -each[1].trials, -groups[each[0]][-1].number))
    return _with_alternatives(found, judged)


def show(texts: Iterable[tuple[str, Trial]]) -> set[str]:
    """Returns the texts that may be shown: those that came without a user or with the reader's, or from at least two users."""
    open_, users = set(), dict[str, set[str | None]]()
    for text, trial in texts:
        if trial.is_hidden:
            users.setdefault(text, set()).add(trial.user)
        else:
            open_.add(text)
    return open_ | {text for text, brought in users.items() if len(brought) > 1 or None in brought}


def _make_row(
    group: Sequence[Trial],
    judged: Sequence[Trial],
    weighed: Weighed,
    base: float,
    bounds: tuple[float, float, float],
    proven: tuple[bool, bool],
    needed: Callable[[str], Needed],
) -> Row | None:
    shown = show((trial.way, trial) for trial in group)
    if not shown:
        return None
    successes, partials = sum(trial.worth == 1 for trial in judged), sum(trial.worth == 0.5 for trial in judged)
    failures = len(judged) - successes - partials
    by_agent = _count_by_agent(judged)
    side = _side_of(judged, by_agent, needed)
    tasks = len({trial.task for trial in judged})
    status = None
    if side is not Side.TRIED:
        is_works = side is Side.WORKS
        sure = bounds[2] if is_works else 1 - bounds[2]
        is_likely = tasks >= LIKELY_TASKS and sure >= LIKELY and weighed.effective >= LIKELY_TASKS - 0.5
        status = Status.PROVEN if proven[not is_works] else Status.LIKELY if is_likely else Status.CANDIDATE
    mean = weighed.expect(base)
    of_side = [t for t in judged if t.worth == {Side.WORKS: 1.0, Side.FAILS: 0.0}.get(side, t.worth)]
    way, wordings = _name(group, shown, successes > failures)
    return Row(
        way=way,
        wordings=wordings,
        outcomes=tuple(trial.id for trial in reversed(group)),
        trials=len(judged),
        successes=successes,
        partials=partials,
        unverified=len(group) - len(judged),
        tasks=tasks,
        last_run=next((run for run, trial in enumerate(reversed(judged)) if trial.worth != 0), len(judged)),
        lately=sum(trial.worth == 1 for trial in judged[-NEWEST:]),
        last_at=group[-1].at,
        first_at=group[0].at,
        mean=mean,
        lower=min(bounds[0], mean),
        upper=max(bounds[1], mean),
        recent=weighed.recent,
        side=side,
        status=status,
        error=_tell_error(judged),
        alternative=None,
        agents=tuple(sorted(by_agent, key=lambda agent: -by_agent[agent][2])) or tuple(dict.fromkeys(t.agent for t in group)),
        users=tuple(user for user, _ in Counter(trial.user for trial in group).most_common()),
        by_agent=by_agent,
        task_text=_newest_shown((trial.text, trial) for trial in group),
        anchors=_anchors(of_side or group, by_agent),
        hidden=frozenset(trial.id for trial in group if trial.is_hidden),
    )


def _anchors(of_side: Sequence[Trial], by_agent: dict[str, tuple[int, int, int]]) -> tuple[str, ...]:
    """Returns the first trials of the agent that tried most: the same, whoever else may be read of."""
    owner = max(by_agent, key=lambda agent: by_agent[agent][2], default=None)
    own = [trial.id for trial in of_side if trial.agent == owner] or [trial.id for trial in of_side]
    return tuple(own[:ANCHORS])


def _count_by_agent(judged: Sequence[Trial]) -> dict[str, tuple[int, int, int]]:
    counts: dict[str, tuple[int, int, int]] = {}
    for trial in judged:
        whole, part, tried = counts.get(trial.agent, (0, 0, 0))
        counts[trial.agent] = whole + (trial.worth == 1), part + (trial.worth == 0.5), tried + 1
    return counts


def _side_of(judged: Sequence[Trial], by_agent: dict[str, tuple[int, int, int]], needed: Callable[[str], Needed]) -> Side:
    """Returns the side that more than half of the trials are on, if those of one agent alone are enough.

    Successes of a wording on an own or an imported word alone count once a task: one voice that repeats itself is no evidence.
    """
    works, fails = sum(trial.worth == 1 for trial in judged), sum(trial.worth == 0 for trial in judged)
    if 2 * works > len(judged):
        borne_out = {t.way for t in judged if t.worth == 1 and t.source not in OWN_WORD}
        heard = {(t.agent, t.id if t.way in borne_out else t.task) for t in judged if t.worth == 1}
        by = Counter(agent for agent, _ in heard)
        if any(count >= needed(agent).successes for agent, count in by.items()):
            return Side.WORKS
    if 2 * fails > len(judged) and any(t - s - p >= needed(agent).failures for agent, (s, p, t) in by_agent.items()):
        return Side.FAILS
    return Side.TRIED


def _name(group: Sequence[Trial], shown: set[str], mostly_works: bool) -> tuple[str, tuple[str, ...]]:
    """Returns the wording that names a way, and all that may be shown, the most used first; on an own word alone used once a task."""
    events = {(trial.way, trial.task if trial.source in OWN_WORD else trial.id) for trial in group if trial.way in shown}
    used = Counter(way for way, _ in events)
    last = {trial.way: place for place, trial in enumerate(group)}
    wordings = sorted(used, key=lambda way: (-used[way], -last[way]))
    worked = {trial.way for trial in group if trial.worth == 1} if mostly_works else set()
    return next((way for way in wordings if way in worked), wordings[0]), tuple(wordings)


def _tell_error(judged: Sequence[Trial]) -> str | None:
    """Returns the most telling error: the commonest, then the one in more words, then the newest."""
    failed = [(trial.error, trial) for trial in judged if trial.error and trial.worth != 1]
    if not failed:
        return None
    shown = show(failed)
    count = Counter(error for error, _ in failed)
    last = {error: place for place, (error, _) in enumerate(failed)}
    return max(shown, key=lambda error: (count[error], min(len(error.split()), ENOUGH_WORDS), last[error]), default=None)


def _newest_shown(texts: Iterable[tuple[str, Trial]]) -> str | None:
    pairs = list(texts)
    shown = show(pairs)
    return next((text for text, _ in reversed(pairs) if text in shown), None)


def _with_alternatives(found: list[tuple[int, Row]], judged: Sequence[Sequence[Trial]]) -> list[tuple[int, Row]]:
    """Returns the rows, each of a way that fails with the first that is better, on two tasks, and on more than one agent's word."""
    fits = [
        row
        for place, row in found
        if row.side is not Side.FAILS and 2 * row.successes > row.trials and _is_borne_out(judged[place])
    ]
    best = fits[0] if fits else None
    return [
        (place, replace(row, alternative=best) if row.side is Side.FAILS and best and best.mean > row.mean else row)
        for place, row in found
    ]


def _is_borne_out(judged: Sequence[Trial]) -> bool:
    """Returns True if successes on two tasks do not rest on one agent's own word, or one foreign file, alone."""
    successes = [trial for trial in judged if trial.worth == 1]
    sources = {(trial.source, trial.agent) for trial in successes}
    is_trusted = any(source not in OWN_WORD for source, _ in sources) or len(sources) > 1
    return is_trusted and len({trial.task for trial in successes}) >= ALTERNATIVE_TASKS
