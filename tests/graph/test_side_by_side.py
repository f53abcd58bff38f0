"""Threads and processes that read memories for entities, state relations and look at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from alma import ALMA
from graph_scenes import targets


def test_two_processes_that_read_the_same_memories_lose_and_double_nothing(reading: ALMA, tmp_path: Path) -> None:
    for number in range(30):
        reading.add_domain_knowledge(agent="dev", domain="people", fact=f"Person{number} Smith works for Acme Corp.")
    with ALMA.from_config(tmp_path / "config.yaml") as other:
        start = threading.Barrier(2)

        def look(alma: ALMA) -> int:
            start.wait()
            return len(alma.graph.relations("Acme Corp"))

        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(look, (reading, other))) == [30, 30]
        assert [each.graph.stats() for each in (reading, other)] == [{"entities": 31, "relations": 30}] * 2
    assert reading.verify().ok


def test_what_is_stated_while_others_look_is_seen_by_all(alma: ALMA) -> None:
    def work(number: int) -> int:
        alma.graph.relate("Ann", "knows", f"Friend {number}", agent="dev")
        return len(alma.graph.relations("Ann", "knows"))

    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(work, range(40)))
    assert max(seen) == 40
    assert len(set(targets(alma.graph.relations("Ann")))) == 40


def test_a_purge_by_another_process_is_seen(alma: ALMA, tmp_path: Path) -> None:
    said = alma.add_domain_knowledge(agent="dev", domain="people", fact="Ann works for Acme.")
    alma.graph.relate("Ann", "works_for", "Acme", agent="dev", evidence=said.id)
    alma.graph.relate("Bob", "knows", "Carl", agent="dev")
    with ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as other:
        assert other.graph.entity("Ann") is not None
        alma.purge([said.id])
        assert other.graph.entity("Ann") is None
        assert targets(other.graph.relations("Bob")) == ["Carl"]


def test_a_store_that_was_embedded_anew_keeps_its_graph(alma: ALMA) -> None:
    alma.graph.relate("Ann", "knows", "Bob", agent="dev")
    graph = alma.graph
    alma.reindex("hash", embedding_dim=64)
    assert targets(graph.relations("Ann")) == ["Bob"]
    graph.relate("Ann", "knows", "Carl", agent="dev")
    assert targets(alma.graph.relations("Ann")) == ["Carl", "Bob"]
