"""`alma workflow`."""

import json as json_text
from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable


def workflow(
    workflow_id: Annotated[str, typer.Argument(help="The workflow's id.")],
    branch: Annotated[str | None, typer.Option("--branch", help="Only checkpoints of this branch.")] = None,
    user_id: UserOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show the newest checkpoint of a workflow, and what it produced.

    \b
    Examples:
      alma workflow deploy-v2
      alma workflow deploy-v2 --branch fix --json
    """
    from alma import ALMA

    with ALMA.from_config(config_path(config), create=False) as alma:
        newest = alma.resume(workflow_id, branch=branch, user_id=user_id)
        artifacts = alma.get_artifacts(workflow_id, user_id=user_id)
    if json:
        print_json(
            {
                "checkpoint": newest.model_dump(mode="json") if newest else None,
                "artifacts": [one.model_dump(mode="json") for one in artifacts],
            }
        )
        return
    if newest is None:
        lines = ["There is no checkpoint."]
    else:
        at = " ".join(part for part in (newest.branch, newest.node, newest.name) if part)
        state = json_text.dumps(newest.state, ensure_ascii=False)
        lines = [f"Checkpoint {newest.number} at {newest.created_at:%Y-%m-%d %H:%M} UTC ({at})", state]
    lines += [f"{one.artifact_type}: {one.ref}" + (f" ({one.checksum})" if one.checksum else "") for one in artifacts]
    console().print(printable("\n".join(lines)), soft_wrap=True)
