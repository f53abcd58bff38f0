"""`alma review`."""

from typing import Annotated

import typer

from alma.cli.options import ConfigOption, JsonOption, config_path
from alma.cli.output import console, print_json, printable
from alma.cli.reviews import show_episode, show_report


def review(
    episode: Annotated[str | None, typer.Argument(help="The episode to look at or to judge.", show_default="list them")] = None,
    verdict: Annotated[str | None, typer.Option("--verdict", help="success, failure or partial.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in a sentence.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's episodes.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many in each list.")] = 20,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the episodes that a person should judge first, show one, or give its verdict.

    Listed are episodes that ended unjudged, least foreseeable first, and those judged otherwise than forecast. A forecast is made from the
    tools of an episode. It is no verdict: nothing is learned from it. The verdict that you give counts as that of a person.

    \b
    Examples:
      alma review
      alma review --agent victor --limit 5 --json
      alma review 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55
      alma review 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55 --verdict failure --reason "rolled back in the night"
    """
    from alma import ALMA

    _check(episode, verdict, reason)
    with ALMA.from_config(config_path(config)) as alma:
        if episode is None:
            report = alma.review(agent=agent, limit=limit)
        elif verdict is None:
            found = alma.get_episode(episode)
        else:
            found = alma.settle(episode, verdict, reason, source="person")
    if json:
        print_json((report if episode is None else found).model_dump(mode="json"))
    elif episode is None:
        show_report(report)
    elif verdict is None:
        show_episode(found)
    else:
        console().print(printable(f"Judged {found.outcome}: episode {found.id} of {found.agent!r}"), soft_wrap=True)


def _check(episode: str | None, verdict: str | None, reason: str | None) -> None:
    if episode is None and (verdict or reason):
        raise typer.BadParameter("a verdict needs the episode that it is of", param_hint="EPISODE")
    if reason and not verdict:
        raise typer.BadParameter("a reason needs a verdict", param_hint="--verdict")
