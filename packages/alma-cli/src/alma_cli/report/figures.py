"""Derived values that the page shows beside the overview: sums, colours and charts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from alma.types.overview import ClassView, DayCount, Overview, StoreView
from alma_cli.report.charts import Timeline, timeline
from alma_cli.report.rates import run_chart
from alma_cli.report.words import kinds, many, spaced

_KINDS = {"outcome": "c1", "heuristic": "c2", "anti_pattern": "c3", "domain_knowledge": "c4", "user_preference": "c5"}
_OTHER_KINDS = ("c6", "c7", "c8")
_RULES = {"formed": "c2"}
_OPERATIONS = ("c1", "c2", "c4", "c5", "c6", "c7")
"""Colours, by their names in `templates/style.css`."""


def figures(view: Overview) -> dict[str, Any]:
    """Returns what the templates need beside the overview itself, by name."""
    colours = kind_colours({*view.stats.by_kind, *(known.memory.kind for known in view.memories)})
    seen = Counter(exposure.used for episode in view.episodes for exposure in episode.shown)
    return {
        "colours": colours,
        "agents": sum(not owner.is_user for owner in view.owners),
        "users": sum(owner.is_user for owner in view.owners),
        "storing_agents": sum(not owner.is_user and owner.total > 0 for owner in view.owners),
        "most_owned": max((owner.total for owner in view.owners), default=0),
        "judged": view.usage.used + view.usage.ignored,
        "seen": {"used": seen[True], "ignored": seen[False], "unknown": seen[None], "all": seen.total()},
        "growth": _growth(view, colours),
        "run_chart": run_chart(view.learning.runs) if view.learning.runs else None,
        "run_trials": sum(group.trials for group in view.learning.runs),
        "classes_by_agent": _by_agent(view.learning.classes),
        "more_classes": view.learning.all_classes - len(view.learning.classes),
        "rules": timeline(
            [(one.day, spaced(one.name), one.count) for one in view.learning.rules], _RULES, "rules that were formed"
        ),
        "activity": _activity(view.activity),
        "disk": _disk(view.store),
    }


def kind_colours(names: Iterable[str]) -> dict[str, str]:
    """Returns the colour of each kind; kinds of users share three further ones in rotation."""
    ordered = sorted(names)
    others = [kind for kind in ordered if kind not in _KINDS]
    return {kind: _KINDS.get(kind) or _OTHER_KINDS[others.index(kind) % len(_OTHER_KINDS)] for kind in ordered}


def _growth(view: Overview, colours: dict[str, str]) -> Timeline | None:
    totals = Counter[str]()
    for one in view.growth:
        totals[one.name] += one.count
    counts = [(one.day, kinds(one.name), one.count) for one in view.growth]
    return timeline(
        counts,
        {kinds(kind): colour for kind, colour in colours.items() if totals[kind]},
        "memories",
        {kinds(kind): count for kind, count in totals.items()},
    )


def _by_agent(classes: Sequence[ClassView]) -> list[tuple[str, list[tuple[ClassView, int]]]]:
    """Groups the classes by agent, the agent of the largest class first; with each class, the number of its strategies that are not
    shown."""
    largest = list(dict.fromkeys(one.agent for one in classes))
    ordered = sorted(classes, key=lambda one: largest.index(one.agent))
    groups = groupby(ordered, key=lambda one: one.agent)
    return [(agent, [(one, one.strategies - len(one.rows)) for one in group]) for agent, group in groups]


def _activity(counts: Sequence[DayCount]) -> Timeline | None:
    """Returns the journal over time: the most frequent operations by name, all others as "other"."""
    totals: Counter[str] = Counter()
    for one in counts:
        totals[one.name] += one.count
    frequent = [name for name, _ in totals.most_common(len(_OPERATIONS))]
    names = {name: spaced(name) if name in frequent else "other" for name in totals}
    colours = {names[name]: colour for name, colour in zip(frequent, _OPERATIONS, strict=False)}
    if len(totals) > len(frequent):
        colours["other"] = "c8"
    return timeline([(one.day, names[one.name], one.count) for one in counts], colours, "records")


def _disk(store: StoreView) -> list[tuple[str, str, int]]:
    """Returns the bytes on disk by content, as (colour, name, bytes)."""
    rest = store.database_bytes - store.text_bytes - store.vector_bytes - store.payload_bytes
    return [
        ("c1", f"texts of {many(store.passages, 'passage')}", store.text_bytes),
        ("c2", many(store.vectors, "vector"), store.vector_bytes),
        ("c5", many(store.records, "journal record"), store.payload_bytes),
        ("c8", "rows, indexes, write-ahead log, other projects", max(rest, 0)),
    ]
