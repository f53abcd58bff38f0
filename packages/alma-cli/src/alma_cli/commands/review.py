"""`alma review`."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alma.errors import MissingDependencyError, install_line
from alma_cli.options import ConfigOption, JsonOption, config_path
from alma_cli.output import console, print_json, printable
from alma_cli.reviews import show_episode, show_pairs, show_report

if TYPE_CHECKING:
    from alma import ALMA, EpisodeRecord


def review(
    episode: Annotated[
        str | None, typer.Argument(help="The episode, or pair of memories, to look at or to judge.", show_default="list them")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option("--verdict", help="success, failure or partial; merge or keep for a pair.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in a sentence.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's episodes.")] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="The episodes of this run: list them, or judge all that ended.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many in each list.")] = 20,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """List the episodes that a person should judge first, and pairs of memories that may say the same; show one, or give its verdict.

    Listed are episodes that ended unjudged, least foreseeable first, and those judged otherwise than forecast. A forecast is made from the
    tools of an episode. It is no verdict: nothing is learned from it. The verdict that you give counts as that of a person. Pairs are those
    that `alma consolidate --apply` left open: merge them, or keep them apart for good.

    \b
    Examples:
      alma review
      alma review --agent victor --limit 5 --json
      alma review 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55
      alma review 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55 --verdict failure --reason "rolled back in the night"
      alma review --run 7f0c --verdict success
      alma review 0199b0f2-6c1e-7a30-8d4f-3b1c9f0a2d55/0199b0f3-11aa-7c02-9e7b-5d2a8c4b6f10 --verdict merge
    """
    from alma import ALMA

    _check(episode, run, agent, verdict, reason)
    with ALMA.from_config(config_path(config), create=False) as alma:
        if run is not None:
            _of_run(alma, run, verdict, reason, json=json)
        elif episode is not None and "/" in episode:
            _of_pair(alma, episode, verdict, reason, json=json)
        elif episode is not None:
            _of_episode(alma, episode, verdict, reason, json=json)
        else:
            report, (pairs, count) = alma.review(agent=agent, limit=limit), _unsure(alma, agent, limit)
            if json:
                print_json({**report.model_dump(mode="json"), "pairs": pairs, "pairs_count": count})
            else:
                show_report(report, pairs, count)


def _unsure(alma: "ALMA", agent: str | None, limit: int) -> tuple[list[Any], int]:
    """Returns the pairs of memories to judge, and how many there are; none without alma-knowledge, which lists them."""
    if find_spec("alma_knowledge") is None:
        return [], 0
    pairs, count = _reviewing().list_unsure(alma, agent, limit)
    return pairs, count


def _reviewing() -> ModuleType:
    if find_spec("alma_knowledge") is None:
        raise MissingDependencyError(f"pairs of memories need a package that is not installed: {install_line('knowledge')}")
    return import_module("alma_knowledge.consolidation.reviewing")


def _of_pair(alma: "ALMA", pair: str, verdict: str | None, reason: str | None, *, json: bool) -> None:
    if reason is not None:
        raise typer.BadParameter("the verdict of a pair has no reason", param_hint="--reason")
    if verdict is None:
        found = _reviewing().read_pair(alma, pair.split("/"))
        print_json(found) if json else show_pairs([found], 1)
        return
    seq = _reviewing().judge_pair(alma, pair.split("/"), verdict)
    if json:
        print_json({"ids": pair.split("/"), "verdict": verdict, "seq": seq})
    else:
        did = "Merged" if verdict == "merge" else "Kept apart for good"
        console().print(printable(f"{did}, as record {seq}; `alma undo --to {seq - 1}` takes that back"), soft_wrap=True)


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
