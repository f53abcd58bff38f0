"""`alma review`."""

from typing import TYPE_CHECKING, Annotated

import typer

from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.reviews import show_episode, show_report

if TYPE_CHECKING:
    from alma import ALMA, EpisodeRecord


def review(
    episode: Annotated[str | None, typer.Argument(help="The episode to look at or to judge.", show_default="list them")] = None,
    verdict: Annotated[str | None, typer.Option("--verdict", help="success, failure or partial.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in a sentence.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's episodes.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The episodes of this run: list them, or judge all that ended.")
    ] = None,
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
      alma review --run 7f0c --verdict success
    """
    from alma import ALMA

    _check(episode, run, agent, verdict, reason)
    with ALMA.from_config(config_path(config), create=False) as alma:
        if run is not None:
            _of_run(alma, run, verdict, reason, json=json)
        elif episode is not None:
            _of_episode(alma, episode, verdict, reason, json=json)
        else:
            report = alma.review(agent=agent, limit=limit)
            print_json(report.model_dump(mode="json")) if json else show_report(report)


def _of_episode(alma: "ALMA", episode: str, verdict: str | None, reason: str | None, *, json: bool) -> None:
    found = alma.get_episode(episode) if verdict is None else alma.settle(episode, verdict, reason, source="person")
    if json:
        print_json(found.model_dump(mode="json"))
    elif verdict is None:
        show_episode(found)
    else:
        _print_judged(found)


def _of_run(alma: "ALMA", run: str, verdict: str | None, reason: str | None, *, json: bool) -> None:
    found = (
        alma.run_episodes(run) if verdict is None else alma.settle(outcome=verdict, run_id=run, reason=reason, source="person")
    )
    if json:
        print_json({"run_id": run, "episodes": [episode.model_dump(mode="json") for episode in found]})
    elif not found:
        console().print(printable(f"There is no episode of run {run}."), soft_wrap=True)
    for episode in () if json else found:
        show_episode(episode) if verdict is None else _print_judged(episode)


def _print_judged(episode: "EpisodeRecord") -> None:
    console().print(printable(f"Judged {episode.outcome}: episode {episode.id} of {episode.agent!r}"), soft_wrap=True)


def _check(episode: str | None, run: str | None, agent: str | None, verdict: str | None, reason: str | None) -> None:
    if episode is not None and run is not None:
        raise typer.BadParameter("give an episode or a run, not both", param_hint="--run")
    if agent is not None and run is not None:
        raise typer.BadParameter("a run is of all its agents", param_hint="--agent")
    if episode is None and run is None and (verdict or reason):
        raise typer.BadParameter("a verdict needs the episode or the run that it is of", param_hint="EPISODE")
    if reason and not verdict:
        raise typer.BadParameter("a reason needs a verdict", param_hint="--verdict")
