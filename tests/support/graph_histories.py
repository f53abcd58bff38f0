"""Generated histories of a graph, as sources of projections, and processes that project one into a file until they are killed.

Run as a program, it makes such a process, a fork of its own, for each line "BACKEND FILE SEED" that it reads.
"""

import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from alma_graph import Entity, GraphBackend, GraphProjection, Relationship, create_graph_backend
from alma_graph.backends import KeepsPosition

START = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = ("WORKS_FOR", "KNOWS", "works with")


@dataclass
class History:
    """A graph to which `happen` does the next thing; what it was before is known by the entities that each record touched."""

    seed: int
    project_id: str = "shop"
    people: dict[str, Entity] = field(default_factory=dict)
    links: dict[str, Relationship] = field(default_factory=dict)
    log: list[set[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def happen(self, times: int) -> "History":
        for _ in range(times):
            acts = (self._appear, self._link, self._link, self._rename, self._move, self._end, self._vanish)
            self.log.append(self._random.choice(acts)() if len(self.people) > 5 else self._appear())
        return self

    def touched(self, after: int) -> tuple[int, Sequence[str] | None]:
        return len(self.log), None if after > len(self.log) else sorted(set[str]().union(*self.log[after:]))

    def entities(self, ids: Sequence[str]) -> Sequence[Entity]:
        return [self.people[one] for one in ids if one in self.people]

    def relationships(self, ids: Sequence[str]) -> Sequence[Relationship]:
        wanted = set(ids)
        return [each for each in self.links.values() if {each.source_id, each.target_id} & wanted]

    @property
    def _at(self) -> datetime:
        return START + timedelta(hours=len(self.log))

    def _appear(self) -> set[str]:
        one = Entity(f"e{len(self.log):05}", f"Person {len(self.log)}", "person", {"at": len(self.log)}, self._at)
        self.people[one.id] = one
        return {one.id}

    def _link(self) -> set[str]:
        source, target = self._random.choices(sorted(self.people), k=2)
        kind = self._random.choice(TYPES)
        one = Relationship(f"r{len(self.log):05}", source, target, kind, created_at=self._at, valid_from=self._at)
        self.links[one.id] = one
        return {source, target}

    def _rename(self) -> set[str]:
        one = self.people[self._random.choice(sorted(self.people))]
        self.people[one.id] = replace(one, name=f"{one.name} '{len(self.log)}'")
        return {one.id}

    def _move(self) -> set[str]:
        if not self.links:
            return self._link()
        one = self.links[self._random.choice(sorted(self.links))]
        moved = replace(one, target_id=self._random.choice(sorted(self.people)), confidence=round(self._random.random(), 3))
        self.links[one.id] = moved
        return {one.source_id, one.target_id, moved.target_id}

    def _end(self) -> set[str]:
        if not self.links:
            return self._link()
        one = self.links.pop(self._random.choice(sorted(self.links)))
        return {one.source_id, one.target_id}

    def _vanish(self) -> set[str]:
        gone = self._random.choice(sorted(self.people))
        del self.people[gone]
        around = [each for each in self.links.values() if gone in (each.source_id, each.target_id)]
        for each in around:
            del self.links[each.id]
        return {gone, *(each.source_id for each in around), *(each.target_id for each in around)}


def project(backend: GraphBackend, seed: int) -> None:
    """Plays a history, of which a part may be projected already, and projects it on. Says its process first, and then when some is written."""
    history, projection = History(seed), GraphProjection(backend)
    shop = backend.for_project(history.project_id)
    assert isinstance(shop, KeepsPosition)
    history.happen(shop.read_position())
    print(os.getpid(), flush=True)
    projection.catch_up(history.happen(40))
    print("written", flush=True)
    while True:
        projection.catch_up(history.happen(40))


if __name__ == "__main__":
    for line in sys.stdin:
        name, file, seed = line.split()
        if child := os.fork():
            os.waitpid(child, 0)
            print("ended", flush=True)
        else:
            project(create_graph_backend(name, database_path=file), int(seed))
