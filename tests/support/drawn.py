"""Drawings of the report's templates, and their style sheet."""

from importlib.resources import files

from alma_cli.report.page import TEMPLATES

STYLE = (files("alma_cli.report") / "templates" / "style.css").read_text(encoding="utf-8")


def drawn(macro: str, *arguments: object, **named: object) -> str:
    """The markup that a macro of `macros.html` makes of these."""
    return str(getattr(TEMPLATES.get_template("macros.html").module, macro)(*arguments, **named))
