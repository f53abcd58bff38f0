"""`alma sessions`."""

from typing import Annotated

import typer

from alma_cli.options import AgentOption, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable, table


def sessions(
    agent: AgentOption,
    user_id: UserOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Show at most this number.")] = 10,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the sessions of an agent, the newest first, with what each handed over.

    \b
    Examples:
      alma sessions -a helena
      alma sessions -a helena --user-id ann --json
    """
    from alma import ALMA
    from alma.session import SessionManager

    with ALMA.from_config(config_path(config), create=False) as alma:
        found = SessionManager(alma=alma).get_previous_sessions(agent, user_id=user_id, limit=limit)
    if json:
        print_json({"sessions": [one.model_dump(mode="json") for one in found]})
        return
    if not found:
        console().print("There is no such session.", soft_wrap=True)
        return
    rows = [
        (
            f"{one.started_at:%Y-%m-%d %H:%M}",
            one.status,
            printable(one.goal),
            printable(one.handoff.last_action) if one.handoff else "",
        )
        for one in found
    ]
    console().print(table(("began (UTC)", "status", "goal", "last action"), rows))
