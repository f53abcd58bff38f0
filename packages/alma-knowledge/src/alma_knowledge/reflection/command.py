"""`alma reflect`, which this package adds to the command line."""

from typing import Annotated

import typer

from alma_cli.options import AgentOption, ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable

SHOWN = 20


def reflect(
    agent: AgentOption,
    task_type: Annotated[str | None, typer.Option("--task-type", help="Only tasks of this stated type.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Ask the language model of the configuration, too.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Note the lessons; without it only show them.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Find what an agent's successful runs did that its failed ones did not, and with --apply note it as lessons.

    \b
    Examples:
      alma reflect --agent helena
      alma reflect --agent helena --task-type deployment --apply
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        result = alma.reflect(agent, task_type, llm=llm, dry_run=not apply)
    if json:
        print_json(result.to_dict())
        return
    out = console()
    for lesson in (*result.lessons[:SHOWN], *result.known[:SHOWN]):
        out.print(printable(str(lesson)), soft_wrap=True)
    for refused in result.rejected[:SHOWN]:
        out.print(printable(f"[rejected] {refused['lesson']}: {refused['reason']}"), soft_wrap=True)
    out.print(printable(str(result)), soft_wrap=True)
    if result.journal_seq is not None:
        out.print(f"As record {result.journal_seq}; `alma undo --to {result.journal_seq - 1}` takes that back", soft_wrap=True)
    elif result.dry_run and result.lessons:
        out.print("Nothing was changed; --apply notes them", soft_wrap=True)
