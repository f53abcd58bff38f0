"""Renders the whole page from the templates. All values are escaped, and an unknown name in a template is an error."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from alma.text import one_line
from alma.types.overview import Overview
from alma_cli.report.figures import figures
from alma_cli.report.rates import scale
from alma_cli.report.words import day, kind, kinds, many, moment, origin, percent, record, size, spaced, stored, tone


def _shown(value: object) -> object:
    """Returns a value without control characters, and with at most two decimals. Jinja escapes it afterwards."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


LOADER = PackageLoader("alma_cli.report")
TEMPLATES = Environment(
    loader=LOADER,
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_FILTERS = (day, kind, kinds, many, moment, origin, percent, record, scale, size, spaced, stored, tone)
TEMPLATES.filters.update({function.__name__: function for function in _FILTERS})
TEMPLATES.filters.update(number="{:,}".format)


def is_report(text: str) -> bool:
    """Returns True when the text begins as every page that `html_report` makes."""
    source, _, _ = LOADER.get_source(TEMPLATES, "page.html")
    return text.startswith(source.partition("{{")[0])


def html_report(view: Overview) -> str:
    """Returns the overview as one HTML page in UTF-8 text: no script, no network, no file beside it. All stored text is escaped."""
    return TEMPLATES.get_template("page.html").render(view=view, **figures(view))
