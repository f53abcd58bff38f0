"""`alma redact`."""

from typing import Annotated

import typer

from alma_cli.confirming import YesOption, confirm
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable


def redact(
    existing: Annotated[bool, typer.Option("--existing", help="Replace what the project holds from before it redacted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only show what it holds.")] = False,
    yes: Annotated[bool, YesOption] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Replace the secrets that an old project holds. New texts are redacted as they come, unless the configuration says `redact: off`.

    History begins anew, and nothing of it can be undone. With --json nothing is asked: without --yes it only reports.

    \b
    Examples:
      alma redact --existing --dry-run
      alma redact --existing --yes && alma compact
    """
    from alma import ALMA, ValidationError

    if not existing:
        raise ValidationError("alma redact needs --existing; new texts are redacted as they come")
    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.redact_existing(dry_run=True)
        is_wanted = bool(report.rows or report.history) and not dry_run
        if not json:
            kinds = ", ".join(f"{count} {kind}" for kind, count in report.kinds.items())
            held = f"rows with secrets: {report.rows}{f' ({kinds})' if kinds else ''}; journal records with secrets: {report.history}"
            console().print(printable(f"The project has {held}."), soft_wrap=True)
        if is_wanted and not json:
            confirm("Replace them, and erase all history?", yes=yes)
        if is_wanted and (yes or not json):
            report = alma.redact_existing()
    if json:
        print_json(report.model_dump(mode="json"))
    elif report.seq is not None:
        console().print(f"Replaced, as record {report.seq}; `alma compact` removes the last bytes from the files", soft_wrap=True)
