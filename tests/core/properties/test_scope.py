"""Inside a project nothing that a reader may not read changes anything that it sees: the store with it and a store without it show the same."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alma.memory.sizes import SearchSizes
from scoped_worlds import AGENTS, USERS, WORDS, Reader, Rules, Step, may_read, world
from sized import TINY, open_sized

TRIALS = int(os.environ.get("ALMA_SCOPE_TRIALS", "40"))

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


@pytest.mark.parametrize("sizes", [TINY, SearchSizes()], ids=["tiny", "usual"])
def test_what_a_reader_may_not_read_changes_nothing_that_it_sees(
    tmp_path_factory: pytest.TempPathFactory, donors: Mapping[str, Path], sizes: SearchSizes
) -> None:
    @settings(max_examples=TRIALS, deadline=None)
    @given(
        rules=rules, made=st.lists(steps, min_size=3, max_size=14), asking=st.lists(readers, min_size=1, max_size=2, unique=True)
    )
    def holds(rules: Rules, made: list[Step], asking: list[Reader]) -> None:
        assert_unmoved(tmp_path_factory.mktemp("trial"), rules, made, sizes, asking, donors)

    holds()
