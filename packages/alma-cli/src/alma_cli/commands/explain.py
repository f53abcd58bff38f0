"""`alma explain`."""

from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.exits import Exit
from alma_cli.options import (
    AsOfOption,
    ConfigOption,
    JsonOption,
    SinceOption,
    TaskTypeOption,
    UntilOption,
    UserOption,
    VerifiedOption,
    config_path,
)
from alma_cli.output import print_json, printable, write_text

if TYPE_CHECKING:
    from alma.types.recalled import RetrievalExplanation


def explain(
    query: Annotated[str, typer.Argument(help="What is asked, as for `alma retrieve`.")],
    memory_id: Annotated[str, typer.Argument(help="The memory in question.")],
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Who asks.", show_default="the memory's own owner")] = None,
    user_id: UserOption = None,
    task_type: TaskTypeOption = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="Show at most this number of each kind.")] = 5,
    since: SinceOption = None,
    until: UntilOption = None,
    as_of: AsOfOption = None,
    verified: VerifiedOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show why a memory is retrieved for a query, or what excludes it.

    An id that no memory of the project has ends with exit code 4.

    \b
    Examples:
      alma explain "Test the sign-up form" 0198c5b8-7d1e-7cc3-98a4-3f0c9d2b6a11 --agent helena
      alma explain "Test the sign-up form" 0198c5b8-7d1e-7cc3-98a4-3f0c9d2b6a11 --json
    """
    from alma import ALMA
    from alma.types.recalled import Reason

    with ALMA.from_config(config_path(config), create=False) as alma:
        explained = alma.explain_retrieval(
            query,
            memory_id,
            agent=agent,
            user_id=user_id,
            task_type=task_type,
            top_k=top_k,
            since=since,
            until=until,
            as_of=as_of,
            verified=verified,
        )
    if json:
        print_json({"selected": explained.selected, **explained.model_dump(mode="json")})
    else:
        write_text(printable("\n".join(_lines(explained)) + "\n"))
    if explained.reason in (Reason.UNKNOWN, Reason.OTHER_PROJECT):
        raise typer.Exit(Exit.REFUSED)


def _lines(explained: "RetrievalExplanation") -> list[str]:
    return [str(explained), *(f"  {line}" for line in (explained.explanation.lines() if explained.explanation else ()))]
