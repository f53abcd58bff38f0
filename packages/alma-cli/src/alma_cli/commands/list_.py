"""`alma list`."""

from datetime import datetime
from typing import Annotated

import typer

from alma_cli.options import TIME, TIME_FORMATS, ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, table
from alma_cli.slices import owner_of, summary_of

LARGEST = 100_000
"""Number of memories that `ALMA.list_memories` returns at most."""


def list_(
    kind: Annotated[str | None, typer.Option("--kind", "-k", help="Only memories of this kind.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only what belongs to this agent.")] = None,
    user_id: Annotated[str | None, typer.Option("--user-id", "-u", help="Only what is this user's.")] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Only what was made since then (UTC).", formats=TIME_FORMATS, metavar=TIME)
    ] = None,
    words: Annotated[str | None, typer.Option(help="Only what contains all of these words.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Show at most this number.")] = 20,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Begin with the oldest, not with the newest.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List memories, the newest first.

    \b
    Examples:
      alma list
      alma list --kind anti_pattern --agent helena --limit 50
      alma list --words "token expired"
      alma list --since 2026-03-01 --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        wanted = limit + 1 if 0 < limit < LARGEST else limit  # one more shows whether there are more
        found = alma.list_memories(kind, agent, user_id, since=since, words=words, limit=wanted, newest_first=not oldest_first)
    has_more, found = len(found) > limit, found[:limit]
    if json:
        print_json({"memories": [memory.model_dump(mode="json") for memory in found], "has_more": has_more})
        return
    if not found:
        console().print("There is no such memory.", soft_wrap=True)
        return
    rows = [
        (
            f"{summary_of(memory)}\nid {memory.id}",
            memory.kind,
            owner_of(memory),
            f"{memory.created_at:%Y-%m-%d %H:%M}",
        )
        for memory in found
    ]
    out = console()
    out.print(table(("what", "kind", "owner", "made"), rows, whole=("kind",)))
    if has_more:
        out.print(
            f"These are the {'oldest' if oldest_first else 'newest'} {limit:,}; there are more, see --limit", soft_wrap=True
        )
