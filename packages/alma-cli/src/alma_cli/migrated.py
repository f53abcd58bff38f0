"""Shows the report of an import that was another program's or another person's: a table, and the reasons below it."""

from typing import TYPE_CHECKING

from alma_cli.output import console, counted, printable, table

if TYPE_CHECKING:
    from alma.types import MigrationReport, Remark

_COLUMNS = ("kind", "read", "stored", "there already", "skipped")


def show_migrated(report: "MigrationReport") -> None:
    """Prints the rows read, stored, already there and skipped of each kind, the reasons, and the rules that were formed."""
    out = console()
    done = "Would import" if report.dry_run else "Imported"
    source = f" of {report.source_project!r}" if report.source_project else ""
    out.print(
        printable(f"{done} {counted(report.stored, 'memory', 'memories')}{source} from {report.source} into {report.project!r}"),
        soft_wrap=True,
    )
    rows = [(kind.kind, kind.read, kind.stored, kind.present, kind.read - kind.stored - kind.present) for kind in report.kinds]
    out.print(table(("kind", "read", "would be stored" if report.dry_run else "stored", *_COLUMNS[3:]), rows, right=_COLUMNS[1:]))
    for title, remarks in (("Skipped", "skipped"), ("Stored with a change", "changed")):
        lines = [f"  {kind.kind}: {_reason(remark)}" for kind in report.kinds for remark in getattr(kind, remarks)]
        for line in [f"{title}:", *lines] if lines else ():
            out.print(printable(line), soft_wrap=True)
    if report.not_read:
        named = ", ".join(f"{name} ({count:,} {'row' if count == 1 else 'rows'})" for name, count in report.not_read.items())
        out.print(printable(f"Tables that have no place here: {named}"), soft_wrap=True)
    if any(report.rules.values()):
        formed = ", ".join(f"{count} {kind}" for kind, count in report.rules.items())
        out.print(printable(f"Rules formed anew from the outcomes: {formed}"), soft_wrap=True)


def _reason(remark: "Remark") -> str:
    rows = f"{remark.rows:,} rows, first" if remark.rows > 1 else "row"
    return f"{remark.reason} ({rows} {remark.first})"
