"""Replay from any position is the rest of a full replay, for any history; and what is purged changes no other event."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from alma import ALMA
from alma.events import MemoryEvent
from alma_events import read_event

ACTS = st.lists(
    st.tuples(
        st.sampled_from(["learn", "learn_many", "fact", "wish", "episode", "use", "forget", "undo", "purge", "forget_user"]),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=12,
)
FILTERS: list[dict[str, Any]] = [
    {},
    {"types": ["memory.created", "memory.deleted"]},
    {"agents": ["victor"]},
    {"kinds": ["outcome"], "payload": "full"},
]

OF_EPISODES = ("episode.ended", "outcome.settled")
"""Events of an episode, whose record goes with each of its memories."""


def act(alma: ALMA, what: str, number: int) -> None:
    """Does one thing; what cannot be done now is left."""
    known = [one.id for one in alma.list_memories(limit=999, newest_first=False)]
    head = alma.storage.project("shop").head()
    user = (None, "maria", "otto")[number % 3]
    agent = ("victor", "helena")[number % 2]
    if what == "learn":
        alma.learn(agent, f"Deploy {number}", number % 3 > 0, f"way {number % 4}", user_id=user)
    elif what == "learn_many":
        alma.learn_many(
            [{"agent": agent, "task": f"Deploy {n}", "outcome": True, "user_id": user} for n in range(number % 5 + 1)]
        )
    elif what == "fact":
        alma.add_domain_knowledge(agent, "auth", f"fact {number}")
    elif what == "wish":
        alma.add_user_preference(user or "maria", "style", f"wish {number}")
    elif what == "episode":
        with alma.episode(agent=agent, task=f"Attempt {number}", user_id=user) as episode:
            episode.step(f"call({number})", ok=False, error="no")
            episode.succeed(strategy="yes")
    elif what == "use" and known:
        alma.record_usage(known[:4], known[:1], agent=agent)
    elif what == "forget" and known:
        alma.forget(memory_ids=[known[number % len(known)]])
    elif what == "undo" and head:
        alma.undo(to=max(head - number % 4 - 1, 0))
    elif what == "purge" and known:
        alma.purge([known[number % len(known)]])
    elif what == "forget_user":
        alma.forget_user("maria")


@given(ACTS, st.sampled_from(FILTERS), st.booleans())
@settings(max_examples=40, deadline=None)
def test_replay_from_any_position_is_the_rest_of_a_full_one(
    acts: list[tuple[str, int]], asked: dict[str, Any], is_live: bool
) -> None:
    with TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        live: list[MemoryEvent] = []
        for what, number in acts:
            act(alma, what, number)
            if is_live and what not in ("purge", "forget_user"):
                live += alma.events(live[-1].position if live else None, **asked)
        whole = list(alma.events(**asked))
        for place in range(len(whole) + 1):
            after = whole[place - 1].position if place else None
            assert list(alma.events(after, **asked)) == whole[place:]
        for seq in range(alma.storage.project("shop").head() + 1):
            assert list(alma.events(seq, **asked)) == [event for event in whole if event.seq > seq]
        positions = [(event.seq, event.index) for event in whole]
        assert positions == sorted(set(positions))
        assert len({event.id for event in whole}) == len(whole)
        if live and not any(what in ("purge", "forget_user") for what, _ in acts):
            assert [event.id for event in live] == [event.id for event in whole]
        check_single_events(alma, whole)


def check_single_events(alma: ALMA, whole: list[MemoryEvent]) -> None:
    for event in whole[:20]:
        found = read_event(alma, event.position)
        assert found is not None
        assert (found.id, found.event_type, found.memory_id) == (event.id, event.event_type, event.memory_id)


@given(ACTS, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_purge_changes_no_event_of_what_is_kept(acts: list[tuple[str, int]], chosen: int) -> None:
    with TemporaryDirectory() as folder, ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        for what, number in [("learn_many", 4), *acts]:
            act(alma, what, number)
        listed = [one.id for one in alma.list_memories(limit=999, newest_first=False)]
        # A learned rule has a derived id and no words of its own: purging it archives it, and an event names its id.
        known = [each for each in listed if UUID(each).version == 7]
        if not known:
            return
        gone = known[chosen % len(known)]
        before = {event.id: event for event in alma.events()}
        alma.purge([gone])
        after = {event.id: event for event in alma.events()}
        assert gone not in {event.memory_id for event in after.values()}
        kept = [event for event in before.values() if event.memory_id not in (gone, None) and event.event_type not in OF_EPISODES]
        assert [(one.id, one.position, one.memory_id) for one in kept] == [
            (one.id, after[one.id].position, after[one.id].memory_id) for one in kept if one.id in after
        ]


def test_an_event_that_is_purged_or_never_was_is_none(tmp_path: Path) -> None:
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        made = alma.learn_many([{"agent": "victor", "task": f"Deploy {number}", "outcome": True} for number in range(2)])
        (position,) = [event.position for event in alma.events() if event.memory_id == made[0].id]
        assert read_event(alma, position) is not None
        alma.purge([made[0].id])
        assert read_event(alma, position) is None
        assert read_event(alma, "99.0") is None
