"""A client gets the events of the memories that it may read, and no others: for random projects, rules and clients."""

import json
import random
from pathlib import Path

import pytest

from alma import ALMA, ScopeViolationError
from alma.events import MemoryEvent, read_events
from alma_access import ANY, NONE, Access
from scoped_worlds import AGENTS, USERS, Rules, may_read

SEEDS = range(20)
CLIENTS = 10
"""Clients of each of the twenty projects: two hundred scopes."""


def draw_rules(draw: random.Random) -> Rules:
    """Whom each agent shares with and inherits from."""
    rules: dict[str, dict[str, list[str]]] = {}
    for agent in AGENTS:
        rules[agent] = {"inherit_from": draw.sample([other for other in AGENTS if other != agent], draw.randint(0, 2))}
        if draw.random() < 0.5:
            rules[agent]["share_with"] = draw.choice([[], ["*"], draw.sample(AGENTS, 1)])
    return rules


def act(alma: ALMA, draw: random.Random) -> dict[str, tuple[str | None, str | None]]:
    """Does something of everything, and returns the agent and the user of each memory that was ever there."""
    made: dict[str, tuple[str | None, str | None]] = {}
    for number in range(draw.randint(8, 16)):
        agent, user = draw.choice(AGENTS), draw.choice([None, None, *USERS])
        what = draw.randrange(7)
        if what == 0 and user is not None:
            made[alma.add_user_preference(user, "style", f"wish {number}").id] = (None, user)
        elif what == 1:
            made[alma.add_domain_knowledge(agent, "auth", f"fact {number}").id] = (agent, None)
        elif what == 2:
            with alma.episode(agent=agent, task=f"Attempt {number}", user_id=user) as episode:
                episode.step(f"call({number})", ok=False, error=f"error {number}")
                episode.succeed(strategy=f"way {number}")
            made |= {one.id: (agent, user) for one in alma.list_memories(kind="outcome", limit=999) if one.id not in made}
        elif what == 3 and made:
            alma.forget(memory_ids=draw.sample(sorted(made), 1))
        elif what == 4 and made:
            alma.undo(to=max(alma.storage.project("shop").head() - draw.randint(1, 3), 0))
        elif what == 5 and made:
            alma.record_usage(sorted(made)[:3], sorted(made)[:1], agent=agent)
        else:
            made[alma.learn(agent, f"Deploy {number}", draw.choice(["success", "failure"]), "way", user_id=user).id] = (
                agent,
                user,
            )
    return made


def draw_access(draw: random.Random) -> Access:
    rights = draw.choice([frozenset({"read", "events"}), frozenset({"read", "events", "admin"})])
    return Access(agent=draw.choice([*AGENTS, ANY]), user_id=draw.choice([*USERS, NONE, ANY]), rights=rights)


def reads(rules: Rules, access: Access, owner: tuple[str | None, str | None]) -> bool:
    """The rule of a client's scope, written down a second time."""
    agent, user = owner
    is_own_user = user is None or access.user_id == user or (access.user_id == ANY and "admin" in access.rights)
    return is_own_user and (agent is None or access.agent == ANY or may_read(rules, (access.agent, None), agent))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_events_of_a_client_are_of_the_memories_that_it_may_read(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    rules = draw_rules(draw)
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash", agents=rules) as alma:
        made = act(alma, draw)
        everything = list(alma.events())
        for _ in range(CLIENTS):
            access = draw_access(draw)
            events = list(read_events(alma, access=access, payload=draw.choice(["thin", "full"])))
            readable = {key for key, owner in made.items() if reads(rules, access, owner)}
            assert {event.memory_id for event in events if event.memory_id} == {
                event.memory_id for event in everything if event.memory_id in readable
            }
            check_nothing_else_is_said(events, set(made) - readable)
            assert [event.previous for event in events] == [None, *(event.position for event in events)][: len(events)]


def check_nothing_else_is_said(events: list[MemoryEvent], hidden: set[str]) -> None:
    said = json.dumps([event.to_dict() for event in events])
    assert [key for key in hidden if key in said] == []


def test_a_client_of_another_project_is_refused(alma: ALMA) -> None:
    with pytest.raises(ScopeViolationError):
        read_events(alma, access=Access(projects=("lab",)))


def test_who_may_name_any_user_reads_all_users_only_as_an_administrator(alma: ALMA) -> None:
    alma.learn("victor", "Deploy auth", "success", user_id="maria")
    assert list(read_events(alma, access=Access(rights=frozenset({"read", "events"})))) == []
    assert len(list(read_events(alma, access=Access()))) == 1
    assert len(list(read_events(alma, access=Access(user_id="maria", rights=frozenset({"read"}))))) == 1


def test_a_purge_is_known_to_every_client_and_its_digests_to_an_administrator_alone(alma: ALMA) -> None:
    made = alma.learn("victor", "Deploy auth", "success", user_id="maria")
    alma.purge([made.id])
    (bound,) = read_events(alma, access=Access(agent="helena", user_id=NONE))
    assert (bound.event_type, bound.payload) == ("memory.purged", {})
    assert "digests" in str(list(read_events(alma, access=Access()))[-1].payload)
