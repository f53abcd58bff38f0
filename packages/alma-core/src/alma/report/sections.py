"""The parts of the page, each from the overview alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from alma.report.charts import Column, column_chart, columns, legend, share_bar, swatch
from alma.report.markup import Child, Html, join, stored, tag
from alma.report.words import day, kind_told, kinds_told, many, memory_told, moment, percent, record_told, size
from alma.types.episodes import EpisodeRecord
from alma.types.kinds import Verdict
from alma.types.overview import KnownMemory, Overview, OwnerView

Colours = Mapping[str, str]

GOOD, BAD, OVER, TRACK = "var(--good)", "var(--bad)", "var(--c8)", "var(--track)"
_VERDICTS = {Verdict.SUCCESS: "good", Verdict.FAILURE: "bad", Verdict.PARTIAL: "warn"}
_OPERATIONS = ("--c1", "--c2", "--c4", "--c5", "--c6", "--c7")


def section(title: str, lead: str, *content: Child) -> Html:
    """A titled part of the page."""
    return tag("section", tag("h2", title), tag("p", lead, class_="lead"), content)


def table(heads: tuple[Child, ...], rows: list[Html], *, right: tuple[str, ...] = ()) -> Html:
    """A table with a head; the columns named in `right` hold figures."""
    cells = [tag("th", head, scope="col", class_="num" if head in right else None) for head in heads]
    return tag("div", tag("table", tag("thead", tag("tr", cells)), tag("tbody", rows)), class_="wide")


def tiles(view: Overview) -> Html:
    """The four figures that matter most."""
    judged = view.usage.used + view.usage.ignored
    agents = sum(not owner.is_user and owner.total > 0 for owner in view.owners)
    return tag(
        "div",
        _tile(f"{view.stats.total:,}", "memories" if view.stats.total != 1 else "memory", f"of {many(agents, 'agent')}"),
        _tile(f"{view.stats.journal_records:,}", "journal records", _since(view)),
        _tile(percent(view.usage.used, judged), "used of what was shown", f"{view.usage.used:,} of {many(judged, 'judgement')}"),
        _health_tile(view),
        class_="tiles",
    )


def _tile(figure: str, what: str, more: str, tone: str | None = None) -> Html:
    return tag("div", tag("b", figure, class_=tone), tag("p", what), tag("p", more, class_="soft small"), class_="tile")


def _since(view: Overview) -> str:
    return f"since {day(view.stats.oldest)}" if view.stats.oldest else "nothing is stored yet"


def _health_tile(view: Overview) -> Html:
    found = view.store.verified
    more = size(view.store.database_bytes) + " on disk"
    if found is None:
        return _tile("–", "the store was not checked", more)
    if found.ok:
        return _tile("sound", "the store verifies", more, "good")
    return _tile(many(len(found.problems), "problem"), "found in the store", more, "bad")


def growth(view: Overview, colours: Colours) -> Html:
    """Kinds over time."""
    unit, shown = columns([(one.day, one.name, one.count) for one in view.growth])
    if not shown:
        return section("Memories over time", "Nothing is stored yet.")
    present = {kind: colour for kind, colour in colours.items() if view.stats.by_kind.get(kind)}
    totals = {kinds_told(kind): f"{view.stats.by_kind[kind]:,}" for kind in present}
    drawn = column_chart([_renamed(column) for column in shown], _named(present), "memories")
    return section("Memories over time", f"How many were made in each {unit}, by kind.", drawn, legend(_named(present), totals))


def _named(colours: Colours) -> dict[str, str]:
    return {kinds_told(kind): colour for kind, colour in colours.items()}


def _renamed(column: Column) -> Column:
    return replace(column, parts={kinds_told(kind): count for kind, count in column.parts.items()})


def memories(view: Overview, colours: Colours) -> Html:
    """The memories with the most evidence."""
    if not view.memories:
        return section("Memories with the most evidence", "Nothing is stored yet.")
    rows = [_memory(known, colours) for known in view.memories]
    lead = "Used and praised most, then tried most often, then newest."
    listed = table(("kind", "memory", "record", "used", "passed over", "", "praise"), rows, right=("used", "passed over"))
    return section("Memories with the most evidence", lead, listed)


def _memory(known: KnownMemory, colours: Colours) -> Html:
    first, rest = memory_told(known.memory)
    whose = f"of {stored(known.memory.agent)}" if known.memory.agent else ""
    details = [tag("div", line, class_="soft small") for line in (*rest, f"{whose}, {day(known.memory.seen_at)}".lstrip(", "))]
    judged = known.used + known.ignored
    told = f"used {many(known.used, 'time')}, passed over {many(known.ignored, 'time')}"
    return tag(
        "tr",
        tag("td", badge(known.memory.kind, colours)),
        tag("td", first, details, class_="text"),
        tag("td", record_told(known.memory), class_="nowrap small"),
        tag("td", known.used, class_="num"),
        tag("td", known.ignored, class_="num"),
        tag("td", share_bar([(known.used, GOOD), (known.ignored, OVER)], judged, told)),
        tag("td", _praise(known), class_="nowrap"),
    )


def _praise(known: KnownMemory) -> Html:
    up = tag("span", f"▲ {known.thumbs_up:,}", class_="good", title="thumbs up") if known.thumbs_up else None
    down = tag("span", f"▼ {known.thumbs_down:,}", class_="bad", title="thumbs down") if known.thumbs_down else None
    return join(up, " " if up and down else None, down) if up or down else tag("span", "–", class_="soft")


def badge(kind: str, colours: Colours) -> Html:
    """A kind with its colour."""
    return tag("span", swatch(colours.get(kind, TRACK)), kind_told(kind), class_="badge")


def owners(view: Overview, colours: Colours) -> Html:
    """Agents, users, and who reads whom."""
    if not view.owners:
        return section("Agents and what they share", "No agent has stored anything, and none has rules.")
    most = max(owner.total for owner in view.owners)
    heads = ("whose", "memories", "", "may learn", "reads also")
    rows = [_owner(owner, most, colours) for owner in view.owners]
    lead = "An agent reads its own memories, and those of another where a rule says so. Preferences belong to users."
    return section("Agents and what they share", lead, table(heads, rows, right=("memories",)))


def _owner(owner: OwnerView, most: int, colours: Colours) -> Html:
    told = ", ".join(f"{count:,} {kinds_told(kind)}" for kind, count in owner.by_kind.items()) or "none"
    parts = [(count, colours.get(kind, TRACK)) for kind, count in owner.by_kind.items()]
    return tag(
        "tr",
        tag("td", stored(owner.name), tag("div", "user", class_="soft small") if owner.is_user else None, class_="name"),
        tag("td", f"{owner.total:,}", class_="num"),
        tag("td", share_bar(parts, most, told)),
        tag("td", _may_learn(owner), class_="small"),
        tag("td", _reads(owner), class_="small"),
    )


def _may_learn(owner: OwnerView) -> Child:
    if owner.is_user:
        return tag("span", "–", class_="soft")
    if owner.rules is None or not (owner.rules.can_learn or owner.rules.cannot_learn):
        return tag("span", "anything", class_="soft")
    allowed = f"only {_listed(owner.rules.can_learn)}" if owner.rules.can_learn else "anything"
    return f"{allowed}; never {_listed(owner.rules.cannot_learn)}" if owner.rules.cannot_learn else allowed


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(stored(name, 60) for name in names)


def _reads(owner: OwnerView) -> Child:
    if not owner.reads:
        return tag("span", "nobody else" if not owner.is_user else "–", class_="soft")
    rules = {"shared": "shared with it", "shared_with_all": "shared with all", "inherited": "inherited"}
    return [
        tag("div", stored(name, 60), tag("span", f" ({rules[rule.value]})", class_="soft")) for name, rule in owner.reads.items()
    ]


def usage(view: Overview) -> Html:
    """What was retrieved and used."""
    judged = view.usage.used + view.usage.ignored
    shown = sum(len(episode.shown) for episode in view.episodes)
    counted = f"{view.usage.used:,} used, {view.usage.ignored:,} passed over"
    seen = Counter(exposure.used for episode in view.episodes for exposure in episode.shown)
    rows = [
        _usage_row("Judged so far", counted, [(view.usage.used, GOOD), (view.usage.ignored, OVER)], judged),
        _usage_row(
            "Memories ever used",
            f"{view.usage.ever_used:,} of {view.stats.total:,}",
            [(view.usage.ever_used, GOOD)],
            view.stats.total,
        ),
        _usage_row(
            "Shown in recent episodes",
            f"{shown:,}: {seen[True]:,} used, {seen[False]:,} passed over, {seen[None]:,} nobody said",
            [(seen[True], GOOD), (seen[False], OVER)],
            shown,
        ),
        tag(
            "tr",
            tag("td", "Praise and blame"),
            tag("td", f"{view.usage.thumbs_up:,} thumbs up, {view.usage.thumbs_down:,} thumbs down"),
            tag(
                "td",
                share_bar(
                    [(view.usage.thumbs_up, GOOD), (view.usage.thumbs_down, BAD)],
                    view.usage.thumbs_up + view.usage.thumbs_down,
                    "",
                ),
            ),
        ),
    ]
    lead = "Used is what was cited or named, passed over what was shown beside it."
    return section("What was retrieved and used", lead, tag("div", tag("table", tag("tbody", rows)), class_="wide"))


def _usage_row(what: str, told: str, parts: list[tuple[int, str]], whole: int) -> Html:
    return tag("tr", tag("td", what), tag("td", told), tag("td", share_bar(parts, whole, told)))


def episodes(view: Overview) -> Html:
    """The attempts that began last."""
    if not view.episodes:
        return section(
            "Recent episodes", "There are no episodes yet: alma.episode(…) records an attempt from its start to its end."
        )
    rows = [_episode(episode) for episode in view.episodes]
    listed = table(("began (UTC)", "agent", "task", "shown", "used", "ended"), rows, right=("shown", "used"))
    return section("Recent episodes", f"The last {many(len(rows), 'attempt')}, newest first.", listed)


def _episode(episode: EpisodeRecord) -> Html:
    verdict = episode.outcome.value if episode.outcome else episode.status.value
    tone = _VERDICTS.get(episode.outcome, "soft") if episode.outcome else "soft"
    details = [f"Way: {stored(episode.strategy)}"] if episode.strategy else []
    details += [f"Error: {stored(episode.error)}"] if episode.error else []
    steps = [tag("li", _step(step.action, step.ok, step.error)) for step in episode.steps]
    return tag(
        "tr",
        tag("td", moment(episode.started_at), class_="nowrap small soft"),
        tag("td", stored(episode.agent, 60), class_="name"),
        tag(
            "td",
            stored(episode.task),
            [tag("div", detail, class_="soft small") for detail in details],
            tag("details", tag("summary", many(len(steps), "step")), tag("ol", steps)) if steps else None,
            class_="text",
        ),
        tag("td", len(episode.shown), class_="num"),
        tag("td", sum(exposure.used is True for exposure in episode.shown), class_="num"),
        tag("td", verdict, class_=f"nowrap {tone}"),
    )


def _step(action: str, ok: bool | None, error: str | None) -> Html:
    mark = {True: tag("span", "✓ ", class_="good"), False: tag("span", "✗ ", class_="bad"), None: None}[ok]
    return join(mark, stored(action), tag("span", f" – {stored(error)}", class_="soft") if error else None)


def activity(view: Overview) -> Html:
    """What was written when, by whom."""
    totals: Counter[str] = Counter()
    for one in view.activity:
        totals[one.name] += one.count
    frequent = [name for name, _ in totals.most_common(len(_OPERATIONS))]
    told = {name: _operation(name) if name in frequent else "other" for name in totals}
    unit, shown = columns([(one.day, told[one.name], one.count) for one in view.activity])
    if not shown:
        return section("Activity", "Nothing was ever written.")
    colours = {told[name]: f"var({colour})" for name, colour in zip(frequent, _OPERATIONS, strict=False)}
    if len(totals) > len(frequent):
        colours["other"] = OVER
    listed = tag("details", tag("summary", f"The last {many(len(view.journal), 'record')}"), _journal(view))
    drawn = column_chart(shown, colours, "records")
    sums = {name: sum(column.parts.get(name, 0) for column in shown) for name in colours}
    key = legend(colours, {name: f"{count:,}" for name, count in sums.items()})
    return section("Activity", f"Journal records in each {unit}, by what was done.", drawn, key, listed)


def _operation(name: str) -> str:
    return stored(name.replace("_", " "), 40)


def _journal(view: Overview) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", line.seq, class_="num"),
            tag("td", moment(line.at), class_="nowrap small soft"),
            tag("td", _operation(line.operation), tag("span", " (purged)", class_="soft") if line.is_purged else None),
            tag("td", stored(line.actor, 80) or tag("span", "–", class_="soft"), class_="text"),
        )
        for line in view.journal
    ]
    return table(("no.", "when (UTC)", "what", "who"), rows, right=("no.",))


def health(view: Overview) -> Html:
    """The state of the store."""
    store = view.store
    rest = max(store.database_bytes - store.text_bytes - store.vector_bytes - store.payload_bytes, 0)
    parts = {
        f"texts of {many(store.passages, 'passage')}": (store.text_bytes, "var(--c1)"),
        f"{many(store.vectors, 'vector')}": (store.vector_bytes, "var(--c2)"),
        f"{many(store.records, 'journal record')}": (store.payload_bytes, "var(--c5)"),
        "rows, indexes, write-ahead log, other projects": (rest, "var(--c8)"),
    }
    whole = sum(amount for amount, _ in parts.values())
    told = ", ".join(f"{what} {size(amount)}" for what, (amount, _) in parts.items())
    facts = [
        ("Embedder", f"{store.embedder.model}, {store.embedder.dimension} dimensions"),
        ("On disk", size(store.database_bytes)),
        ("Archived", many(store.archived, "memory")),
        ("Purged journal records", f"{store.purged:,}"),
    ]
    return section(
        "The store",
        "Where the bytes are, and whether everything is as it was written.",
        share_bar(list(parts.values()), whole, told),
        legend(
            {what: colour for what, (_, colour) in parts.items()}, {what: size(amount) for what, (amount, _) in parts.items()}
        ),
        tag(
            "table",
            tag(
                "tbody",
                [tag("tr", tag("td", what, class_="soft"), tag("td", stored(fact))) for what, fact in facts],
                _verified(view),
            ),
        ),
    )


def _verified(view: Overview) -> Html:
    found = view.store.verified
    if found is None:
        told: Child = tag("span", "not checked", class_="soft")
    elif found.ok:
        told = tag(
            "span", f"no problem in {many(found.records, 'journal record')} and {many(found.memories, 'memory')}", class_="good"
        )
    else:
        told = [tag("div", stored(str(problem)), class_="bad") for problem in found.problems]
    return tag("tr", tag("td", "Verified", class_="soft"), tag("td", told, class_="text"))
