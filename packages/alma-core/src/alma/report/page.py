"""The whole page."""

from alma.report import learned, sections
from alma.report.markup import Html, join, stored, tag
from alma.report.style import CSS, colour_of
from alma.report.words import day, many, moment
from alma.types.overview import Overview

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may do with this page beside showing it: apply the style in it. No script, no request."""


_META = join(
    tag("meta", charset="utf-8"),
    tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
    tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
)
_BEGINNING = f'<!doctype html>\n<html lang="en"><head>{_META}<title>ALMA: '


def is_report(text: str) -> bool:
    """Whether the text begins as every page that `html_report` makes."""
    return text.startswith(_BEGINNING)


def html_report(view: Overview) -> str:
    """The overview as one HTML page in UTF-8 text: no script, no network, no file beside it. All stored text is escaped."""
    kinds = tuple(sorted({*view.stats.by_kind, *(known.memory.kind for known in view.memories)}))
    colours = {kind: colour_of(kind, kinds) for kind in kinds}
    title = f"ALMA: {stored(view.project_id, 100)}"
    body = tag(
        "main",
        _header(view),
        sections.tiles(view),
        sections.growth(view, colours),
        learned.runs(view),
        learned.strategies(view),
        learned.rules(view),
        sections.memories(view, colours),
        sections.usage(view),
        sections.episodes(view),
        sections.owners(view, colours),
        sections.activity(view),
        sections.health(view),
        tag("footer", f"Made by ALMA on {moment(view.made_at)} UTC. This page is a file: it loads nothing and sends nothing."),
    )
    head = tag(
        "head",
        _META,
        tag("title", title),
        tag("style", Html(CSS)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', body), lang='en')}\n"


def _header(view: Overview) -> Html:
    agents = [owner for owner in view.owners if not owner.is_user]
    users = [owner for owner in view.owners if owner.is_user]
    parts = [many(view.stats.total, "memory"), many(len(agents), "agent"), many(len(users), "user")]
    span = f", {day(view.stats.oldest)} to {day(view.stats.newest)}" if view.stats.oldest and view.stats.newest else ""
    return tag(
        "header",
        tag("h1", join("What ", tag("span", stored(view.project_id, 100)), " remembers")),
        tag("p", f"{', '.join(parts[:2])} and {parts[2]}{span}.", class_="soft"),
    )
