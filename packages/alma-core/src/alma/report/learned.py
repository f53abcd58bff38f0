"""What was learned: strategies with how sure one may be of them, rules as they came and went, and how the attempts went."""

from collections.abc import Iterable
from itertools import groupby

from alma.report.charts import column_chart, columns, legend
from alma.report.markup import Child, Html, join, stored, tag
from alma.report.rates import Point, run_chart, scale_head, scale_picture, told
from alma.report.sections import BAD, GOOD, section, table
from alma.report.words import day, many
from alma.types.overview import ClassView, Overview, RunsView
from alma.types.strategies import Judgement, StrategyRecord

NEUTRAL = "var(--c1)"
_TONES = {
    Judgement.WORKS: "good",
    Judgement.SEEMS_TO_WORK: "good",
    Judgement.SEEMS_TO_FAIL: "bad",
    Judgement.FAILS: "bad",
}
_COLOURS = {"good": GOOD, "bad": BAD}
_RULES = {"formed": "var(--c2)", "brought back": "var(--c4)", "demoted": "var(--c3)"}


def strategies(view: Overview) -> Html:
    """What was tried, by agent and class of tasks, the largest first."""
    if not view.learning.classes:
        return section("Strategies", "No outcome that names a strategy has been judged yet.")
    more = view.learning.all_classes - len(view.learning.classes)
    lead = (
        "What was tried for which tasks. The dot is the share of successes, the bar where it lies at 95 %, "
        "the tick the rate of everything else that was tried for such tasks."
    )
    others = (
        f"{more:,} more {'class' if more == 1 else 'classes'} of tasks with less evidence: alma strategies." if more else None
    )
    return section(
        "Strategies", lead, _by_agent(view.learning.classes), tag("p", others, class_="soft small") if others else None
    )


def _by_agent(classes: Iterable[ClassView]) -> Iterable[Html]:
    largest = list(dict.fromkeys(one.agent for one in classes))
    ordered = sorted(classes, key=lambda one: largest.index(one.agent))
    for agent, group in groupby(ordered, key=lambda one: one.agent):
        rows = [row for one in group for row in (_class(one), *map(_strategy, one.rows))]
        heads: tuple[Child, ...] = ("strategy", "verdict", "worked", scale_head(), "lift", "last used")
        yield tag("h3", stored(agent, 100))
        yield table(heads, rows, right=("worked", "lift"))


def _class(one: ClassView) -> Html:
    kind = f"{stored(one.task_type, 80)}: " if one.task_type else ""
    left = one.strategies - len(one.rows)
    more = f", {left} more not shown" if left else ""
    return tag(
        "tr",
        tag(
            "th",
            join(f"{kind}{stored(one.task, 160)} "),
            tag("span", f"{one.successes:g} of {one.trials:g}{more}", class_="soft"),
            colspan=6,
            scope="rowgroup",
            class_="group",
        ),
    )


def _strategy(row: StrategyRecord) -> Html:
    tone = _TONES.get(row.verdict, "soft")
    others = row.rate - row.lift if row.others else None
    compared = "" if others is None else f"; everything else {others:.0%}"
    words = f"{row.rate:.0%}, at 95 % {told(row.interval)}{compared}"
    why = tag("div", f"Why: {stored(row.why_bad)}", class_="soft small") if row.why_bad else None
    unverified = tag("div", f"{row.unverified:,} more not judged", class_="soft small") if row.unverified else None
    return tag(
        "tr",
        tag("td", stored(row.strategy), why, unverified, class_="text"),
        tag("td", row.verdict.value if row.trials else "not judged", class_=f"nowrap {tone}"),
        tag("td", f"{row.successes:g} of {row.trials:g}" if row.trials else "–", class_="num"),
        tag("td", scale_picture(row.rate, row.interval, others, _COLOURS.get(tone, NEUTRAL), words) if row.trials else None),
        tag("td", _lift(row) if row.trials and others is not None else "–", class_="num"),
        tag("td", day(row.last_used), class_="nowrap small soft"),
    )


def _lift(row: StrategyRecord) -> Html:
    around = f"{row.lift_interval.lower:+.0%} to {row.lift_interval.upper:+.0%}"
    return join(f"{row.lift:+.0%}", tag("div", around, class_="soft small"))


def rules(view: Overview) -> Html | None:
    """Heuristics and anti-patterns as they were formed, demoted and brought back; nothing where there never was one."""
    unit, shown = columns([(one.day, one.name, one.count) for one in view.learning.rules])
    if not shown:
        return None
    sums = {name: sum(column.parts.get(name, 0) for column in shown) for name in _RULES}
    lead = f"How many heuristics and anti-patterns outcomes formed, demoted and brought back in each {unit}."
    key = legend(_RULES, {name: f"{count:,}" for name, count in sums.items()})
    return section("Rules", lead, column_chart(shown, _RULES, "changes of rules"), key)


def runs(view: Overview) -> Html | None:
    """The share of successes over attempts; nothing where none was judged."""
    groups = view.learning.runs
    if not groups:
        return None
    total = sum(group.trials for group in groups)
    lead = (
        f"The share of successes of every {groups[0].trials:,} attempts, {many(total, 'attempt')} in all, oldest first; "
        "a partial success counts half. The bars are where the share lies at 95 %."
    )
    return section("Success over runs", lead, run_chart(_points(groups), NEUTRAL, "share of successes over runs"))


def _points(groups: Iterable[RunsView]) -> list[Point]:
    points, last = [], 0
    for group in groups:
        first, last = last + 1, last + group.trials
        span = day(group.first) if group.first.date() == group.last.date() else f"{day(group.first)} to {day(group.last)}"
        points.append(Point(f"attempts {first:,} to {last:,}, {span}", f"{last:,}", group.share, group.interval, group.trials))
    return points
