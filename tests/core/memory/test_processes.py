"""Several processes and threads on one store."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from facade import Place
from other_process import OtherProcess

pytestmark = pytest.mark.any_store

SETUP = """
from alma import ALMA
alma = {opening}
def learn(agent, task, outcome="success"):
    return alma.learn(agent, task, outcome).id
def recall(task, agent):
    return alma.retrieve(task, agent).ids
"""


def _other(place: Place) -> OtherProcess:
    return OtherProcess(SETUP.format(opening=place.opening))


@pytest.mark.slow
def test_what_one_process_learned_another_retrieves_after_it_ended(place: Place) -> None:
    with _other(place) as other:
        learned = eval(other.ask("learn('helena', 'Test the login form')"))
    with place.open() as alma:
        assert alma.retrieve("Test the login form", "helena").ids == [learned]
        assert alma.retrieve("Test the login form", "stranger").ids == []


@pytest.mark.slow
def test_what_one_process_learns_another_retrieves_at_once_while_both_run(place: Place) -> None:
    with place.open() as alma, _other(place) as other:
        assert alma.retrieve("Deploy the service", "helena").ids == []
        for number in range(5):
            theirs = eval(other.ask(f"learn('helena', 'Deploy the service, part {number}')"))
            assert theirs in alma.retrieve(f"Deploy the service, part {number}", "helena").ids
            ours = alma.learn("helena", f"Repair the printer, part {number}", "success").id
            assert ours in eval(other.ask(f"recall('Repair the printer, part {number}', 'helena')"))
        assert eval(other.ask("recall('Deploy the service', 'stranger')")) == []
        assert alma.retrieve("Deploy the service", "stranger").ids == []
        assert alma.verify().ok


@pytest.mark.slow
def test_a_new_agent_and_a_new_project_of_another_process_are_seen_at_once(place: Place) -> None:
    with place.open() as alma, _other(place) as other:
        assert alma.for_project("lab").retrieve("Deploy", "ann").ids == []
        learned = eval(other.ask("alma.for_project('lab').learn('ann', 'Deploy', 'success').id"))
        assert alma.for_project("lab").retrieve("Deploy", "ann").ids == [learned]
        assert alma.retrieve("Deploy", "ann").ids == []
        assert alma.retrieve("Deploy", "bob").ids == []
        theirs = eval(other.ask("learn('bob', 'Deploy')"))
        assert alma.retrieve("Deploy", "bob").ids == [theirs]


@pytest.mark.slow
def test_what_a_call_returned_survives_the_killing_of_its_process(place: Place) -> None:
    with _other(place) as other:
        learned = [eval(other.ask(f"learn('helena', 'Deploy part {number}')")) for number in range(3)]
        other.kill()
    with place.open() as alma:
        assert sorted(alma.retrieve("Deploy part", "helena").ids) == sorted(learned)
        assert alma.verify().ok


@pytest.mark.slow
def test_what_was_used_in_another_process_is_counted_there(place: Place) -> None:
    with place.open() as alma, _other(place) as other:
        memory = alma.add_heuristic("helena", "login", "test empty fields")
        assert memory.id in other.ask(f"alma.record_usage([{memory.id!r}], [{memory.id!r}], agent='helena').used")
        assert memory.id in other.ask(f"alma.record_feedback({memory.id!r}, signal='used', agent='eve').unknown")
        assert alma.get_stats().journal_records == 2


def test_threads_learn_and_retrieve_side_by_side(place: Place) -> None:
    with place.open() as alma:

        def work(number: int) -> bool:
            learned = alma.learn(f"agent {number % 3}", f"Deploy service number {number}", "success")
            return learned.id in alma.retrieve(f"Deploy service number {number}", f"agent {number % 3}", top_k=50).ids

        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(work, range(48)))
        stats = alma.get_stats()
        assert (stats.total, stats.journal_records) == (48, 48)
        assert alma.verify().ok
