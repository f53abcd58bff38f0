"""The graph of an ALMA in a database: whatever happens to its memories, relations and entities, the database follows."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alma import ALMA
from alma.errors import AlmaError
from alma_graph import ALMAGraphSource, BackendGraphStore, Graph, GraphProjection, create_graph_backend

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("Alice", "alice", "Bob", "Carol", "Acme", "Globex", "payments", "Mercury")
KINDS = (None, "person", "organization", "tool")
TYPES = ("works_for", "knows", "depends_on", "status")


@pytest.fixture
def alma(tmp_path: Path) -> Iterator[ALMA]:
    with ALMA.open(tmp_path / "store", project_id="shop", embedding_provider="hash") as alma:
        yield alma


def test_what_memories_and_callers_say_is_found_by_name_in_the_database(alma: ALMA) -> None:
    Graph(alma).relate("Alice", "works_for", "Acme", agent="clerk", source_type="person", valid_from=START)
    backend = create_graph_backend("memory")
    GraphProjection(backend).catch_up(alma)
    store = BackendGraphStore(backend.for_project("shop"))
    (found,) = store.get_relationships("alice", relationship_type="works_for")
    target = store.get_entity(found.target_id)
    assert target is not None
    assert (target.name, found.valid_from) == ("Acme", START)


def test_what_was_recorded_for_a_user_is_projected_for_that_user_alone(alma: ALMA) -> None:
    Graph(alma).relate("Alice", "likes", "chess", agent="clerk", user_id="u-1")
    backend = create_graph_backend("memory")
    GraphProjection(backend).catch_up(alma)
    assert backend.for_project("shop").get_entities() == []
    GraphProjection(backend).rebuild(ALMAGraphSource(alma, agent="clerk", user_id="u-1"))
    assert [each.name for each in backend.for_project("shop").get_entities()] == ["Alice", "chess"]


def test_a_purged_memory_takes_its_relations_out_of_the_database(alma: ALMA) -> None:
    memory = alma.add_knowledge(agent="clerk", domain="people", fact="Alice works at Acme")
    Graph(alma).relate("Alice", "works_for", "Acme", agent="clerk", evidence=[memory.id])
    backend = create_graph_backend("memory")
    projection = GraphProjection(backend)
    projection.catch_up(alma)
    assert len(backend.for_project("shop").get_entities()) == 2
    alma.purge([memory.id], agent="clerk")
    projection.catch_up(alma)
    assert backend.for_project("shop").get_entities() == []


def test_an_encrypted_store_is_followed_too(tmp_path: Path) -> None:
    pytest.importorskip("alma_encryption", reason="encryption is not installed")
    with ALMA.open(tmp_path / "sealed", project_id="shop", embedding_provider="hash", encryption_key=bytes(range(32))) as alma:
        projection = GraphProjection(create_graph_backend("memory"))
        for target in ("Acme", "Globex"):
            Graph(alma).relate("Alice", "works_for", target, agent="clerk", source_type="person")
            assert projection.catch_up(alma).entities == 2
            assert projection.check(alma).is_none


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_the_database_has_what_a_rebuild_gives(alma: ALMA, seed: int) -> None:
    play, done = Play(alma, random.Random(seed)), 0
    backend = create_graph_backend("memory")
    projection = GraphProjection(backend)
    for _ in range(12):
        for _ in range(play.chance.randint(1, 6)):
            done += play.act()
        projection.catch_up(alma)
        assert projection.check(alma).is_none
    assert done > 15


class Play:
    """Acts by chance on a graph, its memories and its history."""

    def __init__(self, alma: ALMA, chance: random.Random) -> None:
        self.alma, self.graph, self.chance = alma, Graph(alma), chance
        self.memories = list[str]()

    def act(self) -> bool:
        """Does something; returns False if it could not be done."""
        changing = (self._remember, self._retract, self._merge, self._split, self._archive, self._undo, self._purge)
        acts = (*changing, *[self._relate] * 3)
        try:
            self.chance.choice(acts)()
        except (AlmaError, IndexError, ValueError):
            return False
        return True

    def _relate(self) -> None:
        source, target = self.chance.sample(NAMES, 2)
        begin = START + timedelta(days=self.chance.randrange(300))
        self.graph.relate(
            source,
            self.chance.choice(TYPES),
            target,
            agent=self.chance.choice(("clerk", "buyer")),
            source_type=self.chance.choice(KINDS),
            target_type=self.chance.choice(KINDS),
            valid_from=self.chance.choice((None, begin)),
            valid_to=self.chance.choice((None, None, begin + timedelta(days=50))),
            replaces=self.chance.random() < 0.2,
            evidence=self.chance.sample(self.memories, min(len(self.memories), self.chance.randrange(3))),
        )

    def _remember(self) -> None:
        memory = self.alma.add_knowledge(
            agent="clerk", domain="people", fact=f"Fact {len(self.memories)} of {self.chance.random()}"
        )
        self.memories.append(memory.id)

    def _retract(self) -> None:
        name = self.chance.choice(NAMES)
        self.graph.retract(self.chance.choice(self.graph.relations(name)), agent=self.chance.choice(("clerk", "buyer")))

    def _merge(self) -> None:
        self.graph.merge(*self.chance.sample([each.id for each in self.graph.entities()], 2), agent="clerk")

    def _split(self) -> None:
        entity = self.chance.choice([each for each in self.graph.entities() if "aliases" in each.properties])
        self.graph.split(entity.id, self.chance.choice(entity.properties["aliases"]), agent="clerk")

    def _archive(self) -> None:
        self.alma.forget(memory_ids=[self.chance.choice(self.memories)], agent="clerk")

    def _undo(self) -> None:
        head = GraphProjection(create_graph_backend("memory")).catch_up(self.alma).position
        self.alma.undo(to=max(head - self.chance.randint(1, 4), 0))

    def _purge(self) -> None:
        if self.chance.random() < 0.3:
            self.alma.purge([self.memories.pop()], agent="clerk")
