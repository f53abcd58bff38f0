"""What a reader may not read moves nothing: prompt, table, check, assessment and wake-up are equal with and without it."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types.identity import UserWall
from facade import ManualClock, NewPlace

TASKS = ("Deploy the auth service", "Deploy the billing service", "Refund a broken parcel", "Plan a trip")
WAYS = ("blue-green", "Blue green!", "rolling update", "call the carrier", "canary release")
VERDICTS = ("success", "success", "failure", "partial", "unverified")
NUMBERS = count()
READERS = (("dev", None), ("dev", "ann"), ("ops", None))


class Told(NamedTuple):
    """An attempt, or a step of one."""

    agent: str
    user: str | None
    task: str
    way: str
    verdict: str
    task_type: str | None
    is_step: bool


def attempts(agents: Sequence[str], users: Sequence[str | None]) -> st.SearchStrategy[Told]:
    return st.builds(
        Told,
        st.sampled_from(agents),
        st.sampled_from(users),
        st.sampled_from(TASKS),
        st.sampled_from(WAYS),
        st.sampled_from(VERDICTS),
        st.sampled_from([None, None, "work"]),
        st.sampled_from([False, False, True]),
    )


MINE = attempts(["dev", "dev", "ops"], [None, None, "ann"])
OF_A_STRANGER = attempts(["spy"], [None, "ann", "eve"])
OF_ANOTHER_USER = attempts(["dev", "ops"], ["eve"])

History = Sequence[tuple[bool, Told]]
"""What was told, in order, and whether it is of others."""


def mixed(others: st.SearchStrategy[Told]) -> st.SearchStrategy[History]:
    return st.lists(st.one_of(st.tuples(st.just(False), MINE), st.tuples(st.just(True), others)), min_size=3, max_size=24)


@pytest.fixture(scope="module")
def stores(new_place: NewPlace) -> Iterator[tuple[ALMA, ALMA, ManualClock]]:
    """Two stores in which each example takes projects of its own; users of the second are isolated."""
    clock = ManualClock()
    agents = {"ops": {"share_with": ["dev"]}, "spy": {"inherit_from": ["dev", "ops"], "share_with": []}}
    given_: dict[str, Any] = {"project_id": "first", "agents": agents, "embedding_dim": 64, "clock": clock}
    with new_place().open(**given_) as one, new_place().open(**given_, users=UserWall.ISOLATED) as other:
        yield one, other, clock


def learn(alma: ALMA, told: Told) -> None:
    error = f"{told.agent} {told.user} saw it break" if told.verdict == "failure" else None
    if not told.is_step:
        given_ = {"task_type": told.task_type, "user_id": told.user, "error_message": error}
        alma.learn(told.agent, told.task, told.verdict, told.way, **given_)
        return
    with alma.episode(told.agent, told.task, user_id=told.user, task_type=told.task_type, top_k=1) as episode:
        episode.step(told.way, ok=told.verdict != "failure", error=error)
        episode.end("unverified")


def seen(alma: ALMA, task: str) -> list[object]:
    """All that the readers see of what was learned, without ids, which no two projects share."""
    found: list[object] = []
    for agent, user in READERS:
        for task_type in (None, "work"):
            asked: dict[str, Any] = {"user_id": user, "task_type": task_type}
            shown = alma.retrieve(task, agent, top_k=20, **asked)
            found += [shown.to_prompt(100_000), [item.score for item in shown.recalled]]
            found += [_without_ids(row) for row in alma.strategies(task, agent, include_steps=True, limit=100, **asked)]
            found += [_without_ids(row) for row in alma.strategies(agent=agent, include_steps=True, limit=100, user_id=user)]
            for way in WAYS:
                found += [str(alma.check(agent, way, task=task, **asked)), str(alma.check(agent, way, user_id=user))]
                assessed = alma.assess(way, task, agent, **asked)
                found += [(str(assessed), assessed.confidence_score, assessed.interval)]
            whole = alma.assess(context=task, agent=agent, **asked)
            found += [(str(whole), whole.confidence_score, whole.interval)]
        found.append(alma.wakeup(agent, user, 100_000))
    return [str(one).replace(alma.project_id, "the project") for one in found]


def _without_ids(row: Any) -> dict[str, object]:
    told = row.model_dump(mode="json")
    return {name: value for name, value in told.items() if not name.endswith(("id", "ids"))}


def check_that_nothing_moves(store: ALMA, clock: ManualClock, history: History, task: str) -> None:
    """Compares a project in which all was told with one in which what is of others was not."""
    whole, without = (store.for_project(f"world {next(NUMBERS)}") for _ in range(2))
    start = clock.now
    for is_of_others, told in history:
        learn(whole, told)
        if not is_of_others:
            learn(without, told)
        clock.advance(hours=1)
    assert seen(whole, task) == seen(without, task)
    clock.now = start


@pytest.mark.slow
@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(history=mixed(OF_A_STRANGER), task=st.sampled_from(TASKS))
def test_what_an_agent_did_that_does_not_share_moves_nothing(
    stores: tuple[ALMA, ALMA, ManualClock], history: History, task: str
) -> None:
    check_that_nothing_moves(stores[0], stores[2], history, task)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(history=mixed(OF_ANOTHER_USER), task=st.sampled_from(TASKS))
def test_what_was_done_for_an_isolated_user_moves_nothing_for_others(
    stores: tuple[ALMA, ALMA, ManualClock], history: History, task: str
) -> None:
    check_that_nothing_moves(stores[1], stores[2], history, task)
