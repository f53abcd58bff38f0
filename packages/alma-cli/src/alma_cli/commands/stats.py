"""`alma stats`."""

from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, counted, print_json, printable, table


def stats(
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Count this agent's memories only.")] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Count what the project holds.

    \b
    Examples:
      alma stats
      alma stats --agent helena --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        held = alma.get_stats(agent)
    if json:
        print_json(held.model_dump(mode="json"))
        return
    out = console()
    out.print(
        printable(
            f"Project {held.project_id!r}: {counted(held.total - held.learned_rules, 'memory', 'memories')} stored, "
            f"{counted(held.learned_rules, 'rule')} learned, {counted(held.journal_records, 'journal record')}, "
            f"{held.database_bytes / 1024:,.0f} kB, embedder {held.embedder}"
        ),
        soft_wrap=True,
    )
    rows = [(name, kind, count) for name, kinds in sorted(held.by_agent.items()) for kind, count in sorted(kinds.items())]
    if rows:
        out.print(table(("owner", "kind", "count"), rows, right=("count",)))
