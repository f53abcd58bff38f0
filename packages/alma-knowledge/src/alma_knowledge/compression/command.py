"""`alma compress`, which this package adds to the command line."""

from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable

SHOWN = 20


def compress(
    strategy: Annotated[str | None, typer.Option(help="none, summarize, truncate or hierarchical; summarize by default.")] = None,
    older_than: Annotated[float | None, typer.Option("--older-than", help="Days; 30 by default.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only memories of this agent.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Ask the language model of the configuration, too.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Write the summaries; without it only show them.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Summarise old memories beside themselves, and with --apply keep the summaries.

    \b
    Examples:
      alma compress
      alma compress --strategy hierarchical --older-than 90 --apply
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        report = alma.compress(older_than, strategy, dry_run=not apply, agent=agent, llm=llm)
    if json:
        print_json(report.to_dict())
        return
    out = console()
    for each in report.summaries[:SHOWN]:
        out.print(printable(f"[{each.level}] {each.title or each.key}: {' '.join(each.text.split())}"), soft_wrap=True)
    out.print(printable(str(report)), soft_wrap=True)
    if report.journal_seq is not None:
        out.print(f"As record {report.journal_seq}; `alma undo --to {report.journal_seq - 1}` takes that back", soft_wrap=True)
    elif report.dry_run and report.summaries:
        out.print("Nothing was changed; --apply keeps them", soft_wrap=True)
