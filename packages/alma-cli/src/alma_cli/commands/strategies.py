"""`alma strategies`."""

from functools import partial
from typing import Annotated

import typer

from alma_cli.options import AgentOption, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.records import records_table
from alma_cli.walls import other_users


def strategies(
    agent: AgentOption,
    task: Annotated[str | None, typer.Argument(help="Only what was tried for tasks like this.", show_default="all tasks")] = None,
    task_type: Annotated[str | None, typer.Option(help="Only tasks of this type.")] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Also what single steps of episodes tried.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Show at most this number.")] = 20,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show what was tried and how it went, the highest expected rate of success first.

    Outcomes that were not judged do not count, a partial success counts half. At 95 % the true rate lies in the interval, which is drawn on a
    scale from 0 to 1.

    \b
    Examples:
      alma strategies -a helena
      alma strategies "Deploy the auth service" -a victor
      alma strategies --task-type deployment -a victor --limit 50 --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        ask = partial(alma.strategies, task=task, agent=agent, task_type=task_type, include_steps=steps, limit=limit)
        found = ask(user_id=user_id)
        is_said = bool(found.rows) or json
        others = "" if is_said else other_users(alma, agent, user_id, lambda user: bool(ask(user_id=user).rows))
    if json:
        print_json(found.model_dump(mode="json"))
    elif found.rows:
        console().print(records_table(found.rows))
    else:
        where = " for a task like that" if task else f" for {task_type!r} tasks" if task_type else ""
        hint = f"; {found.hint}" if found.hint else ""
        console().print(printable(f"As far as {agent!r} knows, no strategy was tried{where} yet{others}{hint}"), soft_wrap=True)
