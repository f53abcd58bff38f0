"""Inside a project nothing that a reader may not read changes anything that it sees: the store with it and a store without it show the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from alma import ALMA, DomainKnowledge
from alma.memory.room import SearchSizes
from alma.types.recalled import Recalled
from alma_testing.clocks import START
from other_process import OtherProcess
from parts import IN_CI, other_examples
from scoped_worlds import AGENTS, USERS, WORDS, Reader, Rules, Step, may_read, world
from sized import TINY, open_sized

PARTS = [0, *(pytest.param(part, marks=pytest.mark.exhaustive) for part in range(1, 5))]
TRIALS = 30 if IN_CI else 4
"""In each part. A failing history is not made smaller: that would take longer than a test may."""

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
agents = st.sampled_from(AGENTS)
owners = st.sampled_from([*AGENTS, *USERS])
numbers = st.integers(0, 50)
steps = st.one_of(
    st.tuples(st.just("learn"), agents, texts, texts, st.sampled_from(["success", "failure", "partial"]), st.integers(1, 4)),
    st.tuples(st.just("crowd"), agents, texts, st.sampled_from([7, 40, 90])),
    st.tuples(st.sampled_from(["fact", "talk", "rule", "warning"]), agents, texts, texts),
    st.tuples(st.just("preference"), st.sampled_from(USERS), texts),
    st.tuples(st.sampled_from(["archive", "purge", "back"]), owners, numbers),
    st.tuples(st.just("undone"), agents, texts),
    st.tuples(st.just("import"), agents),
    st.tuples(st.sampled_from(["ask", "ask", "compact"]), st.just("")),
)
names = st.lists(st.sampled_from([*AGENTS, "*"]), max_size=2)
rules = st.dictionaries(agents, st.fixed_dictionaries({}, optional={"share_with": names, "inherit_from": names}), max_size=3)
readers = st.tuples(st.sampled_from([*AGENTS, "stranger"]), st.sampled_from([None, *USERS]))


@pytest.fixture(scope="session")
def donors(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A file for each agent with memories of another store."""
    folder = tmp_path_factory.mktemp("donors")
    for agent in AGENTS:
        with open_sized(folder / agent, TINY) as alma:
            alma.learn(agent, f"deploy the login form of {agent}", "success", strategy_used="canary")
            alma.add_domain_knowledge(agent, "things", "the naïve service retries")
            alma.export(folder / f"{agent}.jsonl")
    return {agent: folder / f"{agent}.jsonl" for agent in AGENTS}


def assert_unmoved(
    folder: Path, rules: Rules, made: list[Step], sizes: SearchSizes, readers: list[Reader], donors: Mapping[str, Path]
) -> None:
    """Fails if one of the readers sees anything in the whole store that it does not see in one that holds only what it may read."""
    with world(folder / "all", rules, made, sizes, donors=donors) as whole:
        for number, reader in enumerate(readers):
            mine = [owner for owner in (*AGENTS, *USERS) if may_read(rules, reader, owner)]
            with world(folder / f"mine{number}", rules, made, sizes, reader=reader, donors=donors) as alone:
                expected = alone.seen(reader, mine)
            assert whole.seen(reader, mine) == expected
            assert whole.seen(reader, mine, which=1) == expected
            whole.restart()
            assert whole.seen(reader, mine) == expected


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sizes", [TINY, SearchSizes()], ids=["tiny", "usual"])
def test_what_a_reader_may_not_read_changes_nothing_that_it_sees(
    tmp_path_factory: pytest.TempPathFactory, donors: Mapping[str, Path], sizes: SearchSizes, part: int
) -> None:
    @settings(max_examples=TRIALS, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(
        rules=rules, made=st.lists(steps, min_size=3, max_size=14), asking=st.lists(readers, min_size=1, max_size=2, unique=True)
    )
    def holds(rules: Rules, made: list[Step], asking: list[Reader]) -> None:
        assert_unmoved(tmp_path_factory.mktemp("trial"), rules, made, sizes, asking, donors)

    other_examples(part, holds)()


AT = {"created_at": START, "updated_at": START, "last_verified": START}

CROWD = 21_000
"""So many memories of others take every way that a large project takes: FAISS searches it, and most words stand in too many to be listed."""

ASKED = ("Deploy the gateway service", "Which pump7 leaks?", "telescope", "deploy")


def tell(alma: ALMA, *, crowd: int) -> None:
    """Three readers, of one memory, of hundreds and of thousands, and between what they learn a crowd whose memories nobody else may read."""

    def learn(agent: str, count: int, thing: str) -> None:
        alma.add_many(
            DomainKnowledge(agent=agent, domain="things", fact=f"Deploy the {thing}{number % 900} of service {number}", **AT)
            for number in range(count)
        )

    learn("one", 1, "gateway")
    learn("crowd", crowd // 2, "pump")
    learn("hundreds", 300, "gateway")
    learn("thousands", 1_500, "pump")
    learn("crowd", crowd // 2, "telescope")
    learn("thousands", 2_700, "pump")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ALMA, ALMA]]:
    """The three readers beside the crowd, and by themselves."""
    folder = tmp_path_factory.mktemp("crowded")
    with open_sized(folder / "beside", SearchSizes()) as beside, open_sized(folder / "alone", SearchSizes()) as alone:
        tell(beside, crowd=CROWD)
        tell(alone, crowd=0)
        yield beside, alone


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["one", "hundreds", "thousands"])
@pytest.mark.parametrize("arms", [("dense", "text"), ("text",), ("dense",)])
def test_a_crowd_of_thousands_changes_nothing_of_what_others_see(
    crowded: tuple[ALMA, ALMA], agent: str, arms: tuple[str, ...]
) -> None:
    for question in ASKED:
        beside, alone = (alma.retrieve(question, agent, arms=arms, explain=True) for alma in crowded)
        assert [told(item) for item in beside.recalled] == [told(item) for item in alone.recalled]
        assert beside.to_prompt() == alone.to_prompt()


def told(item: Recalled) -> Any:
    return item.model_dump(exclude={"memory": {"id"}, "explanation": {"folded": True, "provenance": {"memory_id"}}})


@pytest.mark.slow
def test_what_another_process_writes_between_two_questions_changes_nothing(tmp_path: Path) -> None:
    setup = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2] / "support")!r})
from pathlib import Path
from sized import TINY, open_sized
alma = open_sized(Path({str(tmp_path)!r}), TINY)
def learn(agent, count):
    return len(alma.learn_many(dict(agent=agent, task=f"deploy the gateway {{n}}", outcome=True, strategy_used="canary") for n in range(count)))
"""
    with open_sized(tmp_path, TINY) as alma, OtherProcess(setup) as other:
        for number in range(9):
            alma.learn("ann", f"deploy the gateway {number}", number % 2 == 0, strategy_used="rolling update")
        before = alma.retrieve("deploy the gateway", "ann", explain=True)
        assert other.ask("learn('eve', 40)") == "40"
        assert alma.retrieve("deploy the gateway", "ann", explain=True).recalled == before.recalled
        assert other.ask("learn('eve', 200)") == "200"
        assert other.ask("alma.forget(memory_ids=[alma.list_memories(agent='eve')[0].id]).total") == "1"
        assert other.ask("alma.purge([alma.list_memories(agent='eve')[0].id]).total") == "1"
        assert alma.retrieve("deploy the gateway", "ann", explain=True).recalled == before.recalled
        assert other.ask("learn('ann', 1)") == "1"
        assert alma.retrieve("deploy the gateway", "ann", explain=True).recalled != before.recalled
