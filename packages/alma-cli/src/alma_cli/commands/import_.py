"""`alma import`."""

import sys
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from alma_cli.migrated import show_migrated
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable
from alma_cli.progress import bar

if TYPE_CHECKING:
    from alma import ALMA
    from alma.types import ImportReport, MigrationReport


class Origin(StrEnum):
    """The programs whose databases can be read."""

    ALMA_MEMORY = "alma-memory"


class Judge(StrEnum):
    """Who judged the outcomes of another program's database."""

    IMPORTED = "imported"
    CALLER = "caller"


def import_(
    file: Annotated[str, typer.Argument(help="What `alma export` wrote, - for standard input; with --from a database.")],
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out what is there already, instead of refusing the whole file.")
    ] = False,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge the export of a clone: of what both have, the newer version stays.")
    ] = False,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted",
            help="Take its outcomes and facts as the word of a file: rules are formed anew, suspicious texts go to quarantine.",
        ),
    ] = False,
    origin: Annotated[Origin | None, typer.Option("--from", help="Read a SQLite database of this program instead.")] = None,
    project: Annotated[str | None, typer.Option("--project", help="With --from: the project in the file to read.")] = None,
    into: Annotated[
        str | None, typer.Option("--into", help="With --from: the project to store it in; else the configured one.")
    ] = None,
    judge: Annotated[
        Judge | None, typer.Option("--verdict-source", help="With --from: who judged its outcomes.", show_default="imported")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="With --from or --untrusted: only report what would be stored.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Store the content of an export in this project: all of it, or nothing. With --from, that of another program's database.

    \b
    Examples:
      alma import backup.jsonl
      alma import backup.jsonl --skip --json
      alma import clone.jsonl --merge
      alma import - < backup.jsonl
      alma import colleague.jsonl --untrusted --dry-run
      alma import --from alma-memory old/.alma/alma.db --dry-run
      alma import --from alma-memory old/.alma/alma.db --project blog --into my-blog
    """
    is_of_database = bool(project or into or judge)
    _check_options(file, origin, untrusted=untrusted, skips=skip, merges=merge, is_of_database=is_of_database, dry_run=dry_run)
    if origin is not None:
        _migrate(file, config, project=project, into=into, judge=judge or Judge.IMPORTED, dry_run=dry_run, json=json)
        return
    if untrusted:
        _take_in(file, config, dry_run=dry_run, json=json)
        return
    report = _imported(file, config, on_conflict="merge" if merge else "skip" if skip else "error", json=json)
    if json:
        print_json({"file": file, **report.model_dump(mode="json")})
        return
    console().print(printable(_described(report)), soft_wrap=True)


def _check_options(
    file: str, origin: Origin | None, *, untrusted: bool, skips: bool, merges: bool, is_of_database: bool, dry_run: bool
) -> None:
    """Refuses options that do not go together. `is_of_database` says that one was given which needs `--from`."""
    if (origin is not None or untrusted) and (skips or merges):
        raise typer.BadParameter("--from and --untrusted always leave out what is there already: no --skip, no --merge")
    if origin is not None and (untrusted or file == "-"):
        raise typer.BadParameter("--from reads the file of a database: no -, and --verdict-source instead of --untrusted")
    if origin is None and is_of_database:
        raise typer.BadParameter("--project, --into and --verdict-source need --from")
    if origin is None and not untrusted and dry_run:
        raise typer.BadParameter("--dry-run needs --from or --untrusted; else an export is stored whole or not at all")
    if skips and merges:
        raise typer.BadParameter("--skip leaves out what --merge would compare: give one of them")


def _described(report: "ImportReport") -> str:
    stored, left = report.stored, report.skipped
    memories, records = counted(stored.memories, "memory", "memories"), counted(stored.records, "record")
    imported = f"Imported {memories} ({stored.archived:,} archived) and {records} of {report.project!r}"
    rest = (
        f"; {counted(left.memories, 'memory', 'memories')} and {counted(left.records, 'record')} were there already"
        if left.memories or left.records
        else ""
    )
    merged = (
        f"; changed {len(report.changed):,}, deleted {len(report.deleted):,} that the file says were purged"
        if report.changed or report.deleted
        else ""
    )
    return imported + rest + merged


def _imported(file: str, config: Path | None, *, on_conflict: str, json: bool) -> "ImportReport":
    from alma import ALMA

    place = config_path(config)
    with ALMA.from_config(place) as alma, bar("Importing", is_hidden=json) as progress:
        report = alma.import_from(_source(file), on_conflict=on_conflict, progress=progress)
        _follow(alma, place)
        return report


def _take_in(file: str, config: Path | None, *, dry_run: bool, json: bool) -> None:
    from alma import ALMA

    place = config_path(config)
    with ALMA.from_config(place) as alma, bar("Importing", is_hidden=json) as progress:
        report = alma.import_untrusted(_source(file), dry_run=dry_run, progress=progress)
        if not dry_run:
            _follow(alma, place)
    _show(file, report, json=json)


def _source(file: str) -> "Path | BinaryIO":
    return sys.stdin.buffer if file == "-" else Path(file)


def _follow(alma: "ALMA", config: Path) -> None:
    """Calls what other packages add by entry points of the group `alma.imported`: functions of the memory and its configuration's path, that
    bring what they keep beside a memory up to date."""
    for entry in entry_points(group="alma.imported"):
        entry.load()(alma, config)


def _migrate(
    file: str, config: Path | None, *, project: str | None, into: str | None, judge: Judge, dry_run: bool, json: bool
) -> None:
    from alma import ALMA

    with ALMA.from_config(config_path(config)) as alma, bar("Importing", is_hidden=json) as progress:
        target = alma.for_project(into) if into else alma
        report = target.import_alma_memory(file, project=project, verdict_source=judge, dry_run=dry_run, progress=progress)
    _show(file, report, json=json)


def _show(file: str, report: "MigrationReport", *, json: bool) -> None:
    if json:
        print_json({"file": file, **report.model_dump(mode="json")})
    else:
        show_migrated(report)
