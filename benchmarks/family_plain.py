"""An agent without a framework for `benchmarks.families`: the kit called by hand."""

from alma import ALMA
from alma.integration import Integration, Options, tool_use
from benchmarks.families import AGENT, Follower, Run, apply_for, look, went_well


def runner(alma: ALMA | None) -> Run:
    """Runs of the agent, with its memory or without."""
    kit = None if alma is None else Integration(alma, agent=AGENT, options=Options(evaluator=went_well, on_error="raise"))

    def go(task: str, follower: Follower) -> None:
        run = None if kit is None else kit.run(task)
        prompt = f"{task}\n{run.recall() if run else ''}"
        tools = {"look": look, "apply": apply_for(lambda: follower)}
        results: list[str] = []
        while not isinstance(said := follower.next(prompt, results), str):
            use = tool_use(said[0], said[1], task=task)
            try:
                results.append(tools[said[0]](**said[1]))
            except RuntimeError as error:
                results.append(f"failed: {error}")
                if run:
                    run.tool_raised(use, error)
            else:
                if run:
                    run.tool_returned(use, results[-1])
        if run:
            run.end(said)

    return go
