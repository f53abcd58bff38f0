"""`alma migrate`."""

from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.progress import bar


def migrate(
    to: Annotated[str, typer.Option("--to", help="postgres://user@host/database, or the path of a new SQLite file.")],
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Copy the whole store, all its projects with their journals, to another database. The store itself stays as it is.

    \b
    Stop the processes that write to it first: what they write meanwhile is not in the copy. Interrupted, another call continues where
    it stopped. The copy is compared by content hash before it gets its name. Then name it in the configuration.

    \b
    Examples:
      alma migrate --to postgres://alma@db.local/alma
      alma migrate --to "postgres://alma@db.local/alma?schema=team"
      alma migrate --to .alma2/alma.db --config postgres.yaml
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma, bar("Copying", is_hidden=json) as progress:
        report = alma.migrate(to, progress=progress)
    if json:
        print_json(report.model_dump(mode="json"))
        return
    heads = ", ".join(f"{name} up to record {seq:,}" for name, seq in report.heads.items()) or "no project"
    kept = f", {report.kept:,} of them by an earlier call" if report.kept else ""
    console().print(printable(f"Copied {report.rows:,} rows{kept}; all content hashes are equal: {heads}"), soft_wrap=True)
