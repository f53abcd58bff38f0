"""`alma wakeup`."""

from typing import Annotated

import typer

from alma_cli.options import AgentOption, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable


def wakeup(
    agent: AgentOption,
    user_id: UserOption = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", help="The longest text, in tokens.")] = 900,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Print what an agent needs at the start of a session, as notes for its prompt.

    \b
    Examples:
      alma wakeup -a helena
      alma wakeup -a helena --user-id ann --max-tokens 300 --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        text = alma.wakeup(agent, user_id, max_tokens)
        is_known = bool(alma.list_memories(agent=agent, limit=1))  # a table of all that it tried would take longer than the notes
        hint = None if is_known else alma.strategies(agent=agent, user_id=user_id).hint
    if json:
        print_json({"wakeup": text, "hint": hint})
        return
    console().print(printable(text), soft_wrap=True)
    if hint:
        console(stderr=True).print(printable(f"alma: warning: {hint}"), soft_wrap=True)  # not in the text, which is for a prompt
