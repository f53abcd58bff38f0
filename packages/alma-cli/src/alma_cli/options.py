"""Options that several commands share."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

CONFIG_FILE = Path(".alma", "config.yaml")

TIME_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]
"""Times on the command line."""
TIME = "TIME"
"""Their name in the help."""

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The configuration file.", show_default=".alma/config.yaml, here or in a folder above"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
SinceOption = Annotated[
    datetime | None,
    typer.Option(
        help="Only what happened since then (UTC), such as 2026-03-01 or 2026-03-01T08:30:00.", formats=TIME_FORMATS, metavar=TIME
    ),
]
UntilOption = Annotated[
    datetime | None, typer.Option(help="Only what happened until then (UTC).", formats=TIME_FORMATS, metavar=TIME)
]
AsOfOption = Annotated[datetime | None, typer.Option(help="Only what was known then (UTC).", formats=TIME_FORMATS, metavar=TIME)]
VerifiedOption = Annotated[bool, typer.Option("--verified", help="Leave out facts and preferences that better ones contradict.")]
AgentOption = Annotated[str, typer.Option("--agent", "-a", help="Whose memory.")]
TaskTypeOption = Annotated[str | None, typer.Option("--task-type", help="The type of the task, such as deployment.")]
UserOption = Annotated[str | None, typer.Option("--user-id", "-u", help="The user for whom the agent works.")]


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Returns True when the arguments request JSON, even if they are wrong otherwise."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def config_path(given: Path | None) -> Path:
    """Returns the configuration to use: the one given, else the nearest `.alma/config.yaml` here or above, else where it should be."""
    if given is not None:
        return given
    here = Path.cwd()
    found = (folder / CONFIG_FILE for folder in (here, *here.parents))
    return next((path for path in found if path.is_file()), here / CONFIG_FILE)
