"""A user is a wall: what is recorded for one changes no text and no memory that another sees; with `isolated` no number either."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.types.identity import UserWall
from alma_testing.clocks import START
from facade import StoredIn
from parts import IN_CI, other_examples

PARTS = [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, 4))]
TRIALS = 75 if IN_CI else 15

WORDS = ["refund", "deploy", "login", "parcel", "invoice"]
WAYS = ["ask first", "call the tool", "wait", "retry twice"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
verdicts = st.sampled_from(["success", "failure", "partial", "unverified"])
kinds = st.sampled_from([None, "billing"])
steps = st.one_of(
    st.tuples(st.just("learn"), texts, st.sampled_from(WAYS), verdicts, kinds),
    st.tuples(st.sampled_from(["fact", "talk", "rule", "warning", "preference", "episode"]), texts),
)
Step = tuple[Any, ...]


def made(alma: ALMA, step: Step, user: str | None, mark: str) -> None:
    """One call for a user; `mark` stands in each of its texts but those of tasks."""
    text = f"{step[1]} {mark}".strip()
    match step[0]:
        case "learn":
            given = {"error_message": f"it broke {mark}", "task_type": step[4], "user_id": user}
            alma.learn("bot", step[1], step[3], f"{step[2]} {mark}".strip(), **given)
        case "fact":
            alma.add_domain_knowledge("bot", "things", text, user_id=user)
        case "talk":
            alma.add_conversation([("user", text)], "bot", "session", user_id=user)
        case "rule":
            alma.add_heuristic("bot", step[1], text, user_id=user)
        case "warning":
            alma.add_anti_pattern("bot", text, "it fails", user_id=user)
        case "preference":
            alma.add_user_preference(user or "nobody", "style", text)
        case _:
            with alma.episode("bot", step[1], user_id=user, top_k=1) as episode:
                episode.step(f"look {mark}", ok=True)
                episode.succeed(strategy=text)


def seen(alma: ALMA, user: str | None, question: str, *, numbers: bool) -> list[object]:
    """What a reader sees of a question: memories, records and warnings.

    Without `numbers`, what was stated alone: numbers of others count in ways, and by them in which tasks are alike.
    """
    asked: dict[str, Any] = {"agent": "bot", "user_id": user}
    found = alma.retrieve(question, top_k=50, explain=True, **asked)
    table = alma.strategies(question, limit=100, **asked).rows
    warned = alma.check(action=question, **asked).warnings
    if numbers:
        whole = found.model_dump(mode="json", exclude={"retrieval_time_ms", "retrieved_at"})
        return [whole, [row.model_dump(mode="json") for row in table], [one.model_dump(mode="json") for one in warned]]
    stated = {memory.id for kind in STATED for memory in alma.list_memories(kind, limit=1_000)} - {row.id for row in table}
    return [sorted((memory.id, memory.text, memory.user_id or "") for memory in found if memory.id in stated)]


STATED = ("domain_knowledge", "user_preference", "conversation")


@pytest.fixture(scope="module", params=list(UserWall)[:2], ids=str)
def walled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stored_in: StoredIn
) -> Iterator[tuple[ALMA, bool]]:
    """A store, and whether its users are isolated."""
    folder = tmp_path_factory.mktemp("walled")
    with ALMA.open(
        folder, project_id="p", embedding_provider="hash", users=request.param, clock=lambda: START, **stored_in(folder)
    ) as alma:
        yield alma, request.param is UserWall.ISOLATED


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_what_is_recorded_for_one_user_changes_nothing_for_others(walled: tuple[ALMA, bool], part: int) -> None:
    store, is_isolated = walled
    projects = count()

    @settings(max_examples=TRIALS, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(
        own=st.lists(st.tuples(st.sampled_from(["ann", None]), steps), min_size=1, max_size=8),
        others=st.lists(steps, min_size=1, max_size=10),
        question=texts,
    )
    def holds(own: list[tuple[str | None, Step]], others: list[Step], question: str) -> None:
        alma = store.for_project(f"p{part}-{next(projects)}")
        for user, step in own:
            made(alma, step, user, "")
        before = [seen(alma, reader, question, numbers=is_isolated) for reader in ("ann", None)]
        for step in others:
            made(alma, step, "bob", "zebrawood")
        assert [seen(alma, reader, question, numbers=is_isolated) for reader in ("ann", None)] == before
        assert "zebrawood" not in str([seen(alma, reader, question, numbers=True) for reader in ("ann", None, "eve")])
        alma.forget_user("bob")
        assert [seen(alma, reader, question, numbers=is_isolated) for reader in ("ann", None)] == before

    other_examples(part, holds)()
