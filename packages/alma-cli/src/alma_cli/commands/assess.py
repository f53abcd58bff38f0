"""`alma assess`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.intervals import marks, picture
from alma_cli.options import AgentOption, ConfigOption, JsonOption, TaskTypeOption, UserOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.records import records_table
from alma_cli.walls import other_users

if TYPE_CHECKING:
    from alma.types.strategies import Assessment


def assess(
    agent: AgentOption,
    context: Annotated[str, typer.Option("--context", "-t", help="The task.")],
    strategy: Annotated[str | None, typer.Argument(help="What may be tried.", show_default="whatever is tried")] = None,
    task_type: TaskTypeOption = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show how likely a strategy is to succeed at a task, and how sure that is; without a strategy, how likely the task is to succeed at all.

    Rests on what was tried on such tasks, as `alma strategies` counts it. Where nothing is known, it says "unknown".

    \b
    Examples:
      alma assess "blue-green deployment" --context "Deploy the auth service" -a victor
      alma assess --context "Deploy the auth service" -a victor
      alma assess "rolling update" --context "Deploy the auth service" -a victor --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        ask = partial(alma.assess, strategy=strategy, context=context, agent=agent, task_type=task_type)
        found = ask(user_id=user_id)
        is_said = found.is_known or json
        others = "" if is_said else other_users(alma, agent, user_id, lambda user: ask(user_id=user).is_known)
    if json:
        print_json({"is_known": found.is_known, **found.model_dump(mode="json")})
    else:
        _print(found, others)


def _print(found: "Assessment", others: str) -> None:
    out = console()
    out.print(printable(f"{found.summary[:1].upper()}{found.summary[1:]}{others}"), soft_wrap=True)
    if found.trials:
        share = found.successes / found.trials
        out.print(f"0 {picture(share, found.interval, marks(), width=41)} 1", soft_wrap=True)
    if found.records:
        out.print(records_table(found.records, title="It rests on"))
