"""`alma check`."""

from functools import partial
from typing import Annotated

import typer

from alma_cli.exits import Exit
from alma_cli.options import AgentOption, ConfigOption, JsonOption, TaskTypeOption, UserOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.walls import other_users


def check(
    action: Annotated[str, typer.Argument(help="What is about to be done.")],
    agent: AgentOption,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="What it is done for: what was learned from other tasks is no warning then."),
    ] = None,
    task_type: TaskTypeOption = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Check whether an intended action is known to fail, as learned or stated.

    Ends with exit code 0 when no known warning matches, with 6 when one does. It forbids nothing and writes nothing.

    \b
    Examples:
      alma check "kubectl rollout restart deployment/auth" -a victor
      alma check "Wait with sleep()" -a helena && ./run.sh
      alma check "Wait with sleep()" -a helena --json
      alma check "rolling update" -a victor --task "Deploy the auth service"
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        ask = partial(alma.check, agent=agent, action=action, task=task, task_type=task_type)
        found = ask(user_id=user_id)
        is_said = not found.is_clear or json
        others = "" if is_said else other_users(alma, agent, user_id, lambda user: not ask(user_id=user).is_clear)
    if json:
        print_json({"is_clear": found.is_clear, **found.model_dump(mode="json")})
    elif found.is_clear:
        said = f"{found}{others}"
        console().print(printable(said[:1].upper() + said[1:]), soft_wrap=True)
    else:
        console().print(printable("\n".join(f"Warning: {warning.summary}" for warning in found.warnings)), soft_wrap=True)
    if not found.is_clear:
        raise typer.Exit(Exit.WARNED)
