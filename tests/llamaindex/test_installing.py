"""Which runs are learned from, and by which learner: each once, by one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.memory import Memory

from alma import ALMA
from alma_llamaindex import ALMALearner, ALMAMemory, instrument_alma
from alma_llamaindex.handler import HANDLER, LEARNERS, SpanHandler
from llama_runs import BOOM, OK, OK_THEN_BAD, TASK, agent_of, episodes, memory_of, run, steps


def test_installing_twice_learns_once_and_after_uninstalling_nothing(alma: ALMA) -> None:
    agent = agent_of(["done"] * 3)
    learner = ALMALearner(alma).install().install()
    run(agent, memory_of(alma))
    other = instrument_alma(alma)
    run(agent, memory_of(alma))
    assert [learner.flush(), other.flush()] == [True, True]
    assert len(episodes(alma)) == 2
    memory = memory_of(alma)
    other.uninstall()
    learner.uninstall()
    learner.uninstall()
    run(agent, memory)
    assert len(episodes(alma)) == 2
    assert (learner.is_installed, LEARNERS.known()) == (False, [])


def test_asking_again_to_learn_alike_gives_the_same_learner(alma: ALMA) -> None:
    learner = instrument_alma(alma, agents=["ops", "dev"])
    assert instrument_alma(alma, agents=["dev", "ops"]) is learner
    assert instrument_alma(alma) is not learner
    assert len(LEARNERS.known()) == 2


def test_two_learners_of_one_agent_learn_its_runs_once(alma: ALMA) -> None:
    with ALMALearner(alma, agents=["dev"]), ALMALearner(alma, agents=["dev"]):
        run(agent_of(["done"]), None)
    assert len(episodes(alma)) == 1


def test_many_memories_share_one_learner(alma: ALMA) -> None:
    for _ in range(5):
        memory_of(alma)
    assert len(LEARNERS.known()) == 1


def test_memories_of_one_project_share_one_learner_however_it_was_opened(alma: ALMA) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: memory_of(alma.for_project("shop:t1")), range(20)))
    assert len(LEARNERS.known()) == 1
    run(agent_of(["done"]), memory_of(alma.for_project("shop:t1")))
    run(agent_of(["done"]), memory_of(alma))
    assert len(LEARNERS.known()) == 2
    assert [len(episodes(opened)) for opened in (alma, alma.for_project("shop:t1"))] == [1, 1]


def test_a_memory_that_does_not_learn_installs_nothing_and_is_left_alone_by_others(alma: ALMA) -> None:
    memory = ALMAMemory.from_defaults(alma, agent="dev", learn=False)
    assert (LEARNERS.known(), memory.learner) == ([], None)
    with ALMALearner(alma):
        run(agent_of(["done"]), memory)
    assert episodes(alma) == []


def test_only_runs_with_an_alma_block_or_of_named_agents_are_learned_from(alma: ALMA) -> None:
    with ALMALearner(alma, agents=["ops"]):
        run(agent_of(OK_THEN_BAD), Memory.from_defaults())
        run(agent_of(OK_THEN_BAD), None)
        run(agent_of(OK_THEN_BAD, name="ops"), Memory.from_defaults())
        run(agent_of(["done"], name="ops"), None)
    assert [(record.agent, steps(record), record.shown) for record in episodes(alma)] == [
        ("ops", [OK, BOOM], ()),
        ("ops", [], ()),
    ]


def test_each_store_has_its_own_runs(alma: ALMA, tmp_path: Path) -> None:
    with ALMA.open(tmp_path / "other", project_id="shop", embedding_provider="hash") as other:
        run(agent_of(["done"]), memory_of(alma))
        run(agent_of(["done"]), memory_of(other), "Another task")
        assert [LEARNERS.in_charge(alma).flush(), LEARNERS.in_charge(other).flush()] == [True, True]
        assert [[record.task for record in episodes(opened)] for opened in (alma, other)] == [[TASK], ["Another task"]]


def test_one_handler_and_no_further_thread_serve_all_projects(alma: ALMA) -> None:
    """Else a server with a project for each customer would spend on each run what all of them cost."""
    run(agent_of(["done"]), memory_of(alma))
    threads = set(threading.enumerate())
    for number in range(50):
        memory_of(alma.for_project(f"shop:t{number}"))
    assert len(LEARNERS.known()) == 51
    assert [isinstance(handler, SpanHandler) for handler in get_dispatcher().span_handlers].count(True) == 1
    assert not set(threading.enumerate()) - threads  # idle ones of other tests may end meanwhile
    run(agent_of([[("ok", {})], "done"]), memory_of(alma.for_project("shop:t7")))
    assert [steps(record) for record in episodes(alma.for_project("shop:t7"))] == [[OK]]


def test_a_run_without_alma_is_let_go_of_when_its_first_turn_begins(alma: ALMA) -> None:
    memory_of(alma)
    followed: list[int] = []

    def look() -> str:
        """Looks who follows."""
        followed.append(len(HANDLER.open_spans))
        return ""

    run(agent_of([[("look", {})], "done"], tools=[look]), Memory.from_defaults())
    assert followed == [0]
