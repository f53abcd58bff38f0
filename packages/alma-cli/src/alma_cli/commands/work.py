"""`alma work`."""

from typing import Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, UserOption, config_path
from alma_cli.output import console, print_json, printable, table


def work(
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's items, and those of no agent.")] = None,
    user_id: UserOption = None,
    strategy: Annotated[
        str, typer.Option("--strategy", "-s", help="How the next item is chosen: priority, quick_win or unblock.")
    ] = "priority",
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the work items, the most urgent first, and name the next one.

    \b
    Examples:
      alma work
      alma work -a victor --strategy quick_win --json
    """
    from alma import ALMA
    from alma.progress import ProgressTracker

    with ALMA.from_config(config_path(config), create=False) as alma:
        tracker = ProgressTracker(alma=alma)
        following = tracker.get_next_item(strategy, agent=agent, user_id=user_id)
        found = tracker.items(agent=agent, user_id=user_id)
        summary = tracker.get_progress_summary(agent=agent, user_id=user_id)
    if json:
        print_json(
            {
                "next": following.model_dump(mode="json") if following else None,
                "summary": summary.model_dump(mode="json"),
                "items": [item.model_dump(mode="json") for item in found],
            }
        )
        return
    if not found:
        console().print("There is no work item.", soft_wrap=True)
        return
    rows = [(item.id, item.priority, item.status, item.claimed_by or item.agent or "", printable(item.title)) for item in found]
    console().print(table(("id", "priority", "status", "agent", "title"), rows, right=("priority",)))
    console().print(f"Next: {printable(following.title)}" if following else "Nothing can be taken up now.", soft_wrap=True)
