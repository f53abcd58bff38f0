"""`alma backup`."""

from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.progress import bar


def backup(
    file: Annotated[str, typer.Argument(help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Copy the whole store, all its projects, into one file. Other processes may write meanwhile.

    \b
    To restore it: stop every process that uses the store, put the file in the place of alma.db, delete alma.db-wal and alma.db-shm,
    and run alma verify.

    \b
    Examples:
      alma backup monday.db
      alma backup /backups/alma.db --force --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma, bar("Copying", is_hidden=json) as progress:
        report = alma.backup(file, force=force, progress=progress)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    heads = ", ".join(f"{name} up to record {seq:,}" for name, seq in report.heads.items()) or "no project"
    line = f"Backed up {report.bytes / 1024:,.0f} kB in {report.seconds:.1f} s to {file}: {heads}"
    console().print(printable(line), soft_wrap=True)
