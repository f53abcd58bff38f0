"""`alma learn`."""

import json as json_text
from typing import Annotated, Any

import typer

from alma.errors import ValidationError
from alma.text import quoted
from alma_cli.options import AgentOption, ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable


def learn(
    agent: AgentOption,
    task: Annotated[str, typer.Option("--task", "-t", help="What was to be done.")],
    outcome: Annotated[str, typer.Option("--outcome", "-o", help="success, failure, partial or unverified.")],
    strategy: Annotated[str | None, typer.Option("--strategy", "-s", help="What was tried.")] = None,
    task_type: Annotated[str | None, typer.Option(help="The type of the task.")] = None,
    duration_ms: Annotated[int | None, typer.Option(help="How long it took, in milliseconds.")] = None,
    error: Annotated[str | None, typer.Option("--error", "--error-message", help="What went wrong.")] = None,
    feedback: Annotated[str | None, typer.Option(help="What a person said about it.")] = None,
    task_id: Annotated[str | None, typer.Option(help="An id of the task, where its words do not tell it from others.")] = None,
    difficulty: Annotated[str | None, typer.Option(help="How hard it was known to be, such as easy or hard.")] = None,
    verdict_source: Annotated[
        str, typer.Option(help="Who judged: tool, person, evaluator, caller (the program), agent (its own word) or imported.")
    ] = "caller",
    idempotency_key: Annotated[str | None, typer.Option(help="A key of the event: sent again, it counts once.")] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Further data, as a JSON object.")] = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Record how a task went.

    \b
    Examples:
      alma learn -a helena -t "Test the login form" -o success -s "Empty fields first, then a valid submission"
      alma learn -a helena -t "Deploy" -o failure -s "kubectl apply" --error ImagePullBackOff --json
      alma learn -a helena -t "Deploy" -o success --verdict-source tool --idempotency-key build-812 --metadata '{"commit": "1d63600"}'
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
            task_id=task_id,
            difficulty=difficulty,
            verdict_source=verdict_source,
            idempotency_key=idempotency_key,
            metadata=None if metadata is None else _parsed(metadata),
            user_id=user_id,
        )
    if json:
        print_json(learned.model_dump(mode="json"))
        return
    console().print(printable(f"Learned {learned.outcome.value} of {agent!r}: {learned.id}"), soft_wrap=True)


def _parsed(metadata: str) -> Any:
    try:
        return json_text.loads(metadata)
    except (ValueError, RecursionError):
        raise ValidationError(f"metadata must be a JSON object, not {quoted(metadata)}") from None
