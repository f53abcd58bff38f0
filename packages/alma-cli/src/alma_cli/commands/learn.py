"""`alma learn`."""

from typing import Annotated

import typer

from alma_cli.options import AgentOption, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable


def learn(
    agent: AgentOption,
    task: Annotated[str, typer.Option("--task", "-t", help="What was to be done.")],
    outcome: Annotated[str, typer.Option("--outcome", "-o", help="success, failure, partial or unverified.")],
    strategy: Annotated[str | None, typer.Option("--strategy", "-s", help="What was tried.")] = None,
    task_type: Annotated[str | None, typer.Option(help="The type of the task.")] = None,
    duration_ms: Annotated[int | None, typer.Option(help="How long it took, in milliseconds.")] = None,
    error: Annotated[str | None, typer.Option(help="What went wrong.")] = None,
    feedback: Annotated[str | None, typer.Option(help="What a person said about it.")] = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Record how a task went.

    \b
    Examples:
      alma learn -a helena -t "Test the login form" -o success -s "Empty fields first, then a valid submission"
      alma learn -a helena -t "Deploy" -o failure -s "kubectl apply" --error ImagePullBackOff --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config)) as alma:
        learned = alma.learn(
            agent=agent,
            task=task,
            outcome=outcome,
            strategy_used=strategy,
            task_type=task_type,
            duration_ms=duration_ms,
            error_message=error,
            feedback=feedback,
            user_id=user_id,
        )
    if json:
        print_json(learned.model_dump(mode="json"))
        return
    console().print(printable(f"Learned {learned.outcome.value} of {agent!r}: {learned.id}"), soft_wrap=True)
